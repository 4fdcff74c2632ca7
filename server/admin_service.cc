#include "server/admin_service.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "base/status_macros.h"
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

grpc::ServerUnaryReactor* AdminService::GetMemory(grpc::CallbackServerContext* context,
                                                  const v1::GetMemoryRequest* request,
                                                  v1::GetMemoryResponse* response) {
  return ControlCall::Begin(server_, *context, *request, [engine = server_.engine, response] {
    FillMemory(engine->Memory(), response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::VerifyMemory(grpc::CallbackServerContext* context,
                                                     const v1::VerifyMemoryRequest* request,
                                                     v1::VerifyMemoryResponse* response) {
  absl::Time deadline = absl::FromChrono(context->deadline());
  if (const uint32_t ms = server_.config.call_ms_max; ms > 0) {
    deadline = std::min(deadline, absl::Now() + absl::Milliseconds(ms));
  }
  return ControlCall::Begin(
      server_, *context, *request,
      [engine = server_.engine, deadline, request, response]() -> absl::Status {
        VerifyMemoryOptions options;
        if (request->has_pages_max()) options.pages_max = request->pages_max();
        ERIS_ASSIGN_OR_RETURN(const MemoryVerification verification,
                              engine->VerifyMemory(options, deadline));
        FillVerification(verification, response);
        return absl::OkStatus();
      });
}

}  // namespace eris::server
