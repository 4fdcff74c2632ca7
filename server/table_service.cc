#include "server/table_service.h"

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/control_call.h"
#include "server/messages.h"
#include "server/stream_call.h"
#include "server/table_messages.h"
#include "server/table_ops.h"
#include "server/table_scan_call.h"
#include "server/unary_call.h"

namespace eris::server {
namespace {

constexpr uint32_t kTimeToLiveMs = 60'000;
constexpr uint32_t kTimeToLiveMsMax = 3'600'000;

absl::Status Create(Engine& engine, const v1::CreateTableRequest& request,
                    v1::CreateTableResponse* response) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.name()));
  ERIS_ASSIGN_OR_RETURN(const TableSchema schema, SchemaFrom(request.schema()));
  ERIS_ASSIGN_OR_RETURN(const TableOptions options, TableOptionsFrom(schema, request));
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info, engine.CreateTable(request.name(), schema, options));
  FillObject(info, response->mutable_object());
  return absl::OkStatus();
}

absl::Status Get(ServerState& server, const v1::GetTableRequest& request,
                 v1::GetTableResponse* response) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.name()));
  // First the schema, which refuses what is no table.
  ERIS_ASSIGN_OR_RETURN(const std::shared_ptr<const TableSchema> schema,
                        server.sessions.Borrow()->SchemaOf(request.name()));
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info, server.engine->Describe(request.name()));
  FillObject(info, response->mutable_object());
  FillSchema(*schema, response->mutable_schema());
  return absl::OkStatus();
}

absl::Status Take(ServerState& server, const v1::TakeSnapshotRequest& request,
                  v1::TakeSnapshotResponse* response) {
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

}  // namespace

TableService::TableService(ServerState* server) : server_(*server) {
  Serve("WriteRows", UnaryCall<WriteRowsOp>::Beginner(server_));
  Serve("EraseRows", UnaryCall<EraseRowsOp>::Beginner(server_));
  Serve("LookupRows", UnaryCall<LookupRowsOp>::Beginner(server_));
  Serve("ScanInto", UnaryCall<ScanIntoOp>::Beginner(server_));
  Serve("WriteRowsStream", StreamCall<WriteRowsOp>::Beginner(server_));
}

grpc::ServerUnaryReactor* TableService::CreateTable(grpc::CallbackServerContext* context,
                                                    const v1::CreateTableRequest* request,
                                                    v1::CreateTableResponse* response) {
  return ControlCall::Begin(
      server_, *context, *request,
      [engine = server_.engine, request, response] { return Create(*engine, *request, response); });
}

grpc::ServerUnaryReactor* TableService::GetTable(grpc::CallbackServerContext* context,
                                                 const v1::GetTableRequest* request,
                                                 v1::GetTableResponse* response) {
  return ControlCall::Begin(server_, *context, *request,
                            [this, request, response] { return Get(server_, *request, response); });
}

grpc::ServerWriteReactor<v1::ScanTableResponse>* TableService::ScanTable(
    grpc::CallbackServerContext* context, const v1::ScanTableRequest* request) {
  return TableScanCall::Begin(server_, *context, *request);
}

grpc::ServerUnaryReactor* TableService::TakeSnapshot(grpc::CallbackServerContext* context,
                                                     const v1::TakeSnapshotRequest* request,
                                                     v1::TakeSnapshotResponse* response) {
  return ControlCall::Begin(server_, *context, *request, [this, request, response] {
    return Take(server_, *request, response);
  });
}

grpc::ServerUnaryReactor* TableService::ReleaseSnapshot(grpc::CallbackServerContext* context,
                                                        const v1::ReleaseSnapshotRequest* request,
                                                        v1::ReleaseSnapshotResponse*) {
  return ControlCall::Begin(server_, *context, *request, [this, request] {
    return server_.leases().Release(request->snapshot());
  });
}

}  // namespace eris::server
