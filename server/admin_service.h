// eris.v1.Admin. gRPC's threads take the calls, the control thread runs them.
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

 private:
  ServerState& server_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ADMIN_SERVICE_H_
