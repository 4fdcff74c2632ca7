#include "wire/balancer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "wire/fields.h"
#include "wire/keys.h"

// clang-format off
#define ERIS_OPTION_FIELDS(F) \
  F(enabled) F(window) F(threshold) F(period_ms) F(max_pause_us) F(max_bytes_per_s)
#define ERIS_TRANSFER_FIELDS(F) \
  F(id) F(object) F(reason) F(rows) F(bytes) F(chunks) F(duration_us) F(longest_pause_us) \
  F(longest_pause_wall_us) F(home_us) F(home_bytes) F(home_bytes_remapped) \
  F(home_longest_pause_us)
#define ERIS_SHARE_FIELDS(F) F(load_before) F(load_after) F(rows_before) F(rows_after)
#define ERIS_PLANNED_FIELDS(F) F(rows) F(bytes)
#define ERIS_PLAN_OF_BALANCE_FIELDS(F) \
  F(object) F(imbalance_before) F(imbalance_after) F(bytes_to_copy) F(bytes_to_remap) \
  F(bytes_to_move) F(reason)
#define ERIS_BALANCE_FIELDS(F) F(object) F(imbalance) F(reason)
#define ERIS_STATUS_FIELDS(F) \
  F(paused) F(cycles) F(rows_moved) F(bytes_copied) F(stalls)
// clang-format on

namespace eris::wire {

static_assert(static_cast<int>(BalanceAlgorithm::kOneShot) == v1::BALANCE_ALGORITHM_ONE_SHOT);
static_assert(static_cast<int>(BalanceAlgorithm::kMovingAverage) ==
              v1::BALANCE_ALGORITHM_MOVING_AVERAGE);
static_assert(static_cast<int>(BalanceAlgorithm::kSize) == v1::BALANCE_ALGORITHM_SIZE);
// Kinds have the same numbers in both; tests compare the names.
static_assert(kTransferKindCount == v1::TransferKind_MAX);
static_assert(static_cast<int>(MemoryFollows::kUnderWay) == v1::MEMORY_FOLLOWS_UNDER_WAY);
static_assert(static_cast<int>(MemoryFollows::kHome) == v1::MEMORY_FOLLOWS_HOME);
static_assert(static_cast<int>(MemoryFollows::kStays) == v1::MEMORY_FOLLOWS_STAYS);
static_assert(static_cast<int>(TransferOutcome::kRunning) + 1 == v1::TRANSFER_OUTCOME_RUNNING);
static_assert(static_cast<int>(TransferOutcome::kRefused) + 1 == v1::TRANSFER_OUTCOME_REFUSED);
static_assert(static_cast<int>(TransferPhase::kBetweenSteps) + 1 ==
              v1::TRANSFER_PHASE_BETWEEN_STEPS);
static_assert(static_cast<int>(TransferPhase::kConclusion) + 1 == v1::TRANSFER_PHASE_CONCLUSION);

namespace {

v1::BalanceAlgorithm AsMessage(BalanceAlgorithm algorithm) {
  return static_cast<v1::BalanceAlgorithm>(algorithm);
}
v1::TransferKind AsMessage(TransferKind kind) { return static_cast<v1::TransferKind>(kind); }
// "Unspecified" comes before the first value.
v1::TransferOutcome AsMessage(TransferOutcome outcome) {
  return static_cast<v1::TransferOutcome>(static_cast<int>(outcome) + 1);
}
v1::TransferPhase AsMessage(TransferPhase phase) {
  return static_cast<v1::TransferPhase>(static_cast<int>(phase) + 1);
}

BalanceAlgorithm AlgorithmFrom(v1::BalanceAlgorithm algorithm) {
  return static_cast<BalanceAlgorithm>(algorithm);
}
TransferKind KindFrom(v1::TransferKind kind) { return static_cast<TransferKind>(kind); }
// A negative number is none, either.
bool IsKind(v1::TransferKind kind) { return IsTransferKind(static_cast<uint64_t>(kind)); }

// An unknown value, or none, becomes the first one.
TransferOutcome OutcomeFrom(v1::TransferOutcome outcome) {
  const bool known =
      outcome > v1::TRANSFER_OUTCOME_UNSPECIFIED && outcome <= v1::TRANSFER_OUTCOME_REFUSED;
  return known ? static_cast<TransferOutcome>(outcome - 1) : TransferOutcome::kRunning;
}
TransferPhase PhaseFrom(v1::TransferPhase phase) {
  const bool known =
      phase > v1::TRANSFER_PHASE_UNSPECIFIED && phase <= v1::TRANSFER_PHASE_CONCLUSION;
  return known ? static_cast<TransferPhase>(phase - 1) : TransferPhase::kBetweenSteps;
}
MemoryFollows HomeFrom(v1::MemoryFollows home) {
  const bool known = home >= v1::MEMORY_FOLLOWS_UNSPECIFIED && home <= v1::MEMORY_FOLLOWS_STAYS;
  return known ? static_cast<MemoryFollows>(home) : MemoryFollows::kNothing;
}

// The message's fields tell the type of its bounds. `bounds` is unchanged if it has none.
KeyRange MovedRangeFrom(const v1::KeyRange& message, ColumnType* bounds) {
  KeyRange range{.lo = message.lo(), .hi = std::nullopt};
  if (message.has_hi()) range.hi = message.hi();
  if (message.has_start()) {
    *bounds = TypeOf(message.start());
    range.lo = KeyFrom("start", *bounds, message.start()).value_or(0);
  }
  if (message.has_end()) {
    *bounds = TypeOf(message.end());
    range.hi = KeyFrom("end", *bounds, message.end()).value_or(0);
  }
  return range;
}

void Fill(const AeuShare& from, v1::AeuShare* to) {
  ERIS_SHARE_FIELDS(ERIS_SET_FIELD)
  to->set_aeu(from.aeu.value);
}
void Take(const v1::AeuShare& from, AeuShare* to) {
  ERIS_SHARE_FIELDS(ERIS_TAKE_FIELD)
  to->aeu = AeuId{from.aeu()};
}

void Fill(const PlannedTransfer& from, const BoundType& type, v1::PlannedTransfer* to) {
  ERIS_PLANNED_FIELDS(ERIS_SET_FIELD)
  FillBounds(type, from.range, to->mutable_range());
  to->set_object(from.object);
  to->set_from_aeu(from.from.value);
  to->set_to_aeu(from.to.value);
  to->set_kind(AsMessage(from.kind));
}
void Take(const v1::PlannedTransfer& from, ColumnType* bounds, PlannedTransfer* to) {
  ERIS_PLANNED_FIELDS(ERIS_TAKE_FIELD)
  to->object = from.object();
  to->range = MovedRangeFrom(from.range(), bounds);
  to->from = AeuId{from.from_aeu()};
  to->to = AeuId{from.to_aeu()};
  to->kind = KindFrom(from.kind());
}

void Fill(const TransferCounts& from, v1::GetBalancerResponse* to) {
  for (const TransferKind kind : kTransferKinds) {
    v1::TransferCount* const count = to->add_transfers();
    count->set_kind(AsMessage(kind));
    count->set_done(from[kind]);
  }
}
// Leaves out kinds that this program does not know.
void Take(const v1::GetBalancerResponse& from, TransferCounts* to) {
  for (const v1::TransferCount& count : from.transfers()) {
    if (IsKind(count.kind())) (*to)[KindFrom(count.kind())] = count.done();
  }
}

void Fill(const ObjectBalance& from, v1::ObjectBalance* to) {
  ERIS_BALANCE_FIELDS(ERIS_SET_FIELD)
  to->set_algorithm(AsMessage(from.algorithm));
  to->mutable_loads()->Add(from.loads.begin(), from.loads.end());
}
void Take(const v1::ObjectBalance& from, ObjectBalance* to) {
  ERIS_BALANCE_FIELDS(ERIS_TAKE_FIELD)
  to->algorithm = AlgorithmFrom(from.algorithm());
  to->loads.assign(from.loads().begin(), from.loads().end());
}

template <class T>
absl::Status CheckOption(absl::string_view name, T value, const BalancerLimits<T>& limits) {
  if (limits.Hold(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "options.", name, " is ", value, ", must be between ", limits.min, " and ", limits.max));
}

}  // namespace

absl::StatusOr<KeyRange> MovedRangeFrom(const BoundType& type, const v1::KeyRange& message) {
  ERIS_ASSIGN_OR_RETURN(const KeyRange range, BoundsFrom("range", type, message));
  if (!range.Empty()) return range;
  return absl::InvalidArgumentError(
      absl::StrCat("range is empty: it begins and ends with ", BoundText(type, range.lo)));
}

absl::Status ChangeOptions(const v1::BalancerOptions& message, BalancerOptions* options) {
  BalancerOptions changed = *options;
  bool any = message.has_enabled() || message.has_algorithm() || message.has_max_bytes_per_s();
  if (message.has_enabled()) changed.enabled = message.enabled();
  if (message.has_max_bytes_per_s()) changed.max_bytes_per_s = message.max_bytes_per_s();
  if (message.has_algorithm()) {
    if (message.algorithm() < v1::BALANCE_ALGORITHM_ONE_SHOT ||
        message.algorithm() > v1::BALANCE_ALGORITHM_SIZE) {
      return absl::InvalidArgumentError(
          absl::StrCat("options.algorithm is ", static_cast<int>(message.algorithm()),
                       ", must be 1 to 3 (BALANCE_ALGORITHM_ONE_SHOT to BALANCE_ALGORITHM_SIZE)"));
    }
    changed.algorithm = static_cast<BalanceAlgorithm>(message.algorithm());
  }
  const auto change = [&any](absl::string_view name, bool is_set, auto value, const auto& limits,
                             auto& to) {
    if (!is_set) return absl::OkStatus();
    any = true;
    to = value;
    return CheckOption(name, value, limits);
  };
  ERIS_RETURN_IF_ERROR(
      change("window", message.has_window(), message.window(), kBalancerWindow, changed.window));
  ERIS_RETURN_IF_ERROR(change("threshold", message.has_threshold(), message.threshold(),
                              kBalancerThreshold, changed.threshold));
  ERIS_RETURN_IF_ERROR(change("period_ms", message.has_period_ms(), message.period_ms(),
                              kBalancerPeriodMs, changed.period_ms));
  ERIS_RETURN_IF_ERROR(change("max_pause_us", message.has_max_pause_us(), message.max_pause_us(),
                              kBalancerMaxPauseUs, changed.max_pause_us));
  if (!any) return absl::InvalidArgumentError("options has no field set: nothing would change");
  *options = changed;
  return absl::OkStatus();
}

void FillOptions(const BalancerOptions& from, v1::BalancerOptions* to) {
  ERIS_OPTION_FIELDS(ERIS_SET_FIELD)
  to->set_algorithm(AsMessage(from.algorithm));
}

BalancerOptions OptionsFrom(const v1::BalancerOptions& from) {
  BalancerOptions options;
  BalancerOptions* const to = &options;
  ERIS_OPTION_FIELDS(ERIS_TAKE_FIELD)
  to->algorithm = AlgorithmFrom(from.algorithm());
  return options;
}

absl::StatusOr<std::optional<TransferKind>> TransferKindFrom(v1::TransferKind kind) {
  if (kind == v1::TRANSFER_KIND_UNSPECIFIED) return std::optional<TransferKind>();
  if (IsKind(kind)) return std::optional(KindFrom(kind));
  std::string kinds;
  for (const TransferKind known : kTransferKinds) {
    absl::StrAppend(&kinds, v1::TransferKind_Name(AsMessage(known)), " (", static_cast<int>(known),
                    "), ");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("kind is ", static_cast<int>(kind), ", must be ", kinds, "or unset"));
}

void FillTransfer(const TransferRecord& from, const BoundTypes& types, v1::Transfer* to) {
  ERIS_TRANSFER_FIELDS(ERIS_SET_FIELD)
  to->set_kind(AsMessage(from.kind));
  FillBounds(types(from.object), from.range, to->mutable_range());
  to->set_from_aeu(from.from.value);
  to->set_to_aeu(from.to.value);
  to->set_outcome(AsMessage(from.outcome));
  to->set_started_us(absl::ToUnixMicros(from.started));
  to->set_home(static_cast<v1::MemoryFollows>(from.home));
  if (from.outcome != TransferOutcome::kRunning) return;
  to->set_phase(AsMessage(from.phase));
  to->set_idle_us(from.idle_us);
}

TransferRecord TransferFrom(const v1::Transfer& from, ColumnType* bounds) {
  TransferRecord record;
  TransferRecord* const to = &record;
  ERIS_TRANSFER_FIELDS(ERIS_TAKE_FIELD)
  to->kind = KindFrom(from.kind());
  to->range = MovedRangeFrom(from.range(), bounds);
  to->from = AeuId{from.from_aeu()};
  to->to = AeuId{from.to_aeu()};
  to->outcome = OutcomeFrom(from.outcome());
  to->started = absl::FromUnixMicros(from.started_us());
  to->phase = PhaseFrom(from.phase());
  to->idle_us = from.idle_us();
  to->home = HomeFrom(from.home());
  return record;
}

void FillPlan(const BalancePlan& from, const BoundTypes& types, v1::BalancePlan* to) {
  ERIS_PLAN_OF_BALANCE_FIELDS(ERIS_SET_FIELD)
  to->set_algorithm(AsMessage(from.algorithm));
  for (const AeuShare& share : from.shares) Fill(share, to->add_shares());
  const BoundType type = types(from.object);
  for (const PlannedTransfer& transfer : from.transfers) Fill(transfer, type, to->add_transfers());
}

BalancePlan PlanFrom(const v1::BalancePlan& from, ColumnType* bounds) {
  BalancePlan plan;
  BalancePlan* const to = &plan;
  ERIS_PLAN_OF_BALANCE_FIELDS(ERIS_TAKE_FIELD)
  to->algorithm = AlgorithmFrom(from.algorithm());
  for (const v1::AeuShare& share : from.shares()) Take(share, &to->shares.emplace_back());
  for (const v1::PlannedTransfer& transfer : from.transfers()) {
    Take(transfer, bounds, &to->transfers.emplace_back());
  }
  return plan;
}

void FillBalancer(const BalancerStatus& from, const BoundTypes& types,
                  v1::GetBalancerResponse* to) {
  ERIS_STATUS_FIELDS(ERIS_SET_FIELD)
  FillOptions(from.options, to->mutable_options());
  Fill(from.transfers, to);
  for (const ObjectBalance& one : from.objects) Fill(one, to->add_objects());
  for (const TransferRecord& record : from.running) FillTransfer(record, types, to->add_running());
}

BalancerStatus BalancerFrom(const v1::GetBalancerResponse& from,
                            std::vector<ColumnType>* running_bounds) {
  BalancerStatus status;
  BalancerStatus* const to = &status;
  ERIS_STATUS_FIELDS(ERIS_TAKE_FIELD)
  to->options = OptionsFrom(from.options());
  Take(from, &to->transfers);
  for (const v1::ObjectBalance& one : from.objects()) Take(one, &to->objects.emplace_back());
  for (const v1::Transfer& each : from.running()) {
    to->running.push_back(TransferFrom(each, &running_bounds->emplace_back(ColumnType::kUint64)));
  }
  return status;
}

void FillHotRanges(const HotRanges& from, const BoundType& type, v1::GetHotRangesResponse* to) {
  to->set_load(from.load);
  for (const HotRange& one : from.hottest) {
    v1::HotRange* const hot = to->add_hottest();
    FillBounds(type, one.range, hot->mutable_range());
    hot->set_aeu(one.owner.value);
    hot->set_load(one.load);
  }
  to->mutable_starts()->Add(from.starts.begin(), from.starts.end());
  for (const AeuId owner : from.owners) to->add_aeus(owner.value);
  // An AEU cannot spend more than a second per second; a sample may say a little more.
  for (const double load : from.loads) {
    to->add_loads_us_per_s(static_cast<uint32_t>(std::clamp(load * 1e6, 0.0, 4e9)));
  }
  to->mutable_rows()->Add(from.rows.begin(), from.rows.end());
}

HotRanges HotRangesFrom(const v1::GetHotRangesResponse& from, ColumnType* bounds) {
  HotRanges to{.load = from.load()};
  for (const v1::HotRange& hot : from.hottest()) {
    to.hottest.push_back({.range = MovedRangeFrom(hot.range(), bounds),
                          .owner = AeuId{hot.aeu()},
                          .load = hot.load()});
  }
  to.starts.assign(from.starts().begin(), from.starts().end());
  for (const uint32_t aeu : from.aeus()) to.owners.push_back(AeuId{aeu});
  for (const uint32_t load : from.loads_us_per_s()) to.loads.push_back(load / 1e6);
  to.rows.assign(from.rows().begin(), from.rows().end());
  return to;
}

}  // namespace eris::wire
