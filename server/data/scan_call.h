// One scan as a server stream: fetches a chunk from the engine, writes it, fetches the next. Only
// one step runs at a time, so only cancelling is concurrent, which ScanStop handles. A scan of a
// table's rows holds a lease on its snapshot, which outlives a broken stream: its tokens name it. A
// resumed scan of an index takes a new snapshot.
#ifndef ERIS_SERVER_DATA_SCAN_CALL_H_
#define ERIS_SERVER_DATA_SCAN_CALL_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "eris/engine.h"
#include "eris/v1/data.pb.h"
#include "server/calls/arriving_call.h"
#include "server/guard/byte_budget.h"
#include "server/guard/scan_stop.h"
#include "server/state/server_state.h"

namespace eris::server {

// Fingerprint of the query without its limit: equal for a scan and its continuation.
uint64_t QueryFingerprint(const v1::Query& query);

class ScanCall final : public ArrivingCall<v1::ScanRequest> {
 public:
  // The most of the byte budget that a scan takes for its messages at the start: enough for a full
  // chunk, less if the query wants few rows. A larger chunk takes more.
  static constexpr uint64_t kMessageBytes = 1 << 20;

  // When everything has been written, some of it may still be in transit: the client can resume for
  // this long. (A scan with only one response ends with it.)
  static constexpr std::chrono::milliseconds kArrivalMax{1000};

  // gRPC owns the result.
  static ScanCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  // Written data exists twice until the client has read it: in response_, and in gRPC's bytes.
  static constexpr uint64_t kCopies = 2;

  ScanCall(ServerState& server, grpc::CallbackServerContext& context)
      : ArrivingCall(server, context, CallWay::kRead, /*whole_call=*/false) {}

  void OnRequest(v1::ScanRequest& request, ByteBudget::Charge charge) override;
  void OnNoRequest(const absl::Status& why) override { Respond(why); }
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  absl::Status Open(const v1::ScanRequest& request, ByteBudget::Charge charge);
  // Sets snapshot and position from the request. Errors: InvalidArgument (an invalid token, or one
  // of another object or query), NotFound (the token's object was dropped), FailedPrecondition (the
  // snapshot has ended).
  absl::Status SetStart(const v1::ScanRequest& request, Query& query);
  absl::Status SetPlace(const v1::ScanRequest& request, Query& query, uint64_t& lease);
  void Fetch();
  void OnChunk(Scan::NextResult chunk);  // a completion thread of the engine
  absl::Status Fill(const Chunk& chunk);
  // Puts the schema into the first response.
  void FillSchemaOnce();
  void End(const absl::Status& status);

  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the running step.
  v1::ScanResponse response_;
  ObjectId object_;
  uint64_t fingerprint_ = 0;
  uint64_t rows_left_ = 0;     // 0: no limit
  bool ordered_ = false;       // an index
  bool has_tokens_ = false;    // for rows, not for aggregates
  bool first_ = true;          // no response has been written
  bool several_ = false;       // more than one response has been written
  bool last_ = false;          // response_ is the last one
  bool new_snapshot_ = false;  // the first response must report it
  SessionPool::Lease session_;
  SnapshotLeases::Use use_;  // empty: no other call can use the scan's snapshot
  std::unique_ptr<Scan> scan_;
  uint64_t message_bytes_ = 0;  // part of charge_ for response_; the rest is for the request
  ByteBudget::Charge charge_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_SCAN_CALL_H_
