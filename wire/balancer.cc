#include "wire/balancer.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "wire/keys.h"

namespace eris::wire {

static_assert(static_cast<int>(BalanceAlgorithm::kOneShot) == v1::BALANCE_ALGORITHM_ONE_SHOT);
static_assert(static_cast<int>(BalanceAlgorithm::kMovingAverage) ==
              v1::BALANCE_ALGORITHM_MOVING_AVERAGE);
static_assert(static_cast<int>(BalanceAlgorithm::kSize) == v1::BALANCE_ALGORITHM_SIZE);
static_assert(static_cast<int>(TransferKind::kLink) == v1::TRANSFER_KIND_LINK);
static_assert(static_cast<int>(TransferKind::kCopy) == v1::TRANSFER_KIND_COPY);
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
// Unspecified stands before the first one.
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

// What this program does not know, and nothing, is the first one.
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

// The message says by its fields what its bounds are. `bounds` stays where it has none.
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

void FillOptions(const BalancerOptions& options, v1::BalancerOptions* message) {
  message->set_enabled(options.enabled);
  message->set_algorithm(AsMessage(options.algorithm));
  message->set_window(options.window);
  message->set_threshold(options.threshold);
  message->set_period_ms(options.period_ms);
  message->set_max_pause_us(options.max_pause_us);
  message->set_max_bytes_per_s(options.max_bytes_per_s);
}

absl::StatusOr<std::optional<TransferKind>> TransferKindFrom(v1::TransferKind kind) {
  switch (kind) {
    case v1::TRANSFER_KIND_UNSPECIFIED:
      return std::optional<TransferKind>();
    case v1::TRANSFER_KIND_LINK:
    case v1::TRANSFER_KIND_COPY:
      return std::optional(static_cast<TransferKind>(kind));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("kind is ", static_cast<int>(kind),
                       ", must be TRANSFER_KIND_LINK (1), TRANSFER_KIND_COPY (2) or unset"));
  }
}

void FillTransfer(const TransferRecord& record, const BoundTypes& types, v1::Transfer* message) {
  message->set_id(record.id);
  message->set_object(record.object);
  message->set_kind(AsMessage(record.kind));
  FillBounds(types(record.object), record.range, message->mutable_range());
  message->set_from_aeu(record.from.value);
  message->set_to_aeu(record.to.value);
  message->set_outcome(AsMessage(record.outcome));
  message->set_reason(record.reason);
  message->set_rows(record.rows);
  message->set_bytes(record.bytes);
  message->set_chunks(record.chunks);
  message->set_started_us(absl::ToUnixMicros(record.started));
  message->set_duration_us(record.duration_us);
  message->set_longest_pause_us(record.longest_pause_us);
  message->set_longest_pause_wall_us(record.longest_pause_wall_us);
  if (record.outcome != TransferOutcome::kRunning) return;
  message->set_phase(AsMessage(record.phase));
  message->set_idle_us(record.idle_us);
}

void FillPlan(const BalancePlan& plan, const BoundTypes& types, v1::BalancePlan* message) {
  message->set_object(plan.object);
  message->set_algorithm(AsMessage(plan.algorithm));
  message->set_imbalance_before(plan.imbalance_before);
  message->set_imbalance_after(plan.imbalance_after);
  for (const AeuShare& from : plan.shares) {
    v1::AeuShare* to = message->add_shares();
    to->set_aeu(from.aeu.value);
    to->set_load_before(from.load_before);
    to->set_load_after(from.load_after);
    to->set_rows_before(from.rows_before);
    to->set_rows_after(from.rows_after);
  }
  const BoundType type = types(plan.object);
  for (const PlannedTransfer& from : plan.transfers) {
    v1::PlannedTransfer* to = message->add_transfers();
    FillBounds(type, from.range, to->mutable_range());
    to->set_from_aeu(from.from.value);
    to->set_to_aeu(from.to.value);
    to->set_kind(AsMessage(from.kind));
    to->set_rows(from.rows);
    to->set_bytes(from.bytes);
  }
  message->set_bytes_to_copy(plan.bytes_to_copy);
  message->set_reason(plan.reason);
}

void FillBalancer(const BalancerStatus& status, const BoundTypes& types,
                  v1::GetBalancerResponse* response) {
  FillOptions(status.options, response->mutable_options());
  response->set_paused(status.paused);
  response->set_cycles(status.cycles);
  response->set_links(status.links);
  response->set_copies(status.copies);
  response->set_rows_moved(status.rows_moved);
  response->set_bytes_copied(status.bytes_copied);
  for (const ObjectBalance& from : status.objects) {
    v1::ObjectBalance* to = response->add_objects();
    to->set_object(from.object);
    to->set_algorithm(AsMessage(from.algorithm));
    to->set_imbalance(from.imbalance);
    to->mutable_loads()->Add(from.loads.begin(), from.loads.end());
    to->set_reason(from.reason);
  }
  response->set_stalls(status.stalls);
  for (const TransferRecord& record : status.running) {
    FillTransfer(record, types, response->add_running());
  }
}

TransferRecord TransferFrom(const v1::Transfer& message, ColumnType* bounds) {
  TransferRecord record;
  record.id = message.id();
  record.object = message.object();
  record.kind = KindFrom(message.kind());
  record.range = MovedRangeFrom(message.range(), bounds);
  record.from = AeuId{message.from_aeu()};
  record.to = AeuId{message.to_aeu()};
  record.outcome = OutcomeFrom(message.outcome());
  record.reason = message.reason();
  record.rows = message.rows();
  record.bytes = message.bytes();
  record.chunks = message.chunks();
  record.started = absl::FromUnixMicros(message.started_us());
  record.duration_us = message.duration_us();
  record.longest_pause_us = message.longest_pause_us();
  record.longest_pause_wall_us = message.longest_pause_wall_us();
  record.phase = PhaseFrom(message.phase());
  record.idle_us = message.idle_us();
  return record;
}

BalancePlan PlanFrom(const v1::BalancePlan& message, ColumnType* bounds) {
  BalancePlan plan;
  plan.object = message.object();
  plan.algorithm = AlgorithmFrom(message.algorithm());
  plan.imbalance_before = message.imbalance_before();
  plan.imbalance_after = message.imbalance_after();
  for (const v1::AeuShare& share : message.shares()) {
    plan.shares.push_back({.aeu = AeuId{share.aeu()},
                           .load_before = share.load_before(),
                           .load_after = share.load_after(),
                           .rows_before = share.rows_before(),
                           .rows_after = share.rows_after()});
  }
  for (const v1::PlannedTransfer& transfer : message.transfers()) {
    plan.transfers.push_back({.range = MovedRangeFrom(transfer.range(), bounds),
                              .from = AeuId{transfer.from_aeu()},
                              .to = AeuId{transfer.to_aeu()},
                              .kind = KindFrom(transfer.kind()),
                              .rows = transfer.rows(),
                              .bytes = transfer.bytes()});
  }
  plan.bytes_to_copy = message.bytes_to_copy();
  plan.reason = message.reason();
  return plan;
}

BalancerOptions OptionsFrom(const v1::BalancerOptions& message) {
  return {.enabled = message.enabled(),
          .algorithm = AlgorithmFrom(message.algorithm()),
          .window = message.window(),
          .threshold = message.threshold(),
          .period_ms = message.period_ms(),
          .max_pause_us = message.max_pause_us(),
          .max_bytes_per_s = message.max_bytes_per_s()};
}

BalancerStatus BalancerFrom(const v1::GetBalancerResponse& message,
                            std::vector<ColumnType>* running_bounds) {
  BalancerStatus status;
  status.options = OptionsFrom(message.options());
  status.paused = message.paused();
  status.cycles = message.cycles();
  status.links = message.links();
  status.copies = message.copies();
  status.rows_moved = message.rows_moved();
  status.bytes_copied = message.bytes_copied();
  for (const v1::ObjectBalance& object : message.objects()) {
    status.objects.push_back({.object = object.object(),
                              .algorithm = AlgorithmFrom(object.algorithm()),
                              .imbalance = object.imbalance(),
                              .loads = {object.loads().begin(), object.loads().end()},
                              .reason = object.reason()});
  }
  status.stalls = message.stalls();
  for (const v1::Transfer& each : message.running()) {
    status.running.push_back(
        TransferFrom(each, &running_bounds->emplace_back(ColumnType::kUint64)));
  }
  return status;
}

}  // namespace eris::wire
