// Answers of eris.v1.Admin that only read, for its service and for the web page. They ask the
// engine directly: any thread, and none waits for calls of the control thread.
#ifndef ERIS_SERVER_ADMIN_ADMIN_ANSWERS_H_
#define ERIS_SERVER_ADMIN_ADMIN_ANSWERS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/v1/admin.pb.h"
#include "eris/v1/balancer.pb.h"
#include "server/state/server_state.h"
#include "wire/balancer.h"

namespace eris::server {

// Errors: NotFound.
absl::StatusOr<wire::BoundType> FindBoundType(ServerState& server, absl::string_view object);
// Describes each object once. A dropped one has u64 keys.
wire::BoundTypes AllBoundTypes(ServerState& server);

// Errors, here and below: as admin.proto says.
absl::Status AnswerServer(ServerState& server, const v1::GetServerRequest& request,
                          v1::GetServerResponse* response);
absl::Status AnswerStats(ServerState& server, const v1::GetStatsRequest& request,
                         v1::GetStatsResponse* response);
absl::Status AnswerMemory(ServerState& server, const v1::GetMemoryRequest& request,
                          v1::GetMemoryResponse* response);
absl::Status AnswerBalancer(ServerState& server, const v1::GetBalancerRequest& request,
                            v1::GetBalancerResponse* response);
absl::Status AnswerTransfers(ServerState& server, const v1::ListTransfersRequest& request,
                             v1::ListTransfersResponse* response);
absl::Status AnswerHotRanges(ServerState& server, const v1::GetHotRangesRequest& request,
                             v1::GetHotRangesResponse* response);

}  // namespace eris::server

#endif  // ERIS_SERVER_ADMIN_ADMIN_ANSWERS_H_
