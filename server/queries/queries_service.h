// eris.v1.Queries: runs plans, explains and analyses them, and lists and cancels the queries that
// run. gRPC's threads accept the calls and open queries; the control thread does the rest.
#ifndef ERIS_SERVER_QUERIES_QUERIES_SERVICE_H_
#define ERIS_SERVER_QUERIES_QUERIES_SERVICE_H_

#include "eris/v1/queries.grpc.pb.h"
#include "server/calls/raw_service.h"
#include "server/state/server_state.h"

namespace eris::server {

class QueriesService final : public RawService<v1::Queries> {
 public:
  // `server` outlives the service.
  explicit QueriesService(ServerState* server);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_QUERIES_QUERIES_SERVICE_H_
