#include "clients/balancer_client.h"

#include "clients/client_stubs.h"
#include "eris/v1/balancer.pb.h"
#include "wire/balancer.h"
#include "wire/keys.h"

namespace eris::client {
namespace {

Plan PlanOf(const v1::BalancePlan& message) {
  Plan plan;
  plan.plan = wire::PlanFrom(message, &plan.key_type);
  return plan;
}

}  // namespace

absl::StatusOr<Balance> BalancerClient::Status() {
  return Call<Balance>(client_, client_.stubs().admin, &v1::Admin::Stub::GetBalancer,
                       v1::GetBalancerRequest(), [](const v1::GetBalancerResponse& response) {
                         Balance balance;
                         balance.status = wire::BalancerFrom(response, &balance.running_key_types);
                         return balance;
                       });
}

absl::StatusOr<std::vector<Transfer>> BalancerClient::History(const std::string& object,
                                                              uint32_t limit) {
  v1::ListTransfersRequest request;
  request.set_object(object);
  request.set_limit(limit);
  return Call<std::vector<Transfer>>(
      client_, client_.stubs().admin, &v1::Admin::Stub::ListTransfers, request,
      [](const v1::ListTransfersResponse& response) {
        std::vector<Transfer> transfers;
        for (const v1::Transfer& one : response.transfers()) {
          Transfer& transfer = transfers.emplace_back();
          transfer.record = wire::TransferFrom(one, &transfer.key_type);
        }
        return transfers;
      });
}

absl::StatusOr<Heat> BalancerClient::Hot(const std::string& object, uint32_t ranges_max) {
  v1::GetHotRangesRequest request;
  request.set_object(object);
  request.set_ranges_max(ranges_max);
  return Call<Heat>(client_, client_.stubs().admin, &v1::Admin::Stub::GetHotRanges, request,
                    [](const v1::GetHotRangesResponse& response) {
                      Heat heat;
                      heat.ranges = wire::HotRangesFrom(response, &heat.key_type);
                      return heat;
                    });
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
  return Call<BalancerOptions>(client_, client_.stubs().admin, &v1::Admin::Stub::SetBalancer,
                               request, [](const v1::SetBalancerResponse& response) {
                                 return wire::OptionsFrom(response.options());
                               });
}

absl::Status BalancerClient::Pause() {
  return Call(client_, client_.stubs().admin, &v1::Admin::Stub::PauseBalancer,
              v1::PauseBalancerRequest());
}

absl::Status BalancerClient::Resume() {
  return Call(client_, client_.stubs().admin, &v1::Admin::Stub::ResumeBalancer,
              v1::ResumeBalancerRequest());
}

absl::StatusOr<Plan> BalancerClient::PlanFor(const std::string& object) {
  v1::PlanBalanceRequest request;
  request.set_object(object);
  return Call<Plan>(
      client_, client_.stubs().admin, &v1::Admin::Stub::PlanBalance, request,
      [](const v1::PlanBalanceResponse& response) { return PlanOf(response.plan()); });
}

absl::StatusOr<Plan> BalancerClient::Rebalance(const std::string& object) {
  v1::RebalanceRequest request;
  request.set_object(object);
  return Call<Plan>(client_, client_.stubs().admin, &v1::Admin::Stub::Rebalance, request,
                    [](const v1::RebalanceResponse& response) { return PlanOf(response.plan()); });
}

absl::Status BalancerClient::Presplit(const std::string& object, const KeyRange& range,
                                      uint32_t parts, const KeyTypes& key_type) {
  v1::PresplitRequest request;
  request.set_object(object);
  absl::Status status = wire::SetRange("range", key_type, range, *request.mutable_range());
  if (!status.ok()) return status;
  request.set_parts(parts);
  return Call(client_, client_.stubs().admin, &v1::Admin::Stub::Presplit, request);
}

absl::Status BalancerClient::Move(const std::string& object, const KeyRange& range, AeuId to,
                                  std::optional<TransferKind> kind, const KeyTypes& key_type) {
  v1::MoveRangeRequest request;
  request.set_object(object);
  absl::Status status = wire::SetRange("range", key_type, range, *request.mutable_range());
  if (!status.ok()) return status;
  request.set_to_aeu(to.value);
  if (kind) request.set_kind(static_cast<v1::TransferKind>(*kind));
  return Call(client_, client_.stubs().admin, &v1::Admin::Stub::MoveRange, request);
}

}  // namespace eris::client
