#include "server/admin_service.h"

#include "server/control_call.h"
#include "server/messages.h"

namespace eris::server {

grpc::ServerUnaryReactor* AdminService::GetStats(grpc::CallbackServerContext* context,
                                                 const v1::GetStatsRequest* request,
                                                 v1::GetStatsResponse* response) {
  return ControlCall::Begin(server_, *context, *request, [engine = server_.engine, response] {
    FillStats(engine->Stats(), response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::GetTopology(grpc::CallbackServerContext* context,
                                                    const v1::GetTopologyRequest* request,
                                                    v1::GetTopologyResponse* response) {
  return ControlCall::Begin(server_, *context, *request, [engine = server_.engine, response] {
    response->set_text(engine->ExplainTopology());
    return absl::OkStatus();
  });
}

}  // namespace eris::server
