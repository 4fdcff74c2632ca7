#include "clients/balancer_client.h"

#include "clients/client_stubs.h"
#include "clients/key_messages.h"
#include "eris/key_encoding.h"
#include "eris/v1/balancer.pb.h"

namespace eris::client {
namespace {

template <class Request, class Response>
absl::Status Call(Client& client,
                  grpc::Status (v1::Admin::Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*),
                  const Request& request, Response& response) {
  return Client::Stubs::Call(*client.stubs().admin, method, client.options().timeout, request,
                             response);
}

KeyType TypeOf(const v1::Key& key) {
  switch (key.value_case()) {
    case v1::Key::kI64:
      return KeyType::kInt64;
    case v1::Key::kF64:
      return KeyType::kFloat64;
    case v1::Key::kDate32:
      return KeyType::kDate;
    default:
      return KeyType::kUint64;
  }
}

// The message says by its fields what its bounds are. `type` stays where it has none.
KeyRange RangeFrom(const v1::KeyRange& message, KeyType& type) {
  KeyRange range{.lo = message.lo(), .hi = std::nullopt};
  if (message.has_hi()) range.hi = message.hi();
  if (message.has_start()) {
    type = TypeOf(message.start());
    range.lo = KeyFrom(type, message.start());
  }
  if (message.has_end()) {
    type = TypeOf(message.end());
    range.hi = KeyFrom(type, message.end());
  }
  return range;
}

BalanceAlgorithm AlgorithmFrom(v1::BalanceAlgorithm algorithm) {
  return static_cast<BalanceAlgorithm>(algorithm);
}
TransferKind KindFrom(v1::TransferKind kind) { return static_cast<TransferKind>(kind); }

TransferOutcome OutcomeFrom(v1::TransferOutcome outcome) {
  switch (outcome) {
    case v1::TRANSFER_OUTCOME_DONE:
      return TransferOutcome::kDone;
    case v1::TRANSFER_OUTCOME_STOPPED:
      return TransferOutcome::kStopped;
    case v1::TRANSFER_OUTCOME_REFUSED:
      return TransferOutcome::kRefused;
    default:
      return TransferOutcome::kRunning;
  }
}

TransferPhase PhaseFrom(v1::TransferPhase phase) {
  switch (phase) {
    case v1::TRANSFER_PHASE_OTHER_TRANSFER:
      return TransferPhase::kOtherTransfer;
    case v1::TRANSFER_PHASE_SOURCE:
      return TransferPhase::kSource;
    case v1::TRANSFER_PHASE_TARGET:
      return TransferPhase::kTarget;
    case v1::TRANSFER_PHASE_CONCLUSION:
      return TransferPhase::kConclusion;
    default:
      return TransferPhase::kBetweenSteps;
  }
}

}  // namespace

Transfer TransferFrom(const v1::Transfer& message) {
  Transfer out;
  TransferRecord& record = out.record;
  record.id = message.id();
  record.object = message.object();
  record.kind = KindFrom(message.kind());
  record.range = RangeFrom(message.range(), out.key_type);
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
  return out;
}

Plan PlanFrom(const v1::BalancePlan& message) {
  Plan out;
  BalancePlan& plan = out.plan;
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
    plan.transfers.push_back({.range = RangeFrom(transfer.range(), out.key_type),
                              .from = AeuId{transfer.from_aeu()},
                              .to = AeuId{transfer.to_aeu()},
                              .kind = KindFrom(transfer.kind()),
                              .rows = transfer.rows(),
                              .bytes = transfer.bytes()});
  }
  plan.bytes_to_copy = message.bytes_to_copy();
  plan.reason = message.reason();
  return out;
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

Balance BalanceFrom(const v1::GetBalancerResponse& message) {
  Balance out;
  BalancerStatus& status = out.status;
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
    Transfer running = TransferFrom(each);
    out.running_key_types.push_back(running.key_type);
    status.running.push_back(std::move(running.record));
  }
  return out;
}

absl::StatusOr<Balance> BalancerClient::Status() {
  v1::GetBalancerResponse response;
  const absl::Status status =
      Call(client_, &v1::Admin::Stub::GetBalancer, v1::GetBalancerRequest(), response);
  if (!status.ok()) return status;
  return BalanceFrom(response);
}

absl::StatusOr<std::vector<Transfer>> BalancerClient::History(const std::string& object,
                                                              uint32_t limit) {
  v1::ListTransfersRequest request;
  request.set_object(object);
  request.set_limit(limit);
  v1::ListTransfersResponse response;
  const absl::Status status = Call(client_, &v1::Admin::Stub::ListTransfers, request, response);
  if (!status.ok()) return status;
  std::vector<Transfer> transfers;
  for (const v1::Transfer& one : response.transfers()) transfers.push_back(TransferFrom(one));
  return transfers;
}

absl::StatusOr<BalancerOptions> BalancerClient::Set(const BalancerChange& change) {
  v1::SetBalancerRequest request;
  v1::BalancerOptions& options = *request.mutable_options();
  if (change.enabled) options.set_enabled(*change.enabled);
  if (change.algorithm) {
    options.set_algorithm(static_cast<v1::BalanceAlgorithm>(*change.algorithm));
  }
  if (change.window) options.set_window(*change.window);
  if (change.threshold) options.set_threshold(*change.threshold);
  if (change.period_ms) options.set_period_ms(*change.period_ms);
  if (change.max_pause_us) options.set_max_pause_us(*change.max_pause_us);
  if (change.max_bytes_per_s) options.set_max_bytes_per_s(*change.max_bytes_per_s);
  v1::SetBalancerResponse response;
  const absl::Status status = Call(client_, &v1::Admin::Stub::SetBalancer, request, response);
  if (!status.ok()) return status;
  return OptionsFrom(response.options());
}

absl::Status BalancerClient::Pause() {
  v1::PauseBalancerResponse response;
  return Call(client_, &v1::Admin::Stub::PauseBalancer, v1::PauseBalancerRequest(), response);
}

absl::Status BalancerClient::Resume() {
  v1::ResumeBalancerResponse response;
  return Call(client_, &v1::Admin::Stub::ResumeBalancer, v1::ResumeBalancerRequest(), response);
}

absl::StatusOr<Plan> BalancerClient::PlanFor(const std::string& object) {
  v1::PlanBalanceRequest request;
  request.set_object(object);
  v1::PlanBalanceResponse response;
  const absl::Status status = Call(client_, &v1::Admin::Stub::PlanBalance, request, response);
  if (!status.ok()) return status;
  return PlanFrom(response.plan());
}

absl::StatusOr<Plan> BalancerClient::Rebalance(const std::string& object) {
  v1::RebalanceRequest request;
  request.set_object(object);
  v1::RebalanceResponse response;
  const absl::Status status = Call(client_, &v1::Admin::Stub::Rebalance, request, response);
  if (!status.ok()) return status;
  return PlanFrom(response.plan());
}

absl::Status BalancerClient::Presplit(const std::string& object, const KeyRange& range,
                                      uint32_t parts, const KeyTypes& key_type) {
  v1::PresplitRequest request;
  request.set_object(object);
  const absl::Status status = SetRange("range", key_type, range, *request.mutable_range());
  if (!status.ok()) return status;
  request.set_parts(parts);
  v1::PresplitResponse response;
  return Call(client_, &v1::Admin::Stub::Presplit, request, response);
}

absl::Status BalancerClient::Move(const std::string& object, const KeyRange& range, AeuId to,
                                  std::optional<TransferKind> kind, const KeyTypes& key_type) {
  v1::MoveRangeRequest request;
  request.set_object(object);
  const absl::Status status = SetRange("range", key_type, range, *request.mutable_range());
  if (!status.ok()) return status;
  request.set_to_aeu(to.value);
  if (kind) request.set_kind(static_cast<v1::TransferKind>(*kind));
  v1::MoveRangeResponse response;
  return Call(client_, &v1::Admin::Stub::MoveRange, request, response);
}

}  // namespace eris::client
