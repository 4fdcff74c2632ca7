// The balancer's calls of eris.v1.Admin. Calls that move ranges run on a separate thread, the
// others on the control thread.
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/admin/admin_answers.h"
#include "server/admin/admin_service.h"
#include "server/calls/control_call.h"
#include "server/guard/rpc_status.h"
#include "wire/balancer.h"

namespace eris::server {
namespace {

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
  const Policy reads_object(Role::kReader, NamedBy({"object"}));
  const Policy steers = Policy(Role::kAdmin, EveryObject()).Audited();
  const Policy moves = Policy(Role::kAdmin, NamedBy({"object"})).Audited();
  Serve("GetBalancer", {Role::kReader, EveryObject()}, ControlBeginner(server, AnswerBalancer));
  Serve("ListTransfers", {Role::kReader, NamedByOrEvery({"object"})},
        ControlBeginner(server, AnswerTransfers));
  Serve("GetHotRanges", reads_object, ControlBeginner(server, AnswerHotRanges));
  Serve("SetBalancer", steers, ControlBeginner(server, DoSetBalancer));
  Serve("PauseBalancer", steers, ControlBeginner(server, DoPauseBalancer));
  Serve("ResumeBalancer", steers, ControlBeginner(server, DoResumeBalancer));
  Serve("PlanBalance", reads_object, ControlBeginner(server, DoPlanBalance));
  Serve("Rebalance", moves, ControlBeginner(server, DoRebalance, ControlLane::kMoves));
  Serve("Presplit", moves, ControlBeginner(server, DoPresplit, ControlLane::kMoves));
  Serve("MoveRange", moves, ControlBeginner(server, DoMoveRange, ControlLane::kMoves));
}

}  // namespace eris::server
