#include "server/flight/get_call.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "server/data/batch_request.h"
#include "server/flight/flight_data.h"
#include "server/flight/flight_info.h"
#include "server/flight/flight_ticket.h"
#include "wire/arrow_ipc.h"
#include "wire/query.h"

namespace eris::server {

GetCall* GetCall::Begin(ServerState& server, grpc::CallbackServerContext& context) {
  auto* call = new GetCall(server, context);
  call->ScanStream::Begin();
  return call;
}

absl::Status GetCall::Open(const arrow::flight::protocol::Ticket& request) {
  ERIS_ASSIGN_OR_RETURN(const FlightTicket ticket, ReadTicket(server_.seal, request.ticket()));
  ERIS_RETURN_IF_ERROR(permit_.CheckObject(ticket.scan.object()));
  ERIS_ASSIGN_OR_RETURN(object_, OpenObject(*session_, ticket.scan.object()));
  if (object_.id() != ticket.object) {
    return Error(ErrorReason::kObjectDropped,
                 absl::StrCat("the object of the ticket has been dropped; another one is called ",
                              object_.name()));
  }
  ERIS_ASSIGN_OR_RETURN(Query query,
                        wire::QueryFrom(object_.kind(), object_.schema(), ticket.scan.query()));
  query.range = ticket.range;
  if (ticket.scan.snapshot() != 0) {
    absl::StatusOr<SnapshotLeases::Use> use = server_.leases().Find(ticket.scan.snapshot());
    ERIS_RETURN_IF_ERROR(OfTicket(use.status()));
    use_ = *std::move(use);
    place_ = ticket.place;
    query.snapshot = use_.snapshot();
  }
  ERIS_ASSIGN_OR_RETURN(std::unique_ptr<Scan> scan, session_->OpenScan(object_, query));
  query.snapshot = scan->snapshot();
  const uint64_t rows_max = query.limit;
  rest_ = ScanRest(object_.kind(), std::move(query));
  return Attach(std::move(scan), rows_max);
}

absl::StatusOr<std::unique_ptr<Scan>> GetCall::Reopen(const std::string& place) {
  return session_->OpenScan(object_, rest_.At(place));
}

void GetCall::OnOpen() {
  absl::StatusOr<grpc::ByteBuffer> message = FlightDataOf(wire::ArrowSchema(scan_->schema()));
  if (!message.ok()) return End(message.status());
  Park(std::string());  // from the beginning: nothing has been taken of it
  Write(*std::move(message));
}

void GetCall::OnEnd(const absl::Status& status) {
  if (status.ok() && use_) server_.leases().MarkRead(use_.id(), place_);
}

void GetCall::OnNext(std::shared_ptr<const Chunk> chunk) {
  if (chunk == nullptr) return End(absl::OkStatus());
  const wire::ArrowBatch batch(*chunk);
  const uint64_t bytes = batch.header().size() + batch.body_bytes();
  if (absl::Status status = ChargeMessage(bytes); !status.ok()) return End(status);
  absl::StatusOr<grpc::ByteBuffer> message = FlightDataOf(batch);
  if (!message.ok()) return End(message.status());
  ScanRest::Behind behind = rest_.Take(*chunk);
  chunk.reset();
  if (behind.last) {
    Close();
  } else {
    Park(std::move(behind.place));
  }
  Write(*std::move(message));
}

}  // namespace eris::server
