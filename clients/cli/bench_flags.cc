#include "clients/cli/bench_flags.h"

#include <initializer_list>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/text/parse.h"
#include "clients/load/figures/sweep.h"
#include "clients/load/key_picker.h"
#include "eris/batch.h"
#include "eris/types.h"

namespace eris::cli {
namespace {

using load::Distribution;
using load::Operation;

constexpr uint32_t kPercentMax = 100;
constexpr uint64_t kU64Max = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kGeneratorsMax = 1024;
constexpr uint32_t kRequestsUnderWayMax = 65536;  // for all streams of a connection

// Refuses each of `names` that was given; `reason` says when they are allowed.
absl::Status Refuse(const Flags& verb, std::initializer_list<const char*> names,
                    absl::string_view reason) {
  for (const char* name : names) {
    if (verb.Given(name)) return absl::InvalidArgumentError(absl::StrCat(name, " ", reason));
  }
  return absl::OkStatus();
}

bool IsHot(Distribution one) { return one == Distribution::kHot || one == Distribution::kShifting; }

bool NeedsZipf(Distribution one) {
  return one == Distribution::kZipf || one == Distribution::kScrambled ||
         one == Distribution::kLatest;
}

}  // namespace

void BenchFlags::AddTarget(Flags& verb) {
  constexpr char kGroup[] = "Target";
  verb.Add("--embedded", embedded,
           "An engine in this process (see Engine); it is loaded before the workload")
      .Group(kGroup);
  verb.Add("--null", null_target,
           "Nothing: answers at once and rightly, to see what the generators can do")
      .Group(kGroup);
  verb.Add("--object", plan.object, "Index (or hash) to work on")
      .Check(CheckNotEmpty)
      .Check(CheckName)
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--connections", plan.generators,
           "Generators: threads with a connection (embedded: a session) of their own")
      .Check(Within(1u, kGeneratorsMax))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--streams", plan.streams, "Streams of each connection")
      .Check(Within(1u, 1024u))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--in-flight", in_flight,
           "Requests under way on each stream; default 8, of workload scan 1")
      .Check(Within(1u, 4096u))
      .Group(kGroup);
  verb.Add("--unary", plan.unary, "A call for each batch instead of a stream").Group(kGroup);
  verb.Add("--tolerate-refusals", plan.tolerate_refusals,
           "Count requests that an overloaded server refuses (RESOURCE_EXHAUSTED), and go on")
      .Group(kGroup);
  verb.Add("--until-unavailable", plan.until_unavailable,
           "The server's UNAVAILABLE ends the run and is no error")
      .Group(kGroup);
}

void BenchFlags::AddWorkload(Flags& verb) {
  constexpr char kGroup[] = "Workload";
  verb.Add("workload,--workload", workload,
           "load, lookup, upsert, scan, mixed, or a, b, c, d, e, f after YCSB (below)")
      .Check(OneOf({"load", "lookup", "upsert", "scan", "mixed", "a", "b", "c", "d", "e", "f"}))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--batch", plan.batch, "Keys of a request")
      .Check(Within(1u, kBatchKeysMax))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--scan-rows", scan_rows,
           "Rows of a scan, default 1000; of workload e 1 to this many, default 100; 0: "
           "every row")
      .Check(Within(uint64_t{0}, load::KeySet::kCountMax))
      .Group(kGroup);
  const std::pair<const char*, std::optional<uint32_t>*> percents[] = {
      {"--upsert-percent", &upsert_percent},
      {"--insert-percent", &insert_percent},
      {"--scan-percent", &scan_percent},
      {"--rmw-percent", &rmw_percent}};
  for (const auto& [name, value] : percents) {
    verb.Add(name, *value, "Of the requests of mixed; the rest are lookups")
        .Check(Within(0u, kPercentMax))
        .Group(kGroup);
  }
  verb.Add("--missing-percent", plan.missing_percent, "Of looked-up keys: that are not there")
      .Check(Within(0u, kPercentMax))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--replace", replace, "load: drop the object first, if it is there").Group(kGroup);
  verb.Add("--kind", kind, "load: what to create; a hash has no scans")
      .Check(OneOf({"index", "hash"}))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--verify", plan.verify, "Check every value of every answer").Group(kGroup);
}

void BenchFlags::AddKeys(Flags& verb) {
  constexpr char kGroup[] = "Keys";
  verb.Add("--keys", plan.keys, "Keys of the object, as loaded")
      .Check(Within(uint64_t{1}, load::KeySet::kCountMax))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--layout", layout,
           "dense: 0 .. keys-1; sparse: spread over 64 bits; as loaded; default sparse")
      .Check(OneOf({"dense", "sparse"}))
      .Group(kGroup);
  verb.Add("--distribution", distribution,
           "Which are asked for: uniform, zipf (0.99, lowest keys first), scrambled (zipf, "
           "spread over the key space), latest (zipf, the newest first), hot, shifting (a "
           "hot range, fixed or moving), sequential; default: the workload's")
      .Check(OneOf(load::DistributionNames()))
      .Group(kGroup);
  verb.Add("--key-part", plan.key_part, "Only of the lowest so much of the key space")
      .Check(Within(0.001, 1.0))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--hot-part", plan.hot_part, "Width of the hot range, of all keys")
      .Check(Within(0.000001, 1.0))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--hot-percent", plan.hot_percent, "Of the keys asked for that lie in it")
      .Check(Within(0u, kPercentMax))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--shift-seconds", plan.shift_s, "shifting: it moves on by its width this often")
      .Check(Within(0.01, 86400.0))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--seed", plan.seed, "Of all that is random")
      .Check(Within(uint64_t{0}, kU64Max))
      .Group(kGroup)
      .ShowDefault();
}

void BenchFlags::AddPace(Flags& verb) {
  constexpr char kGroup[] = "Pace and report";
  verb.Add("--rate", plan.rate,
           "Open loop: so many requests a second in all, as Poisson arrivals; 0: closed "
           "loop")
      .Check(Within(0.0, 1e9))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--sweep", shares,
           "First a closed loop for the peak, then open loops at these percentages of it; each "
           "takes --warm-up and --seconds")
      .OptionalValue()
      .ShowDefault()
      .Type("PERCENT,...; alone")
      .Check({[](const std::string& text) {
                const auto read = load::ParseShares(text);
                return read.ok() ? std::string() : std::string(read.status().message());
              },
              ""})
      .Group(kGroup);
  verb.Add("--seconds", plan.seconds, "Measured")
      .Check(Within(0.1, 86400.0))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--requests", plan.requests, "Instead of --seconds: so many in all")
      .Check(Within(uint64_t{1}, kU64Max))
      .Group(kGroup);
  verb.Add("--warm-up", plan.warm_up_s, "Seconds before, not counted")
      .Check(Within(0.0, 86400.0))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--interval", plan.interval_s, "Seconds between two lines while it runs")
      .Check(Within(0.1, 3600.0))
      .Group(kGroup)
      .ShowDefault();
  verb.Add("--output", output, "table, json or csv")
      .Check(OneOf({"table", "json", "csv"}))
      .Group(kGroup);
  verb.Add("--plot", plot,
           "Also draw the result into this file, as SVG: throughput and latency over time and "
           "latency by percentile; of a sweep latency over the rate")
      .Type("FILE")
      .Check(CheckNotEmpty)
      .Group(kGroup);
}

void BenchFlags::AddTo(Flags& verb) {
  AddTarget(verb);
  AddWorkload(verb);
  AddKeys(verb);
  AddPace(verb);
  engine.AddEngineTo(verb);
}

absl::StatusOr<load::Workload> BenchFlags::ToWorkload(const Flags& verb) const {
  load::Workload of{.name = workload};
  if (workload == "mixed") {
    const uint32_t upserts = upsert_percent.value_or(10), inserts = insert_percent.value_or(0),
                   scans = scan_percent.value_or(0), rmws = rmw_percent.value_or(0);
    const uint32_t sum = upserts + inserts + scans + rmws;
    if (sum > kPercentMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("the percentages of mixed add up to ", sum, "; at most ", kPercentMax));
    }
    of.percent = {kPercentMax - sum, upserts, inserts, scans, rmws};
  } else {
    const absl::Status status =
        Refuse(verb, {"--upsert-percent", "--insert-percent", "--scan-percent", "--rmw-percent"},
               "goes with workload mixed alone");
    if (!status.ok()) return status;
    if (const auto found = load::FindWorkload(workload)) of = *found;
  }
  if (scan_rows) {
    if (of.PercentOf(Operation::kScan) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--scan-rows goes with a workload that scans; ", workload, " does not"));
    }
    of.scan_rows = *scan_rows;
    of.scan_rows_vary = of.scan_rows_vary && *scan_rows > 0;
  }
  if (distribution) of.distribution = *load::FindDistribution(*distribution);
  return of;
}

absl::Status BenchFlags::CheckTarget(const Flags& verb, const load::Plan& of) const {
  absl::Status status;
  if (embedded && null_target) {
    return absl::InvalidArgumentError("--embedded and --null: one of them at most");
  }
  if (embedded || null_target) {
    status.Update(Refuse(verb, {"--unary", "--until-unavailable"},
                         "goes with a server alone, not with --embedded or --null"));
  }
  if (!embedded) {
    for (const Flags::Value& one : verb.Values()) {
      if (one.given && one.group == kEngineGroup) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--", one.name, " goes with --embedded alone; a server has its own options"));
      }
    }
  }
  if (embedded && kind == "hash" && of.workload.PercentOf(Operation::kScan) > 0) {
    return absl::InvalidArgumentError("--kind hash: a hash has no key order, and no scans");
  }
  if (of.unary && of.workload.PercentOf(Operation::kScan) == kPercentMax) {
    return absl::InvalidArgumentError("--unary: a scan is a call of its own already");
  }
  if (uint64_t{of.streams} * of.in_flight > kRequestsUnderWayMax) {
    return absl::InvalidArgumentError(absl::StrCat("--streams times --in-flight is ",
                                                   uint64_t{of.streams} * of.in_flight,
                                                   "; at most ", kRequestsUnderWayMax));
  }
  if (of.rate > 0 && of.rate < load::kRateMin) {
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("--rate ", of.rate, ": at least ", load::kRateMin, ", or 0")));
  }
  if (of.load) {
    status.Update(Refuse(verb,
                         {"--seconds", "--requests", "--warm-up", "--distribution", "--key-part",
                          "--missing-percent"},
                         "does not go with load, which writes every key once"));
  } else if (!embedded) {
    status.Update(Refuse(verb, {"--replace", "--kind"}, "goes with workload load alone"));
  }
  if (verb.Given("--requests")) {
    status.Update(Refuse(verb, {"--seconds", "--warm-up"}, "does not go with --requests"));
  }
  return status;
}

absl::Status BenchFlags::CheckKeys(const Flags& verb, const load::Plan& of) const {
  absl::Status status;
  const Distribution picked = of.workload.distribution;
  const bool inserts = of.workload.PercentOf(Operation::kInsert) > 0;
  if (!IsHot(picked)) {
    status.Update(
        Refuse(verb, {"--hot-part", "--hot-percent"}, "goes with --distribution hot or shifting"));
  }
  if (picked != Distribution::kShifting) {
    status.Update(Refuse(verb, {"--shift-seconds"}, "goes with --distribution shifting"));
  }
  if (picked == Distribution::kLatest) {
    status.Update(
        Refuse(verb, {"--key-part"}, "does not go with keys by how late they were inserted"));
  }
  if (of.missing_percent > 0 && inserts) {
    status.Update(absl::InvalidArgumentError(
        "--missing-percent: a workload that inserts brings the keys that would be missing"));
  }
  if (of.missing_percent > 0 && of.workload.PercentOf(Operation::kLookup) == 0) {
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("--missing-percent goes with lookups; ", workload, " has none")));
  }
  if (of.keys < of.generators && !of.load) {
    status.Update(absl::InvalidArgumentError(absl::StrCat(
        "--keys ", of.keys, ": at least one for each of ", of.generators, " --connections")));
  }
  return status;
}

absl::StatusOr<load::Plan> BenchFlags::ToPlan(const Flags& verb) const {
  load::Plan of = plan;
  absl::StatusOr<load::Workload> picked = ToWorkload(verb);
  if (!picked.ok()) return picked.status();
  of.workload = *std::move(picked);
  of.load = workload == "load";
  if (layout == "dense") of.layout = load::Layout::kDense;
  const bool scans_alone = of.workload.PercentOf(Operation::kScan) == kPercentMax;
  of.in_flight = in_flight.value_or(scans_alone ? 1 : of.in_flight);
  absl::Status status = CheckTarget(verb, of);
  status.Update(CheckKeys(verb, of));
  if (!status.ok()) return status;
  if (NeedsZipf(of.workload.distribution)) {
    of.zipf.emplace(load::KeyPicker::CountOf(load::KeySet(of.keys, of.layout), of.key_part));
  }
  return of;
}

absl::StatusOr<std::vector<uint32_t>> BenchFlags::SweepShares(const Flags& verb) const {
  if (!verb.Given("--sweep")) return std::vector<uint32_t>();
  if (workload == "load") {
    return absl::InvalidArgumentError("--sweep does not go with load, which writes every key once");
  }
  absl::Status status = Refuse(verb, {"--rate", "--until-unavailable"},
                               "does not go with --sweep, which sets the rate of each of its runs");
  if (!status.ok()) return status;
  return load::ParseShares(shares);
}

std::vector<std::pair<std::string, std::string>> GivenFlags(const Flags& verb,
                                                            const load::Plan& plan) {
  std::vector<std::pair<std::string, std::string>> flags;
  const auto follows = [](const std::string& name) {
    return name == "in-flight" || name == "layout" || name == "distribution";
  };
  for (Flags::Value& one : verb.Values()) {
    // --sweep has a text also if it is not given: that of --sweep alone.
    if (follows(one.name) || one.name == "plot" || (one.name == "sweep" && !one.given)) continue;
    flags.emplace_back(std::move(one.name), std::move(one.text));
  }
  flags.emplace_back("in-flight", absl::StrCat(plan.in_flight));
  flags.emplace_back("layout", load::NameOf(plan.layout));
  flags.emplace_back("distribution", load::NameOf(plan.workload.distribution));
  return flags;
}

}  // namespace eris::cli
