#include "server/flight/flight_ticket.h"

#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace eris::server {
namespace {

constexpr TokenSeal::Kind kTicket{
    .name = "ticket", .form = 128, .older_forms = "", .again = "call GetFlightInfo again"};

// The fixed part of the content.
struct __attribute__((packed)) TicketHead {
  uint32_t object;
  uint32_t place;
  uint8_t has_hi;
  uint64_t lo;
  uint64_t hi;
  uint64_t lo_second;
  uint64_t hi_second;
};
constexpr size_t kBytesMin = TokenSeal::kHeadBytes + sizeof(TicketHead) + TokenSeal::kChecksumBytes;

}  // namespace

std::string WriteTicket(const TokenSeal& seal, const FlightTicket& ticket) {
  const TicketHead head{.object = ticket.object.value,
                        .place = ticket.place,
                        .has_hi = ticket.range.hi.has_value(),
                        .lo = ticket.range.lo,
                        .hi = ticket.range.hi.value_or(0),
                        .lo_second = ticket.range.lo_second,
                        .hi_second = ticket.range.hi_second};
  std::string content(reinterpret_cast<const char*>(&head), sizeof(head));
  ticket.scan.AppendToString(&content);
  return seal.Seal(kTicket, content);
}

absl::StatusOr<FlightTicket> ReadTicket(const TokenSeal& seal, absl::string_view bytes) {
  if (bytes.size() < kBytesMin) {
    return absl::InvalidArgumentError(
        absl::StrCat("ticket: ", bytes.size(), " bytes, must be at least ", kBytesMin));
  }
  ERIS_ASSIGN_OR_RETURN(absl::string_view content, seal.Open(kTicket, bytes));
  TicketHead head;
  std::memcpy(&head, content.data(), sizeof(head));
  content.remove_prefix(sizeof(head));
  FlightTicket ticket;
  ticket.object.value = head.object;
  ticket.place = head.place;
  ticket.range = {.lo = head.lo, .lo_second = head.lo_second, .hi_second = head.hi_second};
  if (head.has_hi != 0) ticket.range.hi = uint64_t{head.hi};
  // Only this process has made it, so it is whole.
  if (!ticket.scan.ParseFromArray(content.data(), static_cast<int>(content.size()))) {
    return absl::InvalidArgumentError("ticket: damaged, it has no request");
  }
#ifdef ERIS_PLANTED_TICKET_WITHOUT_SNAPSHOT
  ticket.scan.clear_snapshot();
#endif
  return ticket;
}

}  // namespace eris::server
