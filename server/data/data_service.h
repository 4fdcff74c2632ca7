// eris.v1.Data: passes each call to its class. gRPC's threads accept the calls; those that may
// block in the engine run on the control thread.
#ifndef ERIS_SERVER_DATA_DATA_SERVICE_H_
#define ERIS_SERVER_DATA_DATA_SERVICE_H_

#include "eris/v1/data.grpc.pb.h"
#include "server/calls/raw_service.h"
#include "server/state/server_state.h"

namespace eris::server {

class DataService final : public RawService<v1::Data> {
 public:
  // `server` outlives the service.
  explicit DataService(ServerState* server);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_DATA_SERVICE_H_
