#include "server/flight/flight_actions.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "server/flight/flight_info.h"
#include "server/flight/flight_ticket.h"

namespace eris::server {
namespace {

namespace protocol = ::arrow::flight::protocol;

constexpr absl::string_view kRenew = "RenewFlightEndpoint";
constexpr absl::string_view kCancel = "CancelFlightInfo";

template <class Message>
absl::StatusOr<Message> BodyOf(const protocol::Action& action) {
  Message message;
  if (message.ParseFromString(action.body())) return message;
  return absl::InvalidArgumentError(
      absl::StrCat("the body of action ", action.type(), " is no ", Message::descriptor()->name()));
}

absl::StatusOr<std::string> Renew(ServerState& server, const protocol::Action& action) {
  ERIS_ASSIGN_OR_RETURN(auto request, BodyOf<protocol::RenewFlightEndpointRequest>(action));
  protocol::FlightEndpoint& endpoint = *request.mutable_endpoint();
  ERIS_ASSIGN_OR_RETURN(const FlightTicket ticket,
                        ReadTicket(server.seal, endpoint.ticket().ticket()));
  endpoint.clear_expiration_time();  // without a snapshot it has none
  if (ticket.scan.snapshot() != 0) {
    ERIS_RETURN_IF_ERROR(OfTicket(server.leases().Renew(ticket.scan.snapshot(), ticket.place)));
    SetExpiration(server, &endpoint);
  }
  return endpoint.SerializeAsString();
}

absl::StatusOr<std::string> Cancel(ServerState& server, const protocol::Action& action) {
  ERIS_ASSIGN_OR_RETURN(const auto request, BodyOf<protocol::CancelFlightInfoRequest>(action));
  if (request.info().endpoint().empty()) {
    return absl::InvalidArgumentError("the info to be cancelled has no endpoint");
  }
  protocol::CancelFlightInfoResult result;
  result.set_status(protocol::CANCEL_STATUS_NOT_CANCELLABLE);
  for (const protocol::FlightEndpoint& endpoint : request.info().endpoint()) {
    ERIS_ASSIGN_OR_RETURN(const FlightTicket ticket,
                          ReadTicket(server.seal, endpoint.ticket().ticket()));
    if (ticket.scan.snapshot() == 0) continue;
    // It may have ended already, for example with an endpoint before this one.
    (void)server.leases().Release(ticket.scan.snapshot());
    result.set_status(protocol::CANCEL_STATUS_CANCELLED);
  }
  return result.SerializeAsString();
}

}  // namespace

absl::Status DoFlightAction(ServerState& server, const protocol::Action& action,
                            std::vector<protocol::Result>* results) {
  if (action.type() != kRenew && action.type() != kCancel) {
    return absl::UnimplementedError(absl::StrCat("action \"", action.type().substr(0, 64),
                                                 "\" is unknown; there are ", kCancel, " and ",
                                                 kRenew));
  }
  ERIS_ASSIGN_OR_RETURN(std::string body,
                        action.type() == kRenew ? Renew(server, action) : Cancel(server, action));
  results->emplace_back().set_body(std::move(body));
  return absl::OkStatus();
}

absl::Status ListFlightActions(ServerState&, const protocol::Empty&,
                               std::vector<protocol::ActionType>* types) {
  const auto add = [types](absl::string_view type, const char* description) {
    protocol::ActionType& one = types->emplace_back();
    one.set_type(std::string(type));
    one.set_description(description);
  };
  add(kCancel,
      "let the snapshot of an info's tickets go: CancelFlightInfoRequest, answered by a "
      "CancelFlightInfoResult");
  add(kRenew,
      "keep the snapshot of an endpoint's ticket longer: RenewFlightEndpointRequest, "
      "answered by the FlightEndpoint");
  return absl::OkStatus();
}

}  // namespace eris::server
