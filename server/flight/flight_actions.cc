#include "server/flight/flight_actions.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "server/flight/flight_info.h"
#include "server/flight/flight_query.h"
#include "server/flight/flight_ticket.h"
#include "server/guard/raw_message.h"

namespace eris::server {
namespace {

namespace protocol = ::arrow::flight::protocol;

constexpr absl::string_view kRenew = "RenewFlightEndpoint";
constexpr absl::string_view kCancel = "CancelFlightInfo";

// The body of an action: an info of kFlightTicketsBytesMax bytes of tickets fits.
constexpr size_t kBodyBytesMax = 2 * kFlightTicketsBytesMax;

// Those of an info: one for each share, and one more for each AEU where a share ends.
constexpr int kEndpointsMax = 2 * int{kFlightSharesMax};

// The message in the body. The call's budget has paid for the body as bytes, and `charge` pays for
// the message: its small parts may take many times their bytes. It is kept as long as the message.
template <class Message>
absl::StatusOr<Message> BodyOf(ServerState& server, const protocol::Action& action,
                               ByteBudget::Charge& charge) {
  Message message;
  const std::string& body = action.body();
  if (body.size() > kBodyBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the body of action ", action.type(), " has ",
                                                   body.size(), " bytes, must have at most ",
                                                   kBodyBytesMax));
  }
  const grpc::Slice slice(body);
  const uint64_t bytes =
      ParsedBytesMax(*Message::descriptor(), grpc::ByteBuffer(&slice, 1)) + body.size();
  charge = TakeBudget(server, /*is_write=*/false, bytes);
  if (!charge) return OverBudgetStatus(server.budget, bytes);
  if (message.ParseFromString(action.body())) return message;
  return absl::InvalidArgumentError(
      absl::StrCat("the body of action ", action.type(), " is no ", Message::descriptor()->name()));
}

absl::StatusOr<std::string> Renew(ServerState& server, Permit& permit,
                                  const protocol::Action& action) {
  ByteBudget::Charge charge;
  ERIS_ASSIGN_OR_RETURN(auto request,
                        BodyOf<protocol::RenewFlightEndpointRequest>(server, action, charge));
  protocol::FlightEndpoint& endpoint = *request.mutable_endpoint();
  ERIS_ASSIGN_OR_RETURN(const FlightTicket ticket,
                        ReadTicket(server.seal, endpoint.ticket().ticket()));
  ERIS_RETURN_IF_ERROR(permit.CheckObject(ticket.scan.object()));
  endpoint.clear_expiration_time();  // without a snapshot it has none
  if (ticket.scan.snapshot() != 0) {
    ERIS_RETURN_IF_ERROR(OfTicket(server.leases().Renew(ticket.scan.snapshot(), ticket.place)));
    SetExpiration(server, &endpoint);
  }
  return endpoint.SerializeAsString();
}

absl::StatusOr<std::string> Cancel(ServerState& server, Permit& permit,
                                   const protocol::Action& action) {
  ByteBudget::Charge charge;
  ERIS_ASSIGN_OR_RETURN(const auto request,
                        BodyOf<protocol::CancelFlightInfoRequest>(server, action, charge));
  const int endpoints = request.info().endpoint_size();
  if (endpoints == 0) {
    return absl::InvalidArgumentError("the info to be cancelled has no endpoint");
  }
  if (endpoints > kEndpointsMax) {
    return absl::InvalidArgumentError(absl::StrCat("the info to be cancelled has ", endpoints,
                                                   " endpoints, must have at most ",
                                                   kEndpointsMax));
  }
  std::set<uint64_t> snapshots;  // of all endpoints: one that is refused changes nothing
  for (const protocol::FlightEndpoint& endpoint : request.info().endpoint()) {
    ERIS_ASSIGN_OR_RETURN(const FlightTicket ticket,
                          ReadTicket(server.seal, endpoint.ticket().ticket()));
    ERIS_RETURN_IF_ERROR(permit.CheckObject(ticket.scan.object()));
    if (ticket.scan.snapshot() != 0) snapshots.insert(ticket.scan.snapshot());
  }
  protocol::CancelFlightInfoResult result;
  result.set_status(snapshots.empty() ? protocol::CANCEL_STATUS_NOT_CANCELLABLE
                                      : protocol::CANCEL_STATUS_CANCELLED);
  // They may have ended already.
  for (const uint64_t snapshot : snapshots) (void)server.leases().Release(snapshot);
  return result.SerializeAsString();
}

}  // namespace

absl::Status DoFlightAction(ServerState& server, Permit& permit, const protocol::Action& action,
                            std::vector<protocol::Result>* results) {
  if (action.type() != kRenew && action.type() != kCancel) {
    return absl::UnimplementedError(absl::StrCat("action \"", action.type().substr(0, 64),
                                                 "\" is unknown; there are ", kCancel, " and ",
                                                 kRenew));
  }
  ERIS_ASSIGN_OR_RETURN(std::string body, action.type() == kRenew ? Renew(server, permit, action)
                                                                  : Cancel(server, permit, action));
  results->emplace_back().set_body(std::move(body));
  return absl::OkStatus();
}

absl::Status ListFlightActions(ServerState&, Permit&, const protocol::Empty&,
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
