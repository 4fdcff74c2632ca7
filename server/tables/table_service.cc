#include "server/tables/table_service.h"

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/calls/control_call.h"
#include "server/calls/stream_call.h"
#include "server/calls/unary_call.h"
#include "server/tables/table_messages.h"
#include "server/tables/table_ops.h"
#include "server/tables/table_scan_call.h"
#include "wire/objects.h"
#include "wire/tables.h"

namespace eris::server {
namespace {

constexpr uint32_t kTimeToLiveMs = 60'000;
constexpr uint32_t kTimeToLiveMsMax = 3'600'000;

absl::Status DoCreateTable(const ControlScope& scope, const v1::CreateTableRequest& request,
                           v1::CreateTableResponse* response) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.name()));
  ERIS_ASSIGN_OR_RETURN(const Schema schema, wire::SchemaFrom(request.schema()));
  ERIS_ASSIGN_OR_RETURN(const TableOptions options, TableOptionsFrom(schema, request));
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info,
                        scope.server.engine->CreateTable(request.name(), schema, options));
  wire::FillObject(info, response->mutable_object());
  return absl::OkStatus();
}

absl::Status DoGetTable(const ControlScope& scope, const v1::GetTableRequest& request,
                        v1::GetTableResponse* response) {
  ServerState& server = scope.server;
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.name()));
  // First the schema, which refuses what is no table.
  ERIS_ASSIGN_OR_RETURN(const std::shared_ptr<const Schema> schema,
                        server.sessions.Borrow()->SchemaOf(request.name()));
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info, server.engine->Describe(request.name()));
  wire::FillObject(info, response->mutable_object());
  wire::FillSchema(*schema, response->mutable_schema());
  return absl::OkStatus();
}

absl::Status DoTakeSnapshot(const ControlScope& scope, const v1::TakeSnapshotRequest& request,
                            v1::TakeSnapshotResponse* response) {
  ServerState& server = scope.server;
  if (request.time_to_live_ms() > kTimeToLiveMsMax) {
    return absl::InvalidArgumentError(absl::StrCat("time_to_live_ms is ", request.time_to_live_ms(),
                                                   ", must be at most ", kTimeToLiveMsMax));
  }
  const uint32_t time_to_live_ms =
      request.time_to_live_ms() == 0 ? kTimeToLiveMs : request.time_to_live_ms();
  // Calls side by side may each be let by: the bound is there to leave slots, not to be exact.
  if (server.leases().taken() >= SnapshotLeases::kTakenMax) {
    return absl::ResourceExhaustedError(absl::StrCat("clients hold ", server.leases().taken(),
                                                     " snapshots; the limit is ",
                                                     SnapshotLeases::kTakenMax, ", release one"));
  }
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot, server.engine->TakeSnapshot());
  response->set_snapshot(
      server.leases().Add(std::move(snapshot), std::chrono::milliseconds(time_to_live_ms)));
  return absl::OkStatus();
}

absl::Status DoReleaseSnapshot(const ControlScope& scope, const v1::ReleaseSnapshotRequest& request,
                               v1::ReleaseSnapshotResponse*) {
  return scope.server.leases().Release(request.snapshot());
}

}  // namespace

TableService::TableService(ServerState* server) {
  Serve("CreateTable", ControlBeginner(*server, DoCreateTable));
  Serve("GetTable", ControlBeginner(*server, DoGetTable));
  Serve("WriteRows", UnaryCall<WriteRowsOp>::Beginner(*server));
  Serve("EraseRows", UnaryCall<EraseRowsOp>::Beginner(*server));
  Serve("LookupRows", UnaryCall<LookupRowsOp>::Beginner(*server));
  Serve("WriteRowsStream", StreamCall<WriteRowsOp>::Beginner(*server));
  Serve("ScanTable", [server](grpc::CallbackServerContext& context) {
    return TableScanCall::Begin(*server, context);
  });
  Serve("ScanInto", UnaryCall<ScanIntoOp>::Beginner(*server));
  Serve("TakeSnapshot", ControlBeginner(*server, DoTakeSnapshot));
  Serve("ReleaseSnapshot", ControlBeginner(*server, DoReleaseSnapshot));
}

}  // namespace eris::server
