#include "server/data/data_service.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "server/calls/control_call.h"
#include "server/calls/stream_call.h"
#include "server/calls/unary_call.h"
#include "server/data/aggregate_op.h"
#include "server/data/lookup_op.h"
#include "server/data/scan_call.h"
#include "server/data/scan_into_op.h"
#include "server/data/write_op.h"

namespace eris::server {
namespace {

constexpr uint32_t kTimeToLiveMs = 60'000;
constexpr uint32_t kTimeToLiveMsMax = 3'600'000;

absl::Status DoTakeSnapshot(const ControlScope& scope, const v1::TakeSnapshotRequest& request,
                            v1::TakeSnapshotResponse* response) {
  ServerState& server = scope.server;
  if (request.time_to_live_ms() > kTimeToLiveMsMax) {
    return Error(ErrorReason::kTimeToLiveInvalid,
                 absl::StrCat("time_to_live_ms is ", request.time_to_live_ms(),
                              ", must be at most ", kTimeToLiveMsMax),
                 {.field = "time_to_live_ms",
                  .value = absl::StrCat(request.time_to_live_ms()),
                  .limit = absl::StrCat(kTimeToLiveMsMax)});
  }
  const uint32_t time_to_live_ms =
      request.time_to_live_ms() == 0 ? kTimeToLiveMs : request.time_to_live_ms();
  ERIS_ASSIGN_OR_RETURN(
      const uint64_t lease,
      TakeLease(server, scope.client, std::chrono::milliseconds(time_to_live_ms)));
  response->set_snapshot(lease);
  return absl::OkStatus();
}

absl::Status DoReleaseSnapshot(const ControlScope& scope, const v1::ReleaseSnapshotRequest& request,
                               v1::ReleaseSnapshotResponse*) {
  return scope.server.leases().Release(request.snapshot());
}

}  // namespace

DataService::DataService(ServerState* server) : RawService(&server->access, &server->watch) {
  const Policy reads_object(Role::kReader, NamedBy({"object"}));
  const Policy writes_object(Role::kWriter, NamedBy({"object"}));
  Serve("Lookup", reads_object, UnaryCall<LookupOp>::Beginner(*server));
  Serve("Write", writes_object, UnaryCall<WriteOp>::Beginner(*server));
  Serve("LookupStream", reads_object, StreamCall<LookupOp>::Beginner(*server));
  Serve("WriteStream", writes_object, StreamCall<WriteOp>::Beginner(*server));
  Serve("Scan", reads_object, [server](grpc::CallbackServerContext& context) {
    return ScanCall::Begin(*server, context);
  });
  Serve("Aggregate", reads_object, UnaryCall<AggregateOp>::Beginner(*server));
  Serve("ScanInto", {Role::kWriter, NamedBy({"table", "target"})},
        UnaryCall<ScanIntoOp>::Beginner(*server));
  // Its number is the right to use a snapshot; it cannot be guessed.
  Serve("TakeSnapshot", {Role::kReader, NoObject()}, ControlBeginner(*server, DoTakeSnapshot));
  Serve("ReleaseSnapshot", {Role::kReader, NoObject()},
        ControlBeginner(*server, DoReleaseSnapshot));
}

}  // namespace eris::server
