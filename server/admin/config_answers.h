// The options of a running server: GetConfig and UpdateConfig of eris.v1.Admin. On the control
// thread.
#ifndef ERIS_SERVER_ADMIN_CONFIG_ANSWERS_H_
#define ERIS_SERVER_ADMIN_CONFIG_ANSWERS_H_

#include "absl/status/status.h"
#include "eris/v1/admin.pb.h"
#include "server/calls/control_call.h"
#include "server/state/server_state.h"

namespace eris::server {

// Errors, here and below: as admin.proto says.
absl::Status AnswerConfig(ServerState& server, const v1::GetConfigRequest& request,
                          v1::GetConfigResponse* response);
absl::Status DoUpdateConfig(const ControlScope& scope, const v1::UpdateConfigRequest& request,
                            v1::UpdateConfigResponse* response);

}  // namespace eris::server

#endif  // ERIS_SERVER_ADMIN_CONFIG_ANSWERS_H_
