// What a Client is inside: the stubs of its channel. For the sources of this folder, and for those
// few callers that speak the protocol themselves; everybody else is spared gRPC's headers. Any
// thread.
#ifndef ERIS_CLIENTS_CLIENT_STUBS_H_
#define ERIS_CLIENTS_CLIENT_STUBS_H_

#include <grpcpp/client_context.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/eris_client.h"
#include "clients/rpc_status.h"
#include "eris/v1/admin.grpc.pb.h"
#include "eris/v1/catalog.grpc.pb.h"
#include "eris/v1/data.grpc.pb.h"
#include "eris/v1/table.grpc.pb.h"

namespace eris::client {

struct Client::Stubs {
  std::unique_ptr<v1::Catalog::Stub> catalog;
  std::unique_ptr<v1::Data::Stub> data;
  std::unique_ptr<v1::Tables::Stub> tables;
  std::unique_ptr<v1::Admin::Stub> admin;

  // One unary call; blocks until the answer or the end of the timeout.
  template <class Stub, class Request, class Response>
  static absl::Status Call(Stub& stub,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           absl::Duration timeout, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
    return ToAbslStatus((stub.*method)(&context, request, &response));
  }
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_CLIENT_STUBS_H_
