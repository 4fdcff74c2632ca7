// One scan of a table as a server stream: fetch a chunk from the engine, write it, fetch the next.
// One step is under way at a time, so only cancelling races, and that is ScanStop's. A scan of rows
// holds a lease on its snapshot, which outlives a stream that breaks: its tokens name it.
#ifndef ERIS_SERVER_TABLE_SCAN_CALL_H_
#define ERIS_SERVER_TABLE_SCAN_CALL_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "eris/engine.h"
#include "eris/v1/table.pb.h"
#include "server/call_cutter.h"
#include "server/scan_stop.h"
#include "server/server_state.h"

namespace eris::server {

class TableScanCall final : public grpc::ServerWriteReactor<v1::ScanTableResponse> {
 public:
  // What a scan takes of the byte budget from the start; a larger chunk takes more.
  static constexpr uint64_t kMessageBytes = 1 << 20;

  // When all has been written some of it may still be on its way: so long the client can come back
  // for it. (A scan of one response ends with it.)
  static constexpr std::chrono::milliseconds kArrivalMax{1000};

  // gRPC owns the result.
  static TableScanCall* Begin(ServerState& server, grpc::CallbackServerContext& context,
                              const v1::ScanTableRequest& request);

 private:
  TableScanCall(ServerState& server, grpc::CallbackServerContext& context)
      : server_(server), context_(context), stall_(context, &server.stalls.queue()) {}

  absl::Status Open(const v1::ScanTableRequest& request);
  // Snapshot and place, from the request. Errors: InvalidArgument (token), FailedPrecondition (no
  // such snapshot any more).
  absl::Status SetStart(const v1::ScanTableRequest& request, TableQuery& query);
  void Fetch();
  void OnChunk(TableScan::NextResult chunk);  // the engine's completion thread
  absl::Status Fill(const TableChunk& chunk);
  // The first response says what the columns are.
  void FillSchemaOnce();
  void Write();
  void End(const absl::Status& status);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  ServerState& server_;
  const grpc::CallbackServerContext& context_;
  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the step under way.
  uint64_t fingerprint_ = 0;
  bool first_ = true;        // nothing has been written yet
  bool several_ = false;     // more than one response has been
  bool last_ = false;        // response_ is the last one
  bool has_tokens_ = false;  // rows, not aggregates
  v1::ScanTableResponse response_;
  DrainGate::Stay stay_;  // destroyed last: who waits for the drain finds everything given back
  SessionPool::Lease session_;
  SnapshotLeases::Use use_;  // empty: a scan whose snapshot nobody else can ask for
  std::unique_ptr<TableScan> scan_;
  ByteBudget::Charge charge_;
  StallWatch stall_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_TABLE_SCAN_CALL_H_
