// What is served at /api/...: messages of eris.v1.Admin and Catalog as protobuf's JSON, with the
// fields' own names. They are made on the calling thread, from the engine itself: none waits for
// calls of the control thread, like VerifyMemory.
//
//   /api/server                  GetServerResponse
//   /api/stats                   GetStatsResponse, its objects without partitions
//   /api/memory                  GetMemoryResponse, without classes
//   /api/balancer                GetBalancerResponse, its objects without loads
//   /api/transfers?limit=50      ListTransfersResponse; object=...: of this one
//   /api/hot?object=orders       GetHotRangesResponse; limit=16
//   /api/object?name=orders      GetObjectResponse
//   /api/topology                GetTopologyResponse
#ifndef ERIS_SERVER_HTTP_API_ANSWER_H_
#define ERIS_SERVER_HTTP_API_ANSWER_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/http/page_request.h"
#include "server/state/server_state.h"

namespace eris::server {

// Errors: NotFound (no such path or object), InvalidArgument (a parameter). Throws std::bad_alloc.
absl::StatusOr<std::string> AnswerApi(ServerState& server, const PageTarget& target);

}  // namespace eris::server

#endif  // ERIS_SERVER_HTTP_API_ANSWER_H_
