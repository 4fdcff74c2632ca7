#include "server/admin/admin_service.h"

#include <algorithm>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "server/admin/admin_answers.h"
#include "server/admin/config_answers.h"
#include "server/calls/control_call.h"
#include "wire/stats.h"

namespace eris::server {
namespace {

absl::Status DoGetTopology(const ControlScope& scope, const v1::GetTopologyRequest&,
                           v1::GetTopologyResponse* response) {
  response->set_text(scope.server.engine->ExplainTopology());
  return absl::OkStatus();
}

absl::Status DoVerifyMemory(const ControlScope& scope, const v1::VerifyMemoryRequest& request,
                            v1::VerifyMemoryResponse* response) {
  absl::Time deadline = scope.deadline;
  if (const uint32_t ms = scope.server.live.call_ms_max(); ms > 0) {
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

AdminService::AdminService(ServerState* server) : RawService(&server->access, &server->watch) {
  const Policy reads_machine(Role::kReader, NoObject());
  const Policy reads_all(Role::kReader, EveryObject());
  Serve("GetServer", reads_machine, ControlBeginner(*server, AnswerServer));
  // They include the balancer's options, which concern every object.
  Serve("GetConfig", {Role::kAdmin, EveryObject()}, ControlBeginner(*server, AnswerConfig));
  Serve("UpdateConfig", Policy(Role::kAdmin, EveryObject()).Audited(),
        ControlBeginner(*server, DoUpdateConfig));
  Serve("GetStats", reads_all, ControlBeginner(*server, AnswerStats));
  Serve("GetTopology", reads_machine, ControlBeginner(*server, DoGetTopology));
  Serve("GetMemory", reads_all, ControlBeginner(*server, AnswerMemory));
  // For admins only, because other control calls wait while it runs.
  Serve("VerifyMemory", {Role::kAdmin, EveryObject()}, ControlBeginner(*server, DoVerifyMemory));
  ServeBalancer(*server);
}

}  // namespace eris::server
