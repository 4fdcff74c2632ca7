// eris.v1.Tables: hands each call to its class. gRPC's threads take the calls; those that may block
// in the engine run on the control thread.
#ifndef ERIS_SERVER_TABLES_TABLE_SERVICE_H_
#define ERIS_SERVER_TABLES_TABLE_SERVICE_H_

#include "eris/v1/table.grpc.pb.h"
#include "server/calls/raw_service.h"
#include "server/state/server_state.h"

namespace eris::server {

class TableService final : public RawService<v1::Tables> {
 public:
  // `server` outlives the service.
  explicit TableService(ServerState* server);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_TABLES_TABLE_SERVICE_H_
