// eris.v1.Admin. gRPC's threads accept the calls; the control thread runs them, except those that
// move ranges (control_call.h).
#ifndef ERIS_SERVER_ADMIN_ADMIN_SERVICE_H_
#define ERIS_SERVER_ADMIN_ADMIN_SERVICE_H_

#include "eris/v1/admin.grpc.pb.h"
#include "server/calls/raw_service.h"
#include "server/state/server_state.h"

namespace eris::server {

class AdminService final : public RawService<v1::Admin> {
 public:
  // `server` outlives the service.
  explicit AdminService(ServerState* server);

 private:
  // The balancer's calls, in admin_balancer.cc.
  void ServeBalancer(ServerState& server);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ADMIN_ADMIN_SERVICE_H_
