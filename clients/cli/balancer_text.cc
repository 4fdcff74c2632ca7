#include "clients/cli/balancer_text.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "clients/cli/balancer_flags.h"
#include "clients/cli/text/output.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

// Shows "-" for a missing bound, or for an object without bounds.
std::string LoText(const KeyRange& range, ColumnType type) {
  return range.lo == 0 ? "-" : KeyText(type, range.lo);
}
std::string HiText(const KeyRange& range, ColumnType type) {
  return range.hi ? KeyText(type, *range.hi) : "-";
}
// How many keys the range could hold; "-" if they cannot be counted.
std::string WidthText(const KeyRange& range, ColumnType type) {
  const bool counted = type == ColumnType::kUint64 || type == ColumnType::kInt64 ||
                       type == ColumnType::kInt32 || IsTimeType(type);
  return counted && range.hi ? absl::StrCat(*range.hi - range.lo) : "-";
}
Json RangeJson(const KeyRange& range, ColumnType type) {
  return {{"lo", range.lo == 0 ? Json(nullptr) : Json(KeyText(type, range.lo))},
          {"hi", range.hi ? Json(KeyText(type, *range.hi)) : Json(nullptr)}};
}

std::string Microseconds(int64_t us) {
  if (us < 10'000) return absl::StrFormat("%d us", us);
  if (us < 10'000'000) return absl::StrFormat("%.1f ms", static_cast<double>(us) / 1e3);
  return absl::StrFormat("%.1f s", static_cast<double>(us) / 1e6);
}

std::string HomeName(MemoryFollows home) {
  switch (home) {
    case MemoryFollows::kNothing:
      return "nothing";
    case MemoryFollows::kUnderWay:
      return "under_way";
    case MemoryFollows::kHome:
      return "home";
    case MemoryFollows::kStays:
      return "stays";
  }
  return "unknown";
}

// When the memory of the range was at home.
std::string HomeText(const TransferRecord& record) {
  switch (record.home) {
    case MemoryFollows::kNothing:
      return "-";
    case MemoryFollows::kUnderWay:
      return "under way";
    case MemoryFollows::kHome:
      return Microseconds(record.home_us);
    case MemoryFollows::kStays:
      return "some stays";
  }
  return "-";
}

std::string Percent(double part, double whole) {
  return whole > 0 ? absl::StrFormat("%.1f %%", 100 * part / whole) : "-";
}

// Loads are seconds per second, or rows if the algorithm is kSize.
std::string LoadText(double load, BalanceAlgorithm algorithm) {
  return absl::StrFormat("%.*f", algorithm == BalanceAlgorithm::kSize ? 0 : 4, load);
}

std::string AlgorithmText(const BalancerOptions& options) {
  const std::string name = AlgorithmName(options.algorithm);
  if (options.algorithm != BalanceAlgorithm::kMovingAverage) return name;
  return absl::StrCat(name, " of ", options.window, " on either side");
}

Json ToJson(const client::Transfer& transfer) {
  const TransferRecord& record = transfer.record;
  return {
      {"id", std::to_string(record.id)},
      {"object", record.object},
      {"kind", TransferKindName(record.kind)},
      {"range", RangeJson(record.range, transfer.key_type)},
      {"from_aeu", record.from.value},
      {"to_aeu", record.to.value},
      {"outcome", OutcomeName(record.outcome)},
      {"reason", record.reason},
      {"rows", std::to_string(record.rows)},
      {"bytes", std::to_string(record.bytes)},
      {"chunks", std::to_string(record.chunks)},
      {"started", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", record.started, absl::UTCTimeZone())},
      {"duration_us", std::to_string(record.duration_us)},
      {"longest_pause_us", record.longest_pause_us},
      {"longest_pause_wall_us", record.longest_pause_wall_us},
      {"home", HomeName(record.home)},
      {"home_us", std::to_string(record.home_us)},
      {"home_bytes", std::to_string(record.home_bytes)},
      {"home_bytes_remapped", std::to_string(record.home_bytes_remapped)},
      {"home_longest_pause_us", record.home_longest_pause_us}};
}

const char* PhaseName(TransferPhase phase) {
  switch (phase) {
    case TransferPhase::kBetweenSteps:
      return "between_steps";
    case TransferPhase::kOtherTransfer:
      return "other_transfer";
    case TransferPhase::kSource:
      return "source";
    case TransferPhase::kTarget:
      return "target";
    case TransferPhase::kConclusion:
      return "conclusion";
  }
  return "unknown";
}

// Empty if it makes progress.
std::string StallText(const TransferRecord& record) {
  if (record.phase == TransferPhase::kBetweenSteps || record.idle_us < kTransferStallUs) return {};
  std::string why;
  switch (record.phase) {
    case TransferPhase::kBetweenSteps:
      break;
    case TransferPhase::kOtherTransfer:
      why = absl::StrCat("AEU ", record.from.value, " gives a range of another object");
      break;
    case TransferPhase::kSource:
      why = absl::StrCat("AEU ", record.from.value, " has not given the rows");
      break;
    case TransferPhase::kTarget:
      why = absl::StrCat("AEU ", record.to.value, " has not taken the rows");
      break;
    case TransferPhase::kConclusion:
      why = absl::StrCat("AEU ", record.from.value, " has not heard how the step has ended");
      break;
  }
  return absl::StrCat("transfer ", record.id, " has made no progress for ",
                      Microseconds(record.idle_us), ": ", why, "\n");
}

}  // namespace

std::vector<client::Transfer> RunningOf(const client::Balance& balance) {
  std::vector<client::Transfer> running;
  for (size_t i = 0; i < balance.status.running.size(); ++i) {
    client::Transfer transfer{.record = balance.status.running[i]};
    if (i < balance.running_key_types.size()) transfer.key_type = balance.running_key_types[i];
    running.push_back(std::move(transfer));
  }
  return running;
}

std::string OutcomeName(TransferOutcome outcome) {
  switch (outcome) {
    case TransferOutcome::kRunning:
      return "running";
    case TransferOutcome::kDone:
      return "done";
    case TransferOutcome::kStopped:
      return "stopped";
    case TransferOutcome::kRefused:
      return "refused";
  }
  return absl::StrCat("outcome ", static_cast<int>(outcome));
}

std::string TransferKindName(TransferKind kind) {
  const absl::string_view name = TraitsOf(kind).name;
  return name.empty() ? absl::StrCat("kind ", static_cast<int>(kind)) : std::string(name);
}

std::string ToText(const BalancerOptions& options) {
  return absl::StrCat(
      options.enabled ? "enabled" : "disabled", ", ", AlgorithmText(options), ", threshold ",
      absl::StrFormat("%.4g", options.threshold), ", every ", options.period_ms,
      " ms; pauses of at most ", options.max_pause_us, " us, ",
      options.max_bytes_per_s == 0
          ? "moves as fast as they go"
          : absl::StrCat("at most ", FormatBytes(options.max_bytes_per_s), "/s moved"),
      "\n");
}

Json ToJson(const BalancerOptions& options) {
  return {{"enabled", options.enabled},
          {"algorithm", AlgorithmName(options.algorithm)},
          {"window", options.window},
          {"threshold", options.threshold},
          {"period_ms", options.period_ms},
          {"max_pause_us", options.max_pause_us},
          {"max_bytes_per_s", std::to_string(options.max_bytes_per_s)}};
}

namespace {

double SumOf(const std::vector<double>& loads) {
  return std::accumulate(loads.begin(), loads.end(), 0.0);
}

// A line for each object.
std::string ObjectsText(const std::vector<ObjectBalance>& objects) {
  if (objects.empty()) return "no objects\n";
  TextTable table({{"OBJECT", false},
                   {"ALGORITHM", false},
                   {"LOAD"},
                   {"BUSIEST AEU"},
                   {"ITS SHARE"},
                   {"IMBALANCE"},
                   {"NOTHING MOVES", false}});
  for (const ObjectBalance& object : objects) {
    const double sum = SumOf(object.loads);
    const auto busiest = std::max_element(object.loads.begin(), object.loads.end());
    const bool any = sum > 0;
    table.Add({object.object, AlgorithmName(object.algorithm), LoadText(sum, object.algorithm),
               any ? absl::StrCat(busiest - object.loads.begin()) : "-",
               any ? Percent(*busiest, sum) : "-",
               object.loads.empty() ? "-" : absl::StrFormat("%.3f", object.imbalance),
               object.reason});
  }
  return table.ToString();
}

// A line for each AEU of an object.
std::string LoadsText(const ObjectBalance& object) {
  TextTable table({{"AEU"}, {"LOAD"}, {"SHARE"}});
  const double sum = SumOf(object.loads);
  for (size_t i = 0; i < object.loads.size(); ++i) {
    table.Add({absl::StrCat(i), LoadText(object.loads[i], object.algorithm),
               Percent(object.loads[i], sum)});
  }
  return absl::StrCat("\n", object.object, "\n", table.ToString());
}

}  // namespace

void AddOthers(const std::vector<ObjectInfo>& objects, BalancerStatus& status) {
  const std::string reason = !status.options.enabled ? "the balancer is off"
                             : status.paused         ? "not looked at yet: the balancer is paused"
                                                     : "not looked at yet";
  for (const ObjectInfo& info : objects) {
    const auto is_it = [&](const ObjectBalance& known) { return known.object == info.name; };
    if (std::any_of(status.objects.begin(), status.objects.end(), is_it)) continue;
    ObjectBalance other;
    other.object = info.name;
    other.algorithm = status.options.algorithm;
    other.reason = reason;
    status.objects.push_back(std::move(other));
  }
  std::sort(status.objects.begin(), status.objects.end(),
            [](const auto& a, const auto& b) { return a.object < b.object; });
}

std::string ToText(const client::Balance& balance, bool loads) {
  const BalancerStatus& status = balance.status;
  std::string text = absl::StrCat(status.paused ? "paused; " : "", ToText(status.options));
  absl::StrAppend(&text, status.cycles, " cycles, ");
  for (const TransferKind kind : kTransferKinds) {
    absl::StrAppend(&text, status.transfers[kind], " ", TraitsOf(kind).plural, ", ");
  }
  absl::StrAppend(&text, status.rows_moved, " rows moved, ", FormatBytes(status.bytes_copied),
                  " copied", status.stalls > 0 ? absl::StrCat(", ", status.stalls, " stalls") : "",
                  "\n");
  absl::StrAppend(&text, "\n", ObjectsText(status.objects));
  for (const ObjectBalance& object : status.objects) {
    if (loads && !object.loads.empty()) text += LoadsText(object);
  }
  if (!status.running.empty()) absl::StrAppend(&text, "\nmoving now\n", ToText(RunningOf(balance)));
  for (const TransferRecord& record : status.running) text += StallText(record);
  return text;
}

Json ToJson(const client::Balance& balance) {
  const BalancerStatus& status = balance.status;
  Json objects = Json::Array();
  for (const ObjectBalance& object : status.objects) {
    objects.push_back({{"name", object.object},
                       {"algorithm", AlgorithmName(object.algorithm)},
                       {"imbalance", object.imbalance},
                       {"loads", object.loads},
                       {"reason", object.reason}});
  }
  Json transfers = Json::Object();
  for (const TransferKind kind : kTransferKinds) {
    transfers[TransferKindName(kind)] = std::to_string(status.transfers[kind]);
  }
  Json running = Json::Array();
  for (const client::Transfer& transfer : RunningOf(balance)) {
    Json json = ToJson(transfer);
    json["phase"] = PhaseName(transfer.record.phase);
    json["idle_us"] = std::to_string(transfer.record.idle_us);
    running.push_back(std::move(json));
  }
  return {{"options", ToJson(status.options)},
          {"paused", status.paused},
          {"cycles", std::to_string(status.cycles)},
          {"transfers", std::move(transfers)},
          {"rows_moved", std::to_string(status.rows_moved)},
          {"bytes_copied", std::to_string(status.bytes_copied)},
          {"stalls", std::to_string(status.stalls)},
          {"objects", std::move(objects)},
          {"running", std::move(running)}};
}

std::string ToText(const std::vector<client::Transfer>& transfers) {
  TextTable table({{"ID"},
                   {"OBJECT", false},
                   {"KIND", false},
                   {"LO"},
                   {"HI"},
                   {"FROM"},
                   {"TO"},
                   {"ROWS"},
                   {"COPIED"},
                   {"CHUNKS"},
                   {"DURATION"},
                   {"LONGEST PAUSE"},
                   {"ON THE WALL"},
                   {"HOME AFTER"},
                   {"BROUGHT"},
                   {"OUTCOME", false}});
  for (const client::Transfer& transfer : transfers) {
    const TransferRecord& record = transfer.record;
    const std::string outcome = OutcomeName(record.outcome);
    const bool follows = record.home != MemoryFollows::kNothing;
    table.Add({absl::StrCat(record.id), record.object, TransferKindName(record.kind),
               LoText(record.range, transfer.key_type), HiText(record.range, transfer.key_type),
               absl::StrCat(record.from.value), absl::StrCat(record.to.value),
               absl::StrCat(record.rows), FormatBytes(record.bytes), absl::StrCat(record.chunks),
               Microseconds(record.duration_us),
               Microseconds(std::max(record.longest_pause_us, record.home_longest_pause_us)),
               Microseconds(record.longest_pause_wall_us), HomeText(record),
               follows ? FormatBytes(record.home_bytes) : "-",
               record.reason.empty() ? outcome : absl::StrCat(outcome, ": ", record.reason)});
  }
  return table.ToString();
}

Json ToJson(const std::vector<client::Transfer>& transfers) {
  Json array = Json::Array();
  for (const client::Transfer& transfer : transfers) array.push_back(ToJson(transfer));
  return array;
}

std::string ToText(const client::Plan& out, bool done) {
  const BalancePlan& plan = out.plan;
  TextTable shares({{"AEU"}, {"LOAD BEFORE"}, {"PREDICTED"}, {"ROWS BEFORE"}, {"PREDICTED"}});
  for (const AeuShare& share : plan.shares) {
    shares.Add({absl::StrCat(share.aeu.value), LoadText(share.load_before, plan.algorithm),
                LoadText(share.load_after, plan.algorithm), absl::StrCat(share.rows_before),
                absl::StrCat(share.rows_after)});
  }
  std::string text = absl::StrCat(
      plan.object, ": ", AlgorithmName(plan.algorithm), ", imbalance ",
      absl::StrFormat("%.3f, %.3f predicted", plan.imbalance_before, plan.imbalance_after), "\n",
      shares.ToString(), "\n");
  if (plan.transfers.empty()) {
    return absl::StrCat(text, done ? "nothing has moved" : "nothing would move",
                        plan.reason.empty() ? "" : ": ", plan.reason, "\n");
  }
  TextTable transfers(
      {{"OBJECT", false}, {"KIND", false}, {"LO"}, {"HI"}, {"FROM"}, {"TO"}, {"ROWS"}, {"BYTES"}});
  for (const PlannedTransfer& transfer : plan.transfers) {
    transfers.Add({transfer.object, TransferKindName(transfer.kind),
                   LoText(transfer.range, out.key_type), HiText(transfer.range, out.key_type),
                   absl::StrCat(transfer.from.value), absl::StrCat(transfer.to.value),
                   absl::StrCat(transfer.rows), FormatBytes(transfer.bytes)});
  }
  absl::StrAppend(&text, transfers.ToString(), FormatBytes(plan.bytes_to_copy),
                  done ? " were to copy" : " to copy");
  if (plan.bytes_to_remap + plan.bytes_to_move > 0) {
    absl::StrAppend(&text, "; to follow: ", FormatBytes(plan.bytes_to_remap),
                    " by remapping pages, ", FormatBytes(plan.bytes_to_move), " block by block");
  }
  if (!plan.reason.empty()) absl::StrAppend(&text, "; ", plan.reason);
  return text + "\n";
}

Json ToJson(const client::Plan& out) {
  const BalancePlan& plan = out.plan;
  Json shares = Json::Array();
  for (const AeuShare& share : plan.shares) {
    shares.push_back({{"aeu", share.aeu.value},
                      {"load_before", share.load_before},
                      {"load_after", share.load_after},
                      {"rows_before", std::to_string(share.rows_before)},
                      {"rows_after", std::to_string(share.rows_after)}});
  }
  Json transfers = Json::Array();
  for (const PlannedTransfer& transfer : plan.transfers) {
    transfers.push_back({{"object", transfer.object},
                         {"kind", TransferKindName(transfer.kind)},
                         {"range", RangeJson(transfer.range, out.key_type)},
                         {"from_aeu", transfer.from.value},
                         {"to_aeu", transfer.to.value},
                         {"rows", std::to_string(transfer.rows)},
                         {"bytes", std::to_string(transfer.bytes)}});
  }
  return {{"object", plan.object},
          {"algorithm", AlgorithmName(plan.algorithm)},
          {"imbalance_before", plan.imbalance_before},
          {"imbalance_after", plan.imbalance_after},
          {"shares", std::move(shares)},
          {"transfers", std::move(transfers)},
          {"bytes_to_copy", std::to_string(plan.bytes_to_copy)},
          {"bytes_to_remap", std::to_string(plan.bytes_to_remap)},
          {"bytes_to_move", std::to_string(plan.bytes_to_move)},
          {"reason", plan.reason}};
}

std::string ToText(const client::Heat& heat) {
  const HotRanges& ranges = heat.ranges;
  std::vector<double> by_aeu;
  std::vector<uint64_t> rows;
  for (size_t i = 0; i < ranges.owners.size(); ++i) {
    const size_t aeu = ranges.owners[i].value;
    if (aeu >= by_aeu.size()) by_aeu.resize(aeu + 1), rows.resize(aeu + 1);
    by_aeu[aeu] += i < ranges.loads.size() ? ranges.loads[i] : 0;
    rows[aeu] += i < ranges.rows.size() ? ranges.rows[i] : 0;
  }
  TextTable hottest({{"LO"}, {"HI"}, {"KEYS"}, {"AEU"}, {"LOAD"}, {"OF THE OBJECT"}});
  for (const HotRange& one : ranges.hottest) {
    hottest.Add({LoText(one.range, heat.key_type), HiText(one.range, heat.key_type),
                 WidthText(one.range, heat.key_type), absl::StrCat(one.owner.value),
                 absl::StrFormat("%.4f", one.load), Percent(one.load, ranges.load)});
  }
  TextTable aeus({{"AEU"}, {"LOAD"}, {"OF THE OBJECT"}, {"ROWS"}});
  for (size_t aeu = 0; aeu < by_aeu.size(); ++aeu) {
    aeus.Add({absl::StrCat(aeu), absl::StrFormat("%.4f", by_aeu[aeu]),
              Percent(by_aeu[aeu], ranges.load), absl::StrCat(rows[aeu])});
  }
  return absl::StrCat(ranges.hottest.empty() ? "no range is hot\n" : hottest.ToString(), "\n",
                      aeus.ToString(), "\n", ranges.owners.size(), " partitions\n");
}

Json ToJson(const client::Heat& heat) {
  Json hottest = Json::Array();
  for (const HotRange& one : heat.ranges.hottest) {
    hottest.push_back({{"range", RangeJson(one.range, heat.key_type)},
                       {"aeu", one.owner.value},
                       {"load", one.load}});
  }
  Json partitions = Json::Array();
  for (size_t i = 0; i < heat.ranges.owners.size(); ++i) {
    partitions.push_back(
        {{"aeu", heat.ranges.owners[i].value},
         {"load", i < heat.ranges.loads.size() ? heat.ranges.loads[i] : 0.0},
         {"rows", std::to_string(i < heat.ranges.rows.size() ? heat.ranges.rows[i] : 0)}});
  }
  return {{"load", heat.ranges.load},
          {"hottest", std::move(hottest)},
          {"partitions", std::move(partitions)}};
}

}  // namespace eris::cli
