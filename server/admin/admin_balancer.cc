// The balancer's calls of eris.v1.Admin. Calls that move ranges run on a separate thread, the
// others on the control thread.
#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/admin/admin_service.h"
#include "server/calls/control_call.h"
#include "server/guard/rpc_status.h"
#include "wire/balancer.h"

namespace eris::server {
namespace {

// Errors: NotFound.
absl::StatusOr<wire::BoundType> FindBoundType(ServerState& server, absl::string_view object) {
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info, server.engine->Describe(object));
  return wire::BoundTypeOf(info.kind, info.schema);
}

// Describes each object once. A dropped one has u64 keys.
wire::BoundTypes AllBoundTypes(ServerState& server) {
  return [&server, known = std::map<std::string, wire::BoundType, std::less<>>()](
             absl::string_view object) mutable {
    const auto [place, added] = known.try_emplace(std::string(object));
    if (added) {
      const absl::StatusOr<wire::BoundType> found = FindBoundType(server, object);
      if (found.ok()) place->second = *found;
    }
    return place->second;
  };
}

absl::Status DoGetBalancer(const ControlScope& scope, const v1::GetBalancerRequest&,
                           v1::GetBalancerResponse* response) {
  wire::FillBalancer(scope.server.engine->Balancer(), AllBoundTypes(scope.server), response);
  return absl::OkStatus();
}

absl::Status DoListTransfers(const ControlScope& scope, const v1::ListTransfersRequest& request,
                             v1::ListTransfersResponse* response) {
  if (!request.object().empty()) ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  const wire::BoundTypes types = AllBoundTypes(scope.server);
  for (const TransferRecord& record : scope.server.engine->TransferHistory()) {
    if (!request.object().empty() && record.object != request.object()) continue;
    wire::FillTransfer(record, types, response->add_transfers());
    const auto filled = static_cast<uint32_t>(response->transfers_size());
    if (request.limit() > 0 && filled >= request.limit()) break;
  }
  return absl::OkStatus();
}

absl::Status DoSetBalancer(const ControlScope& scope, const v1::SetBalancerRequest& request,
                           v1::SetBalancerResponse* response) {
  Engine& engine = *scope.server.engine;
  BalancerOptions options = engine.Balancer().options;
  ERIS_RETURN_IF_ERROR(wire::ChangeOptions(request.options(), &options));
  ERIS_RETURN_IF_ERROR(engine.SetBalancer(options));
  wire::FillOptions(options, response->mutable_options());
  return absl::OkStatus();
}

absl::Status DoPauseBalancer(const ControlScope& scope, const v1::PauseBalancerRequest&,
                             v1::PauseBalancerResponse*) {
  scope.server.engine->PauseBalancer();
  return absl::OkStatus();
}

absl::Status DoResumeBalancer(const ControlScope& scope, const v1::ResumeBalancerRequest&,
                              v1::ResumeBalancerResponse*) {
  scope.server.engine->ResumeBalancer();
  return absl::OkStatus();
}

absl::Status DoPlanBalance(const ControlScope& scope, const v1::PlanBalanceRequest& request,
                           v1::PlanBalanceResponse* response) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const BalancePlan plan, scope.server.engine->PlanBalance(request.object()));
  wire::FillPlan(plan, AllBoundTypes(scope.server), response->mutable_plan());
  return absl::OkStatus();
}

absl::Status DoRebalance(const ControlScope& scope, const v1::RebalanceRequest& request,
                         v1::RebalanceResponse* response) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const BalancePlan plan, scope.server.engine->Rebalance(
                                                    request.object(), scope.deadline, scope.stop));
  wire::FillPlan(plan, AllBoundTypes(scope.server), response->mutable_plan());
  return absl::OkStatus();
}

absl::Status DoPresplit(const ControlScope& scope, const v1::PresplitRequest& request,
                        v1::PresplitResponse*) {
  ServerState& server = scope.server;
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const wire::BoundType type, FindBoundType(server, request.object()));
  ERIS_ASSIGN_OR_RETURN(const KeyRange range, wire::MovedRangeFrom(type, request.range()));
  const size_t aeus = server.engine->Stats().aeus.size();
  if (request.parts() < 1 || request.parts() > aeus) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parts is ", request.parts(), ", must be between 1 and ", aeus, ", the number of AEUs"));
  }
  return server.engine->Presplit(request.object(), range, request.parts(), scope.deadline,
                                 scope.stop);
}

absl::Status DoMoveRange(const ControlScope& scope, const v1::MoveRangeRequest& request,
                         v1::MoveRangeResponse*) {
  ServerState& server = scope.server;
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const wire::BoundType type, FindBoundType(server, request.object()));
  ERIS_ASSIGN_OR_RETURN(const KeyRange range, wire::MovedRangeFrom(type, request.range()));
  ERIS_ASSIGN_OR_RETURN(const std::optional<TransferKind> kind,
                        wire::TransferKindFrom(request.kind()));
  const size_t aeus = server.engine->Stats().aeus.size();
  if (!request.has_to_aeu()) {
    return absl::InvalidArgumentError("to_aeu is not set: which AEU gets the range?");
  }
  if (request.to_aeu() >= aeus) {
    return absl::InvalidArgumentError(
        absl::StrCat("to_aeu is ", request.to_aeu(), ", must be between 0 and ", aeus - 1));
  }
  return server.engine->MoveRange(request.object(), range, AeuId{request.to_aeu()}, kind,
                                  scope.deadline, scope.stop);
}

}  // namespace

void AdminService::ServeBalancer(ServerState& server) {
  Serve("GetBalancer", ControlBeginner(server, DoGetBalancer));
  Serve("ListTransfers", ControlBeginner(server, DoListTransfers));
  Serve("SetBalancer", ControlBeginner(server, DoSetBalancer));
  Serve("PauseBalancer", ControlBeginner(server, DoPauseBalancer));
  Serve("ResumeBalancer", ControlBeginner(server, DoResumeBalancer));
  Serve("PlanBalance", ControlBeginner(server, DoPlanBalance));
  Serve("Rebalance", ControlBeginner(server, DoRebalance, ControlLane::kMoves));
  Serve("Presplit", ControlBeginner(server, DoPresplit, ControlLane::kMoves));
  Serve("MoveRange", ControlBeginner(server, DoMoveRange, ControlLane::kMoves));
}

}  // namespace eris::server
