// What is served to other programs: the server's metrics and its health.
//
//   /metrics    Prometheus' text format; ?aeus=1: also those of each AEU
//   /healthz    200 as long as the process answers
//   /readyz     200 while the server takes calls; 503 from the beginning of its drain
#ifndef ERIS_SERVER_HTTP_METRICS_ANSWER_H_
#define ERIS_SERVER_HTTP_METRICS_ANSWER_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/http/page_request.h"
#include "server/state/server_state.h"

namespace eris::server {

bool IsForPrograms(absl::string_view path);
// Whether a request for `path` may have any Host: probes and Prometheus use the name by which they
// reach the server. Over the loopback the client may be a browser that shows a foreign page
// (page_request.h), so metrics are not for any Host there.
bool IsForAnyHost(absl::string_view path, bool over_loopback);

struct ProgramAnswer {
  std::string type;
  std::string body;
};
// REQUIRES: IsForPrograms. Errors: InvalidArgument (a parameter), Unavailable (/readyz).
absl::StatusOr<ProgramAnswer> AnswerProgram(ServerState& server, const PageTarget& target);

}  // namespace eris::server

#endif  // ERIS_SERVER_HTTP_METRICS_ANSWER_H_
