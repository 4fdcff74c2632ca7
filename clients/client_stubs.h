// The inside of a Client: the stubs of its channel. For the sources of this folder, and for the few
// callers that use the protocol directly; all others need not include gRPC's headers. Any thread.
#ifndef ERIS_CLIENTS_CLIENT_STUBS_H_
#define ERIS_CLIENTS_CLIENT_STUBS_H_

#include <grpcpp/client_context.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/eris_client.h"
#include "clients/retries.h"
#include "clients/rpc_status.h"
#include "eris/v1/admin.grpc.pb.h"
#include "eris/v1/catalog.grpc.pb.h"
#include "eris/v1/data.grpc.pb.h"
#include "eris/v1/queries.grpc.pb.h"

namespace eris::client {

struct Client::Stubs {
  std::unique_ptr<v1::Catalog::Stub> catalog;
  std::unique_ptr<v1::Data::Stub> data;
  std::unique_ptr<v1::Queries::Stub> queries;
  std::unique_ptr<v1::Admin::Stub> admin;
};

// Makes one unary call. `take` converts its answer to a Result, or returns a status. Blocks until
// the answer or the client's timeout; an overloaded server is asked again (retries.h). `stub`
// belongs to the client.
template <class Result, class Stub, class Request, class Response, class Take>
absl::StatusOr<Result> Call(const Client& client, const std::unique_ptr<Stub>& stub,
                            grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                         Response*),
                            const Request& request, const Take& take) {
  const absl::Time deadline = absl::Now() + client.options().timeout;
  Response response;
  for (Retries retries(deadline);;) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(deadline));
    const grpc::Status status = ((*stub).*method)(&context, request, &response);
    if (status.ok()) break;
    absl::Status error = ToAbslStatus(status);
    if (!retries.Wait(error)) return error;
    response.Clear();
  }
  return take(response);
}
// A call whose answer has no content.
template <class Stub, class Request, class Response>
absl::Status Call(const Client& client, const std::unique_ptr<Stub>& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request) {
  return Call<bool>(client, stub, method, request, [](const Response&) { return true; }).status();
}

}  // namespace eris::client

#endif  // ERIS_CLIENTS_CLIENT_STUBS_H_
