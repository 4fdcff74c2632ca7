#include "server/flight/list_call.h"

#include <cstdint>
#include <utility>

#include "eris/engine.h"
#include "server/calls/control_call.h"
#include "server/flight/flight_info.h"

namespace eris::server {
namespace {

uint64_t BytesOf(const ObjectInfo& object) {
  uint64_t bytes = sizeof(ObjectInfo) + object.name.size();
  for (const ColumnSchema& column : object.schema.columns) {
    bytes += sizeof(ColumnSchema) + column.name.size();
  }
  return bytes;
}

}  // namespace

ListCall* ListCall::Begin(ServerState& server, grpc::CallbackServerContext& context) {
  auto* call = new ListCall(server, context);
  call->Arrive(call->stop_);
  return call;
}

void ListCall::OnRequest(arrow::flight::protocol::Criteria& request, ByteBudget::Charge charge) {
  if (!request.expression().empty()) {
    return Respond(absl::InvalidArgumentError("ListFlights has no criteria: it lists all objects"));
  }
  charge_ = std::move(charge);
  if (server_.flights.TryPost(ClientOf(context_), [this] { List(); })) return;
  Respond(TooManyWait(ControlLane::kFlights));
}

void ListCall::List() {
  // It may have waited: see ControlCall::Run.
  if (const absl::Status allowed = permit_.CheckRequest(arrow::flight::protocol::Criteria());
      !allowed.ok()) {
    return Respond(allowed);
  }
  uint64_t bytes = 0;
  for (ObjectInfo& object : server_.engine->List()) {
    if (object.kind == ObjectKind::kHash || !permit_.Sees(object.name)) continue;
    object.partition_starts = {};
    object.partition_owners = {};
    bytes += BytesOf(object);
    objects_.push_back(std::move(object));
  }
  if (!charge_.TryGrow(bytes)) return Respond(OverBudgetStatus(server_.budget, bytes));
  WriteNext();
}

void ListCall::WriteNext() {
  if (const auto reason = stop_->reason()) return Respond(*reason);
  if (written_ == objects_.size()) return Respond(absl::OkStatus());
  arrow::flight::protocol::FlightInfo info;
  FillListedFlight(server_, objects_[written_++], &info);
  Write(info);
}

void ListCall::OnWriteDone(bool ok) {
  EndWrite();
  if (ok) return WriteNext();
  Respond(stop_->reason().value_or(GoneStatus()));
}

}  // namespace eris::server
