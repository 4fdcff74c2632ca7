// What a Client is inside: the stubs of its channel. For the sources of this folder, and for those
// few callers that speak the protocol themselves; everybody else is spared gRPC's headers. Any
// thread.
#ifndef ERIS_CLIENTS_CLIENT_STUBS_H_
#define ERIS_CLIENTS_CLIENT_STUBS_H_

#include <grpcpp/client_context.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/eris_client.h"
#include "clients/rpc_status.h"
#include "eris/v1/admin.grpc.pb.h"
#include "eris/v1/catalog.grpc.pb.h"
#include "eris/v1/data.grpc.pb.h"

namespace eris::client {

struct Client::Stubs {
  std::unique_ptr<v1::Catalog::Stub> catalog;
  std::unique_ptr<v1::Data::Stub> data;
  std::unique_ptr<v1::Admin::Stub> admin;
};

// One unary call, and what `take` makes of its answer: a Result, or a status and perhaps one.
// Blocks until the answer or the end of the client's timeout. `stub` is of the client.
template <class Result, class Stub, class Request, class Response, class Take>
absl::StatusOr<Result> Call(const Client& client, const std::unique_ptr<Stub>& stub,
                            grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                         Response*),
                            const Request& request, const Take& take) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + client.options().timeout));
  Response response;
  const grpc::Status status = ((*stub).*method)(&context, request, &response);
  if (!status.ok()) return ToAbslStatus(status);
  return take(response);
}
// A call whose answer says nothing more.
template <class Stub, class Request, class Response>
absl::Status Call(const Client& client, const std::unique_ptr<Stub>& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request) {
  return Call<bool>(client, stub, method, request, [](const Response&) { return true; }).status();
}

}  // namespace eris::client

#endif  // ERIS_CLIENTS_CLIENT_STUBS_H_
