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
#include "server/guard/rpc_status.h"

namespace eris::server {
namespace {

namespace protocol = ::arrow::flight::protocol;

absl::Status DoGetFlightInfo(const ControlScope& scope, const protocol::FlightDescriptor& request,
                             protocol::FlightInfo* response) {
  absl::Time deadline = scope.deadline;
  if (const uint64_t most = scope.server.live.call_ms_max(); most > 0) {
    deadline = std::min(deadline, absl::Now() + absl::Milliseconds(most));
  }
  return FillFlightInfo(scope.server, deadline, request, response);
}

absl::Status DoGetSchema(const ControlScope& scope, const protocol::FlightDescriptor& request,
                         protocol::SchemaResult* response) {
  return FillSchemaResult(scope.server, request, response);
}

// A call that ends before it has read anything.
class EndedCall final : public RawReactor {
 public:
  explicit EndedCall(const absl::Status& status) { Finish(ToRpcStatus(status)); }

 private:
  void OnDone() override { delete this; }
};

auto EndWith(absl::Status status) {
  return [status = std::move(status)](grpc::CallbackServerContext&) {
    return new EndedCall(status);  // gRPC owns it
  };
}

}  // namespace

FlightService::FlightService(ServerState* server) {
  Serve("GetFlightInfo", ControlBeginner(*server, DoGetFlightInfo, ControlLane::kFlights));
  Serve("GetSchema", ControlBeginner(*server, DoGetSchema, ControlLane::kFlights));
  Serve("ListFlights", [server](grpc::CallbackServerContext& context) {
    return ListCall::Begin(*server, context);
  });
  Serve("DoGet", [server](grpc::CallbackServerContext& context) {
    return GetCall::Begin(*server, context);
  });
  Serve("ListActions", AnswersBeginner(*server, ListFlightActions));
  Serve("DoAction", AnswersBeginner(*server, DoFlightAction));
  Serve("DoPut", [server](grpc::CallbackServerContext& context) {
    return PutCall::Begin(*server, context);
  });
  Serve("DoExchange", [server](grpc::CallbackServerContext& context) {
    return ExchangeCall::Begin(*server, context);
  });
  Serve("Handshake",
        EndWith(absl::UnimplementedError("the server asks for no name and no password")));
}

}  // namespace eris::server
