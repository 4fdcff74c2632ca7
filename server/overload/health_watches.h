// Bounds the calls of grpc.health.v1.Health/Watch, which stay open until the client ends them. gRPC
// serves health itself, so no call of ours counts them: an interceptor takes a share for each Watch
// (client_shares.h), or ends it with RESOURCE_EXHAUSTED. Other methods get no interceptor. Any
// thread; never blocks.
#ifndef ERIS_SERVER_OVERLOAD_HEALTH_WATCHES_H_
#define ERIS_SERVER_OVERLOAD_HEALTH_WATCHES_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include "server/overload/client_shares.h"

namespace eris::server {

class HealthWatches final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // `shares` outlives the server that has this.
  explicit HealthWatches(ClientShares* shares) : shares_(*shares) {}

  // nullptr: it is no Watch. Otherwise gRPC owns the result, until the call has ended.
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  ClientShares& shares_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_OVERLOAD_HEALTH_WATCHES_H_
