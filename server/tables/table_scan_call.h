// One scan of a table as a server stream. A scan of rows holds a lease on its snapshot, which
// outlives a stream that breaks: its tokens name it.
#ifndef ERIS_SERVER_TABLES_TABLE_SCAN_CALL_H_
#define ERIS_SERVER_TABLES_TABLE_SCAN_CALL_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "eris/engine.h"
#include "eris/v1/table.pb.h"
#include "server/calls/scan_stream.h"
#include "server/state/server_state.h"

namespace eris::server {

class TableScanCall final : public ScanStream<v1::ScanTableRequest, v1::ScanTableResponse> {
 public:
  // The most that a scan takes of the byte budget from the start, for its messages: as much as a
  // full chunk, and less where the query asks for few rows. A larger chunk takes more.
  static constexpr uint64_t kMessageBytes = 1 << 20;

  // When all has been written some of it may still be on its way: so long the client can come back
  // for it. (A scan of one response ends with it.)
  static constexpr std::chrono::milliseconds kArrivalMax{1000};

  // gRPC owns the result.
  static TableScanCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  using ScanStream::ScanStream;

  absl::Status Open(const v1::ScanTableRequest& request, ByteBudget::Charge charge) override;
  // Snapshot and place, from the request. Errors: InvalidArgument (token), FailedPrecondition (no
  // such snapshot any more).
  absl::Status SetStart(const v1::ScanTableRequest& request, Query& query);
  void FetchNext() override;
  void OnChunk(TableScan::NextResult chunk);  // the engine's completion thread
  absl::Status Fill(const Chunk& chunk);
  // The first response says what the columns are.
  void FillSchemaOnce();
  void End(const absl::Status& status) override;

  // Owned by the step under way.
  uint64_t fingerprint_ = 0;
  bool first_ = true;        // nothing has been written yet
  bool several_ = false;     // more than one response has been
  bool has_tokens_ = false;  // rows, not aggregates
  SessionPool::Lease session_;
  SnapshotLeases::Use use_;  // empty: a scan whose snapshot nobody else can ask for
  std::unique_ptr<TableScan> scan_;
  uint64_t message_bytes_ = 0;  // of charge_: for response_; the rest is for the request
};

}  // namespace eris::server

#endif  // ERIS_SERVER_TABLES_TABLE_SCAN_CALL_H_
