// One scan as a server stream: fetches a chunk from the engine, writes it, fetches the next. One
// step is under way at a time, so only cancelling races, and that is ScanStop's. A scan of a
// table's rows holds a lease on its snapshot, which outlives a stream that breaks: its tokens name
// it. A scan of an index that goes on takes a new snapshot.
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

// Of the query without its limit: equal for a scan and for what goes on with it.
uint64_t QueryFingerprint(const v1::Query& query);

class ScanCall final : public ArrivingCall<v1::ScanRequest> {
 public:
  // The most that a scan takes of the byte budget from the start, for its messages: as much as a
  // full chunk, and less where the query asks for few rows. A larger chunk takes more.
  static constexpr uint64_t kMessageBytes = 1 << 20;

  // When all has been written some of it may still be on its way: so long the client can come back
  // for it. (A scan of one response ends with it.)
  static constexpr std::chrono::milliseconds kArrivalMax{1000};

  // gRPC owns the result.
  static ScanCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  // What is written is there twice until the client has read it: response_, and gRPC's bytes of it.
  static constexpr uint64_t kCopies = 2;

  ScanCall(ServerState& server, grpc::CallbackServerContext& context)
      : ArrivingCall(server, context, CallWay::kRead, /*whole_call=*/false) {}

  void OnRequest(v1::ScanRequest& request, ByteBudget::Charge charge) override;
  void OnNoRequest(const absl::Status& why) override { Respond(why); }
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  absl::Status Open(const v1::ScanRequest& request, ByteBudget::Charge charge);
  // Snapshot and place, from the request. Errors: InvalidArgument (token, or one of another object
  // or query), NotFound (the token's object is gone), FailedPrecondition (no such snapshot any
  // more).
  absl::Status SetStart(const v1::ScanRequest& request, Query& query);
  absl::Status SetPlace(const v1::ScanRequest& request, Query& query, uint64_t& lease);
  void Fetch();
  void OnChunk(Scan::NextResult chunk);  // the engine's completion thread
  absl::Status Fill(const Chunk& chunk);
  // The first response says what the columns are.
  void FillSchemaOnce();
  void End(const absl::Status& status);

  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the step under way.
  v1::ScanResponse response_;
  ObjectId object_;
  uint64_t fingerprint_ = 0;
  uint64_t rows_left_ = 0;     // 0: no limit
  bool ordered_ = false;       // an index
  bool has_tokens_ = false;    // rows, not aggregates
  bool first_ = true;          // nothing has been written
  bool several_ = false;       // more than one response has been
  bool last_ = false;          // response_ is the last one
  bool new_snapshot_ = false;  // the first response is to say so
  SessionPool::Lease session_;
  SnapshotLeases::Use use_;  // empty: nobody else can ask for the scan's snapshot
  std::unique_ptr<Scan> scan_;
  uint64_t message_bytes_ = 0;  // of charge_: for response_; the rest is for the request
  ByteBudget::Charge charge_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_SCAN_CALL_H_
