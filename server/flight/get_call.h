// DoGet: the rows of one ticket as a stream, first the schema, then a batch for each chunk. Begins
// on a gRPC thread; then gRPC owns the call.
#ifndef ERIS_SERVER_FLIGHT_GET_CALL_H_
#define ERIS_SERVER_FLIGHT_GET_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "arrow/flight.pb.h"
#include "eris/engine.h"
#include "server/calls/scan_rest.h"
#include "server/calls/scan_stream.h"
#include "server/guard/snapshot_leases.h"
#include "server/state/server_state.h"

namespace eris::server {

class GetCall final : public ScanStream<arrow::flight::protocol::Ticket> {
 public:
  // gRPC owns the result.
  static GetCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  GetCall(ServerState& server, grpc::CallbackServerContext& context)
      : ScanStream(server, context) {}

  absl::Status Open(const arrow::flight::protocol::Ticket& request) override;
  absl::StatusOr<std::unique_ptr<Scan>> Reopen(const std::string& place) override;
  void OnOpen() override;
  void OnNext(std::shared_ptr<const Chunk> chunk) override;
  void OnEnd(const absl::Status& status) override;

  // Owned by the running step.
  Object object_;
  ScanRest rest_;
  SnapshotLeases::Use use_;  // empty: the scan has its own snapshot
  uint32_t place_ = 0;       // of the ticket among those of the snapshot
};

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_GET_CALL_H_
