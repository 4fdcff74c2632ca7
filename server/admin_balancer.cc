// The calls of eris.v1.Admin that are the balancer's. Those that move run on a thread of their own,
// the others on the control thread.
#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/admin_service.h"
#include "server/balancer_messages.h"
#include "server/control_call.h"
#include "server/rpc_status.h"
#include "server/transfer_call.h"

namespace eris::server {
namespace {

// Errors: NotFound.
absl::StatusOr<BoundType> FindBoundType(ServerState& server, absl::string_view object) {
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info, server.engine->Describe(object));
  if (info.kind != ObjectKind::kTable) return BoundTypeOf(info, nullptr);
  ERIS_ASSIGN_OR_RETURN(const auto schema, server.sessions.Borrow()->SchemaOf(object));
  return BoundTypeOf(info, schema.get());
}

// Each object is asked for once. One that is gone has u64 keys.
BoundTypes AllBoundTypes(ServerState& server) {
  return [&server, known = std::map<std::string, BoundType, std::less<>>()](
             absl::string_view object) mutable {
    const auto [place, added] = known.try_emplace(std::string(object));
    if (added) {
      const absl::StatusOr<BoundType> found = FindBoundType(server, object);
      if (found.ok()) place->second = *found;
    }
    return place->second;
  };
}

absl::Status ListTransfers(ServerState& server, const v1::ListTransfersRequest& request,
                           v1::ListTransfersResponse* response) {
  if (!request.object().empty()) ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  const BoundTypes types = AllBoundTypes(server);
  for (const TransferRecord& record : server.engine->TransferHistory()) {
    if (!request.object().empty() && record.object != request.object()) continue;
    FillTransfer(record, types, response->add_transfers());
    const auto filled = static_cast<uint32_t>(response->transfers_size());
    if (request.limit() > 0 && filled >= request.limit()) break;
  }
  return absl::OkStatus();
}

absl::Status SetBalancer(Engine& engine, const v1::SetBalancerRequest& request,
                         v1::SetBalancerResponse* response) {
  BalancerOptions options = engine.Balancer().options;
  ERIS_RETURN_IF_ERROR(ChangeOptions(request.options(), &options));
  ERIS_RETURN_IF_ERROR(engine.SetBalancer(options));
  FillOptions(options, response->mutable_options());
  return absl::OkStatus();
}

absl::Status Presplit(ServerState& server, const v1::PresplitRequest& request, absl::Time deadline,
                      MoveStop* stop) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const BoundType type, FindBoundType(server, request.object()));
  ERIS_ASSIGN_OR_RETURN(const KeyRange range, MovedRangeFrom(type, request.range()));
  const size_t aeus = server.engine->Stats().aeus.size();
  if (request.parts() < 1 || request.parts() > aeus) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parts is ", request.parts(), ", must be between 1 and ", aeus, ", the number of AEUs"));
  }
  return server.engine->Presplit(request.object(), range, request.parts(), deadline, stop);
}

absl::Status MoveRange(ServerState& server, const v1::MoveRangeRequest& request,
                       absl::Time deadline, MoveStop* stop) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const BoundType type, FindBoundType(server, request.object()));
  ERIS_ASSIGN_OR_RETURN(const KeyRange range, MovedRangeFrom(type, request.range()));
  ERIS_ASSIGN_OR_RETURN(const std::optional<TransferKind> kind, TransferKindFrom(request.kind()));
  const size_t aeus = server.engine->Stats().aeus.size();
  if (!request.has_to_aeu()) {
    return absl::InvalidArgumentError("to_aeu is not set: which AEU gets the range?");
  }
  if (request.to_aeu() >= aeus) {
    return absl::InvalidArgumentError(
        absl::StrCat("to_aeu is ", request.to_aeu(), ", must be between 0 and ", aeus - 1));
  }
  return server.engine->MoveRange(request.object(), range, AeuId{request.to_aeu()}, kind, deadline,
                                  stop);
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::GetBalancer(grpc::CallbackServerContext* context,
                                                    const v1::GetBalancerRequest* request,
                                                    v1::GetBalancerResponse* response) {
  return ControlCall::Begin(server_, *context, *request, [&server = server_, response] {
    FillBalancer(server.engine->Balancer(), AllBoundTypes(server), response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ListTransfers(grpc::CallbackServerContext* context,
                                                      const v1::ListTransfersRequest* request,
                                                      v1::ListTransfersResponse* response) {
  return ControlCall::Begin(server_, *context, *request, [&server = server_, request, response] {
    return server::ListTransfers(server, *request, response);
  });
}

grpc::ServerUnaryReactor* AdminService::SetBalancer(grpc::CallbackServerContext* context,
                                                    const v1::SetBalancerRequest* request,
                                                    v1::SetBalancerResponse* response) {
  return ControlCall::Begin(server_, *context, *request,
                            [engine = server_.engine, request, response] {
                              return server::SetBalancer(*engine, *request, response);
                            });
}

grpc::ServerUnaryReactor* AdminService::PauseBalancer(grpc::CallbackServerContext* context,
                                                      const v1::PauseBalancerRequest* request,
                                                      v1::PauseBalancerResponse*) {
  return ControlCall::Begin(server_, *context, *request, [engine = server_.engine] {
    engine->PauseBalancer();
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ResumeBalancer(grpc::CallbackServerContext* context,
                                                       const v1::ResumeBalancerRequest* request,
                                                       v1::ResumeBalancerResponse*) {
  return ControlCall::Begin(server_, *context, *request, [engine = server_.engine] {
    engine->ResumeBalancer();
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::PlanBalance(grpc::CallbackServerContext* context,
                                                    const v1::PlanBalanceRequest* request,
                                                    v1::PlanBalanceResponse* response) {
  return ControlCall::Begin(server_, *context, *request,
                            [&server = server_, request, response]() -> absl::Status {
                              ERIS_RETURN_IF_ERROR(CheckObjectName(request->object()));
                              ERIS_ASSIGN_OR_RETURN(const BalancePlan plan,
                                                    server.engine->PlanBalance(request->object()));
                              FillPlan(plan, AllBoundTypes(server), response->mutable_plan());
                              return absl::OkStatus();
                            });
}

grpc::ServerUnaryReactor* AdminService::Rebalance(grpc::CallbackServerContext* context,
                                                  const v1::RebalanceRequest* request,
                                                  v1::RebalanceResponse* response) {
  return TransferCall::Begin(
      server_, *context, *request,
      [&server = server_, request, response](absl::Time deadline, MoveStop* stop) -> absl::Status {
        ERIS_RETURN_IF_ERROR(CheckObjectName(request->object()));
        ERIS_ASSIGN_OR_RETURN(const BalancePlan plan,
                              server.engine->Rebalance(request->object(), deadline, stop));
        FillPlan(plan, AllBoundTypes(server), response->mutable_plan());
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* AdminService::Presplit(grpc::CallbackServerContext* context,
                                                 const v1::PresplitRequest* request,
                                                 v1::PresplitResponse*) {
  return TransferCall::Begin(server_, *context, *request,
                             [&server = server_, request](absl::Time deadline, MoveStop* stop) {
                               return server::Presplit(server, *request, deadline, stop);
                             });
}

grpc::ServerUnaryReactor* AdminService::MoveRange(grpc::CallbackServerContext* context,
                                                  const v1::MoveRangeRequest* request,
                                                  v1::MoveRangeResponse*) {
  return TransferCall::Begin(server_, *context, *request,
                             [&server = server_, request](absl::Time deadline, MoveStop* stop) {
                               return server::MoveRange(server, *request, deadline, stop);
                             });
}

}  // namespace eris::server
