#include "server/admin/admin_service.h"

#include <algorithm>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "server/calls/control_call.h"
#include "wire/stats.h"

namespace eris::server {
namespace {

absl::Status DoGetServer(const ControlScope& scope, const v1::GetServerRequest&,
                         v1::GetServerResponse* response) {
  response->set_version(scope.server.config.version);
  response->set_receive_message_bytes_max(scope.server.config.receive_message_bytes_max);
  return absl::OkStatus();
}

absl::Status DoGetStats(const ControlScope& scope, const v1::GetStatsRequest&,
                        v1::GetStatsResponse* response) {
  wire::FillStats(scope.server.engine->Stats(), response);
  return absl::OkStatus();
}

absl::Status DoGetTopology(const ControlScope& scope, const v1::GetTopologyRequest&,
                           v1::GetTopologyResponse* response) {
  response->set_text(scope.server.engine->ExplainTopology());
  return absl::OkStatus();
}

absl::Status DoGetMemory(const ControlScope& scope, const v1::GetMemoryRequest&,
                         v1::GetMemoryResponse* response) {
  wire::FillMemory(scope.server.engine->Memory(), response);
  return absl::OkStatus();
}

absl::Status DoVerifyMemory(const ControlScope& scope, const v1::VerifyMemoryRequest& request,
                            v1::VerifyMemoryResponse* response) {
  absl::Time deadline = scope.deadline;
  if (const uint32_t ms = scope.server.config.call_ms_max; ms > 0) {
    deadline = std::min(deadline, scope.begin + absl::Milliseconds(ms));
  }
  VerifyMemoryOptions options;
  if (request.has_pages_max()) options.pages_max = request.pages_max();
  options.rows = request.rows();
  ERIS_ASSIGN_OR_RETURN(const MemoryVerification verification,
                        scope.server.engine->VerifyMemory(options, deadline));
  wire::FillVerification(verification, response);
  return absl::OkStatus();
}

}  // namespace

AdminService::AdminService(ServerState* server) {
  Serve("GetServer", ControlBeginner(*server, DoGetServer));
  Serve("GetStats", ControlBeginner(*server, DoGetStats));
  Serve("GetTopology", ControlBeginner(*server, DoGetTopology));
  Serve("GetMemory", ControlBeginner(*server, DoGetMemory));
  Serve("VerifyMemory", ControlBeginner(*server, DoVerifyMemory));
  ServeBalancer(*server);
}

}  // namespace eris::server
