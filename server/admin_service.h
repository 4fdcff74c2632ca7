// eris.v1.Admin. gRPC's threads take the calls, the control thread runs them, but for those that
// move ranges (transfer_call.h).
#ifndef ERIS_SERVER_ADMIN_SERVICE_H_
#define ERIS_SERVER_ADMIN_SERVICE_H_

#include "eris/v1/admin.grpc.pb.h"
#include "server/server_state.h"

namespace eris::server {

class AdminService final : public v1::Admin::CallbackService {
 public:
  // `server` outlives the service.
  explicit AdminService(ServerState* server) : server_(*server) {}

  grpc::ServerUnaryReactor* GetStats(grpc::CallbackServerContext* context,
                                     const v1::GetStatsRequest* request,
                                     v1::GetStatsResponse* response) override;
  grpc::ServerUnaryReactor* GetTopology(grpc::CallbackServerContext* context,
                                        const v1::GetTopologyRequest* request,
                                        v1::GetTopologyResponse* response) override;
  grpc::ServerUnaryReactor* GetMemory(grpc::CallbackServerContext* context,
                                      const v1::GetMemoryRequest* request,
                                      v1::GetMemoryResponse* response) override;
  grpc::ServerUnaryReactor* VerifyMemory(grpc::CallbackServerContext* context,
                                         const v1::VerifyMemoryRequest* request,
                                         v1::VerifyMemoryResponse* response) override;

  // admin_balancer.cc has these.
  grpc::ServerUnaryReactor* GetBalancer(grpc::CallbackServerContext* context,
                                        const v1::GetBalancerRequest* request,
                                        v1::GetBalancerResponse* response) override;
  grpc::ServerUnaryReactor* ListTransfers(grpc::CallbackServerContext* context,
                                          const v1::ListTransfersRequest* request,
                                          v1::ListTransfersResponse* response) override;
  grpc::ServerUnaryReactor* SetBalancer(grpc::CallbackServerContext* context,
                                        const v1::SetBalancerRequest* request,
                                        v1::SetBalancerResponse* response) override;
  grpc::ServerUnaryReactor* PauseBalancer(grpc::CallbackServerContext* context,
                                          const v1::PauseBalancerRequest* request,
                                          v1::PauseBalancerResponse* response) override;
  grpc::ServerUnaryReactor* ResumeBalancer(grpc::CallbackServerContext* context,
                                           const v1::ResumeBalancerRequest* request,
                                           v1::ResumeBalancerResponse* response) override;
  grpc::ServerUnaryReactor* PlanBalance(grpc::CallbackServerContext* context,
                                        const v1::PlanBalanceRequest* request,
                                        v1::PlanBalanceResponse* response) override;
  grpc::ServerUnaryReactor* Rebalance(grpc::CallbackServerContext* context,
                                      const v1::RebalanceRequest* request,
                                      v1::RebalanceResponse* response) override;
  grpc::ServerUnaryReactor* Presplit(grpc::CallbackServerContext* context,
                                     const v1::PresplitRequest* request,
                                     v1::PresplitResponse* response) override;
  grpc::ServerUnaryReactor* MoveRange(grpc::CallbackServerContext* context,
                                      const v1::MoveRangeRequest* request,
                                      v1::MoveRangeResponse* response) override;

 private:
  ServerState& server_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ADMIN_SERVICE_H_
