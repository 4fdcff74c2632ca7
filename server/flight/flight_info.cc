#include "server/flight/flight_info.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "eris/engine.h"
#include "eris/errors.h"
#include "server/data/batch_request.h"
#include "server/flight/flight_query.h"
#include "server/flight/flight_ticket.h"
#include "server/flight/share_text.h"
#include "wire/arrow_ipc.h"
#include "wire/query.h"

namespace eris::server {
namespace {

struct OpenedFlight {
  Object object{};
  Query query{};
  Schema answer{};  // its columns
  uint32_t shares = 0;
};

absl::StatusOr<OpenedFlight> OpenFlight(Session& session, Permit& permit,
                                        const flight::FlightDescriptor& descriptor) {
  ERIS_ASSIGN_OR_RETURN(const FlightQuery asked, FlightQueryFrom(descriptor));
  ERIS_RETURN_IF_ERROR(permit.CheckObject(asked.object));
  OpenedFlight opened{.shares = asked.shares};
  ERIS_ASSIGN_OR_RETURN(opened.object, OpenObject(session, asked.object));
  ERIS_ASSIGN_OR_RETURN(opened.query, QueryOf(asked, opened.object));
  ERIS_ASSIGN_OR_RETURN(opened.answer, session.AnswerSchema(opened.object, opened.query));
  return opened;
}

void FillCommon(const Schema& schema, flight::FlightInfo* info) {
  info->set_schema(wire::FramedArrow(wire::ArrowSchema(schema)));
  info->set_total_records(-1);
  info->set_total_bytes(-1);
}

void AddLocation(const ServerState& server, flight::FlightEndpoint* endpoint) {
  const std::string& address = server.config.advertise;
  if (!address.empty())
    endpoint->add_location()->set_uri(
        absl::StrCat(server.config.security.has_tls() ? "grpc+tls://" : "grpc+tcp://", address));
}

// Adds endpoints whose tickets differ in their share or range.
class Endpoints {
 public:
  Endpoints(const ServerState& server, const OpenedFlight& opened, uint64_t lease,
            flight::FlightInfo* info)
      : server_(server), opened_(opened), lease_(lease), info_(*info) {}

  // `metadata`: what is known of the share, or nothing.
  absl::Status Add(const KeyRange& range, const std::optional<TableShare>& share,
                   std::string metadata = "") {
    FlightTicket ticket{.object = opened_.object.id(),
                        .place = static_cast<uint32_t>(info_.endpoint_size()),
                        .range = range};
    ticket.scan.set_object(opened_.object.name());
    ticket.scan.set_snapshot(lease_);
    Query query = opened_.query;
    query.range = {};  // the ticket's own
    query.share = share;
    query.snapshot.reset();
    ERIS_RETURN_IF_ERROR(wire::FillQuery(opened_.object.kind(), opened_.object.schema(), query,
                                         ticket.scan.mutable_query()));
    std::string bytes = WriteTicket(server_.seal, ticket);
    bytes_ += bytes.size();
    if (bytes_ > kFlightTicketsBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("the tickets take more than ", kFlightTicketsBytesMax,
                       " bytes; ask for fewer shares, columns or a shorter filter"));
    }
    flight::FlightEndpoint& endpoint = *info_.add_endpoint();
    endpoint.mutable_ticket()->set_ticket(std::move(bytes));
    endpoint.set_app_metadata(std::move(metadata));
    AddLocation(server_, &endpoint);
    if (lease_ != 0) SetExpiration(server_, &endpoint);
    return absl::OkStatus();
  }

 private:
  const ServerState& server_;
  const OpenedFlight& opened_;
  const uint64_t lease_;
  flight::FlightInfo& info_;
  uint64_t bytes_ = 0;
};

// Into how many parts the rows of each AEU are divided so that there are `wanted` parts in all, but
// at least one each: an AEU with more rows has more parts.
std::vector<uint32_t> PartsOf(const std::vector<ObjectShare>& shares, uint32_t wanted) {
  std::vector<uint32_t> parts(shares.size(), 1);
  for (size_t all = shares.size(); all < wanted; ++all) {
    size_t most = 0;
    for (size_t i = 1; i < shares.size(); ++i) {
      if (shares[i].rows / parts[i] > shares[most].rows / parts[most]) most = i;
    }
    ++parts[most];
  }
  return parts;
}

absl::Status AddShares(const OpenedFlight& opened, const std::vector<ObjectShare>& shares,
                       Endpoints& endpoints, flight::FlightInfo* info) {
  const bool ordered = opened.object.kind() == ObjectKind::kIndex;
  if (ordered || shares.empty()) {  // exact
    int64_t rows = 0;
    for (const ObjectShare& share : shares) rows += static_cast<int64_t>(share.rows);
    info->set_total_records(rows);
  }
  if (shares.empty()) return endpoints.Add(opened.query.range, std::nullopt);  // for its schema
  if (ordered) {
    for (const ObjectShare& share : shares) {
      ERIS_RETURN_IF_ERROR(
          endpoints.Add(share.range, std::nullopt, ShareText(opened.object, share, 1)));
    }
    return absl::OkStatus();
  }
  const std::vector<uint32_t> parts = PartsOf(shares, opened.shares);
  for (size_t i = 0; i < shares.size(); ++i) {
    for (uint32_t part = 0; part < parts[i]; ++part) {
      ERIS_RETURN_IF_ERROR(
          endpoints.Add({}, TableShare{.aeu = shares[i].aeu, .index = part, .count = parts[i]},
                        ShareText(opened.object, shares[i], parts[i])));
    }
  }
  return absl::OkStatus();
}

// `use`: of the lease.
absl::Status FillShared(ServerState& server, Session& session, absl::Time deadline,
                        OpenedFlight& opened, const SnapshotLeases::Use& use,
                        flight::FlightInfo* info) {
  Endpoints endpoints(server, opened, use.id(), info);
  if (!HasShares(opened.query)) return endpoints.Add(opened.query.range, std::nullopt);
  opened.query.snapshot = use.snapshot();
  ERIS_ASSIGN_OR_RETURN(const std::vector<ObjectShare> shares,
                        session.Shares(opened.object, opened.query, deadline));
  return AddShares(opened, shares, endpoints, info);
}

}  // namespace

void SetExpiration(const ServerState& server, flight::FlightEndpoint* endpoint) {
  const int64_t ends_ms = absl::ToUnixMillis(absl::Now()) + server.live.flight_snapshot_ms();
  endpoint->mutable_expiration_time()->set_seconds(ends_ms / 1000);
  endpoint->mutable_expiration_time()->set_nanos(static_cast<int32_t>(ends_ms % 1000 * 1'000'000));
}

absl::Status OfTicket(const absl::Status& status) {
  if (status.ok()) return status;
  return WithText(status, absl::StrCat("ticket: ", status.message(), "; call GetFlightInfo again"));
}

absl::Status FillFlightInfo(ServerState& server, const std::string& client, Permit& permit,
                            absl::Time deadline, const flight::FlightDescriptor& descriptor,
                            flight::FlightInfo* info) {
  const SessionPool::Lease session = server.sessions.Borrow();
  ERIS_ASSIGN_OR_RETURN(OpenedFlight opened, OpenFlight(*session, permit, descriptor));
  FillCommon(opened.answer, info);
  *info->mutable_flight_descriptor() = descriptor;
  info->set_ordered(opened.object.kind() == ObjectKind::kIndex);
  if (opened.shares == 0) {
    return Endpoints(server, opened, 0, info).Add(opened.query.range, std::nullopt);
  }
  ERIS_ASSIGN_OR_RETURN(const SnapshotLeases::Use use, TakeTicketLease(server, client));
  const absl::Status filled = FillShared(server, *session, deadline, opened, use, info);
  server.leases().SetTickets(use.id(), static_cast<size_t>(info->endpoint_size()));
  if (!filled.ok()) (void)server.leases().Release(use.id());
  return filled;
}

absl::Status FillSchemaResult(ServerState& server, Permit& permit,
                              const flight::FlightDescriptor& descriptor,
                              flight::SchemaResult* result) {
  const SessionPool::Lease session = server.sessions.Borrow();
  ERIS_ASSIGN_OR_RETURN(const OpenedFlight opened, OpenFlight(*session, permit, descriptor));
  result->set_schema(wire::FramedArrow(wire::ArrowSchema(opened.answer)));
  return absl::OkStatus();
}

void FillListedFlight(const ServerState& server, const ObjectInfo& object,
                      flight::FlightInfo* info) {
  FillCommon(object.schema, info);
  info->mutable_flight_descriptor()->set_type(flight::FlightDescriptor::PATH);
  info->mutable_flight_descriptor()->add_path(object.name);
  info->set_ordered(object.kind == ObjectKind::kIndex);
  FlightTicket ticket{.object = object.id};
  ticket.scan.set_object(object.name);
  flight::FlightEndpoint& endpoint = *info->add_endpoint();
  endpoint.mutable_ticket()->set_ticket(WriteTicket(server.seal, ticket));
  AddLocation(server, &endpoint);
}

}  // namespace eris::server
