#include "clients/cli/bench_flags.h"

#include <initializer_list>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/parse.h"
#include "clients/cli/within.h"
#include "clients/load/key_picker.h"
#include "eris/types.h"

namespace eris::cli {
namespace {

using load::Distribution;
using load::Operation;

constexpr uint32_t kPercentMax = 100;
constexpr uint64_t kU64Max = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kGeneratorsMax = 1024;
constexpr double kRateMin = 0.001;                // of an open loop
constexpr uint32_t kRequestsUnderWayMax = 65536;  // of all streams of a connection

bool Given(const CLI::App& verb, const char* name) { return verb.get_option(name)->count() > 0; }

// Refuses each of `names` that was given; `reason` says where they belong.
absl::Status Refuse(const CLI::App& verb, std::initializer_list<const char*> names,
                    absl::string_view reason) {
  for (const char* name : names) {
    if (Given(verb, name)) return absl::InvalidArgumentError(absl::StrCat(name, " ", reason));
  }
  return absl::OkStatus();
}

bool IsHot(Distribution one) { return one == Distribution::kHot || one == Distribution::kShifting; }

bool NeedsZipf(Distribution one) {
  return one == Distribution::kZipf || one == Distribution::kScrambled ||
         one == Distribution::kLatest;
}

}  // namespace

void BenchFlags::AddTarget(CLI::App& verb) {
  constexpr char kGroup[] = "Target";
  verb.add_flag("--embedded", embedded,
                "An engine in this process (see Engine); it is loaded before the workload")
      ->group(kGroup);
  verb.add_flag("--null", null_target,
                "Nothing: answers at once and rightly, to see what the generators can do")
      ->group(kGroup);
  verb.add_option("--object", plan.object, "Index (or hash) to work on")
      ->check(CheckNotEmpty)
      ->check(CheckName)
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--connections", plan.generators,
                  "Generators: threads with a connection (embedded: a session) of their own")
      ->check(Within(1u, kGeneratorsMax))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--streams", plan.streams, "Streams of each connection")
      ->check(Within(1u, 1024u))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--in-flight", in_flight,
                  "Requests under way on each stream; default 8, of workload scan 1")
      ->check(Within(1u, 4096u))
      ->group(kGroup);
  verb.add_flag("--unary", plan.unary, "A call for each batch instead of a stream")->group(kGroup);
  verb.add_flag("--until-unavailable", plan.until_unavailable,
                "The server's UNAVAILABLE ends the run and is no error")
      ->group(kGroup);
}

void BenchFlags::AddWorkload(CLI::App& verb) {
  constexpr char kGroup[] = "Workload";
  verb.add_option("workload,--workload", workload,
                  "load, lookup, upsert, scan, mixed, or a, b, c, d, e, f after YCSB (below)")
      ->check(CLI::IsMember(
          {"load", "lookup", "upsert", "scan", "mixed", "a", "b", "c", "d", "e", "f"}))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--batch", plan.batch, "Keys of a request")
      ->check(Within(1u, kBatchKeysMax))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--scan-rows", scan_rows,
                  "Rows of a scan, default 1000; of workload e 1 to this many, default 100; 0: "
                  "every row")
      ->check(Within(uint64_t{0}, load::KeySet::kCountMax))
      ->group(kGroup);
  const std::pair<const char*, std::optional<uint32_t>*> percents[] = {
      {"--upsert-percent", &upsert_percent},
      {"--insert-percent", &insert_percent},
      {"--scan-percent", &scan_percent},
      {"--rmw-percent", &rmw_percent}};
  for (const auto& [name, value] : percents) {
    verb.add_option(name, *value, "Of the requests of mixed; the rest are lookups")
        ->check(Within(0u, kPercentMax))
        ->group(kGroup);
  }
  verb.add_option("--missing-percent", plan.missing_percent,
                  "Of looked-up keys: that are not there")
      ->check(Within(0u, kPercentMax))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_flag("--replace", replace, "load: drop the object first, if it is there")->group(kGroup);
  verb.add_option("--kind", kind, "load: what to create; a hash has no scans")
      ->check(CLI::IsMember({"index", "hash"}))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_flag("--verify", plan.verify, "Check every value of every answer")->group(kGroup);
}

void BenchFlags::AddKeys(CLI::App& verb) {
  constexpr char kGroup[] = "Keys";
  verb.add_option("--keys", plan.keys, "Keys of the object, as loaded")
      ->check(Within(uint64_t{1}, load::KeySet::kCountMax))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--layout", layout,
                  "dense: 0 .. keys-1; sparse: spread over 64 bits; as loaded; default sparse")
      ->check(CLI::IsMember({"dense", "sparse"}))
      ->group(kGroup);
  verb.add_option("--distribution", distribution,
                  "Which are asked for: uniform, zipf (0.99, lowest keys first), scrambled (zipf, "
                  "spread over the key space), latest (zipf, the newest first), hot, shifting (a "
                  "hot range, fixed or moving), sequential; default: the workload's")
      ->check(CLI::IsMember(load::DistributionNames()))
      ->group(kGroup);
  verb.add_option("--key-part", plan.key_part, "Only of the lowest so much of the key space")
      ->check(Within(0.001, 1.0))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--hot-part", plan.hot_part, "Width of the hot range, of all keys")
      ->check(Within(0.000001, 1.0))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--hot-percent", plan.hot_percent, "Of the keys asked for that lie in it")
      ->check(Within(0u, kPercentMax))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--shift-seconds", plan.shift_s, "shifting: it moves on by its width this often")
      ->check(Within(0.01, 86400.0))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--seed", plan.seed, "Of all that is random")
      ->check(Within(uint64_t{0}, kU64Max))
      ->group(kGroup)
      ->capture_default_str();
}

void BenchFlags::AddPace(CLI::App& verb) {
  constexpr char kGroup[] = "Pace and report";
  verb.add_option("--rate", plan.rate,
                  "Open loop: so many requests a second in all, as Poisson arrivals; 0: closed "
                  "loop")
      ->check(Within(0.0, 1e9))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--seconds", plan.seconds, "Measured")
      ->check(Within(0.1, 86400.0))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--requests", plan.requests, "Instead of --seconds: so many in all")
      ->check(Within(uint64_t{1}, kU64Max))
      ->group(kGroup);
  verb.add_option("--warm-up", plan.warm_up_s, "Seconds before, not counted")
      ->check(Within(0.0, 86400.0))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--interval", plan.interval_s, "Seconds between two lines while it runs")
      ->check(Within(0.1, 3600.0))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--output", output, "table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->group(kGroup);
}

void BenchFlags::AddTo(CLI::App& verb) {
  AddTarget(verb);
  AddWorkload(verb);
  AddKeys(verb);
  AddPace(verb);
  engine.AddTo(verb);
}

absl::StatusOr<load::Workload> BenchFlags::ToWorkload(const CLI::App& verb) const {
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

absl::Status BenchFlags::CheckTarget(const CLI::App& verb, const load::Plan& of) const {
  absl::Status status;
  if (embedded && null_target) {
    return absl::InvalidArgumentError("--embedded and --null: one of them at most");
  }
  if (embedded || null_target) {
    status.Update(Refuse(verb, {"--unary", "--until-unavailable"},
                         "goes with a server alone, not with --embedded or --null"));
  }
  if (!embedded) {
    for (const CLI::Option* option : verb.get_options()) {
      if (option->get_group() == "Engine" && option->count() > 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            option->get_name(), " goes with --embedded alone; a server has its own options"));
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
  if (of.rate > 0 && of.rate < kRateMin) {
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("--rate ", of.rate, ": at least ", kRateMin, ", or 0")));
  }
  if (of.load) {
    status.Update(Refuse(verb,
                         {"--seconds", "--requests", "--warm-up", "--distribution", "--key-part",
                          "--missing-percent"},
                         "does not go with load, which writes every key once"));
  } else if (!embedded) {
    status.Update(Refuse(verb, {"--replace", "--kind"}, "goes with workload load alone"));
  }
  if (Given(verb, "--requests")) {
    status.Update(Refuse(verb, {"--seconds", "--warm-up"}, "does not go with --requests"));
  }
  return status;
}

absl::Status BenchFlags::CheckKeys(const CLI::App& verb, const load::Plan& of) const {
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
        absl::StrCat("--missing-percent goes with look-ups; ", workload, " has none")));
  }
  if (of.keys < of.generators && !of.load) {
    status.Update(absl::InvalidArgumentError(absl::StrCat(
        "--keys ", of.keys, ": at least one for each of ", of.generators, " --connections")));
  }
  return status;
}

absl::StatusOr<load::Plan> BenchFlags::ToPlan(const CLI::App& verb) const {
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

std::vector<std::pair<std::string, std::string>> GivenFlags(const CLI::App& verb) {
  std::vector<std::pair<std::string, std::string>> flags;
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = option->get_single_name();
    if (name == "help") continue;
    const bool given = option->count() > 0;
    if (!given && option->get_default_str().empty()) continue;
    flags.emplace_back(name,
                       given ? absl::StrJoin(option->results(), ",") : option->get_default_str());
  }
  return flags;
}

}  // namespace eris::cli
