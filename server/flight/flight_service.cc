#include "server/flight/flight_service.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "arrow/flight.pb.h"
#include "server/calls/answers_call.h"
#include "server/calls/control_call.h"
#include "server/flight/exchange_call.h"
#include "server/flight/flight_actions.h"
#include "server/flight/flight_info.h"
#include "server/flight/get_call.h"
#include "server/flight/list_call.h"
#include "server/flight/put_call.h"

namespace eris::server {
namespace {

namespace protocol = ::arrow::flight::protocol;

absl::Status DoGetFlightInfo(const ControlScope& scope, const protocol::FlightDescriptor& request,
                             protocol::FlightInfo* response) {
  absl::Time deadline = scope.deadline;
  if (const uint64_t most = scope.server.live.call_ms_max(); most > 0) {
    deadline = std::min(deadline, absl::Now() + absl::Milliseconds(most));
  }
  return FillFlightInfo(scope.server, scope.client, scope.permit, deadline, request, response);
}

absl::Status DoGetSchema(const ControlScope& scope, const protocol::FlightDescriptor& request,
                         protocol::SchemaResult* response) {
  return FillSchemaResult(scope.server, scope.permit, request, response);
}

auto EndWith(absl::Status status) {
  return [status = std::move(status)](grpc::CallbackServerContext&) {
    return new EndedCall(status);  // gRPC owns it
  };
}

}  // namespace

FlightService::FlightService(ServerState* server) : RawService(&server->access, &server->watch) {
  // Objects are named by descriptors and tickets.
  const Policy reads(Role::kReader, NamedInside());
  Serve("GetFlightInfo", reads, ControlBeginner(*server, DoGetFlightInfo, ControlLane::kFlights));
  Serve("GetSchema", reads, ControlBeginner(*server, DoGetSchema, ControlLane::kFlights));
  // It lists only what the caller may read.
  Serve("ListFlights", {Role::kReader, NoObject()}, [server](grpc::CallbackServerContext& context) {
    return ListCall::Begin(*server, context);
  });
  Serve("DoGet", reads, [server](grpc::CallbackServerContext& context) {
    return GetCall::Begin(*server, context);
  });
  Serve("ListActions", {Role::kReader, NoObject()}, AnswersBeginner(*server, ListFlightActions));
  Serve("DoAction", reads, AnswersBeginner(*server, DoFlightAction));
  Serve("DoPut", {Role::kWriter, NamedInside()}, [server](grpc::CallbackServerContext& context) {
    return PutCall::Begin(*server, context);
  });
  Serve("DoExchange", reads, [server](grpc::CallbackServerContext& context) {
    return ExchangeCall::Begin(*server, context);
  });
  Serve("Handshake", {Role::kReader, NoObject()},
        EndWith(absl::UnimplementedError("the server asks for no name and no password")));
}

}  // namespace eris::server
