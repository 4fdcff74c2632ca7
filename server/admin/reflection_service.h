// gRPC's reflection: describes the services to tools. gRPC's own is not used, because it answers
// every caller.
#ifndef ERIS_SERVER_ADMIN_REFLECTION_SERVICE_H_
#define ERIS_SERVER_ADMIN_REFLECTION_SERVICE_H_

#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "server/calls/raw_service.h"
#include "server/state/server_state.h"

namespace eris::server {

class ReflectionService final : public RawService<grpc::reflection::v1alpha::ServerReflection> {
 public:
  // `server` outlives the service.
  explicit ReflectionService(ServerState* server);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ADMIN_REFLECTION_SERVICE_H_
