// One scan as a server stream of chunks. A scan of a table's rows holds a lease on its snapshot,
// which outlives a broken stream: its tokens name it. A resumed scan of an index takes a new
// snapshot.
#ifndef ERIS_SERVER_DATA_SCAN_CALL_H_
#define ERIS_SERVER_DATA_SCAN_CALL_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "eris/engine.h"
#include "eris/v1/data.pb.h"
#include "server/calls/chunk_stream.h"
#include "server/calls/scan_rest.h"
#include "server/state/server_state.h"

namespace eris::server {

// Fingerprint of the query without its limit: equal for a scan and its continuation.
uint64_t QueryFingerprint(const v1::Query& query);

class ScanCall final : public ChunkStream<v1::ScanRequest, v1::ScanResponse> {
 public:
  // When everything has been written, some of it may still be in transit: the client can resume for
  // this long. (A scan with only one response ends with it.)
  static constexpr std::chrono::milliseconds kArrivalMax{1000};

  // gRPC owns the result.
  static ScanCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  ScanCall(ServerState& server, grpc::CallbackServerContext& context)
      : ChunkStream(server, context) {}

  absl::Status Open(const v1::ScanRequest& request) override;
  absl::StatusOr<std::unique_ptr<Scan>> Reopen(const std::string& place) override;
  ScanRest::Behind FillRest(const Chunk& chunk, v1::ScanResponse& response) override;
  void OnWrite(bool first, v1::ScanResponse& response) override;
  void OnEnd(const absl::Status& status) override;

  // Sets snapshot and position from the request. Errors: InvalidArgument (an invalid token, or one
  // of another object or query), NotFound (the token's object was dropped), FailedPrecondition (the
  // snapshot has ended).
  absl::Status SetStart(const v1::ScanRequest& request, Query& query);
  absl::Status SetPlace(const v1::ScanRequest& request, Query& query, uint64_t& lease);

  // Owned by the running step.
  Object object_;
  ScanRest rest_;
  uint64_t fingerprint_ = 0;
  bool ordered_ = false;       // an index
  bool has_tokens_ = false;    // for rows, not for aggregates
  bool several_ = false;       // more than one response has been written
  bool new_snapshot_ = false;  // the first response must report it
  SnapshotLeases::Use use_;    // empty: no other call can use the scan's snapshot
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_SCAN_CALL_H_
