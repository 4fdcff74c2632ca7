// One ordered scan as a server stream: fetch a chunk from the engine, write it, fetch the next. One
// step is under way at a time, so only cancelling races, and that is ScanStop's.
#ifndef ERIS_SERVER_SCAN_CALL_H_
#define ERIS_SERVER_SCAN_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "eris/engine.h"
#include "eris/v1/data.pb.h"
#include "server/call_cutter.h"
#include "server/scan_stop.h"
#include "server/server_state.h"

namespace eris::server {

class ScanCall final : public grpc::ServerWriteReactor<v1::ScanResponse> {
 public:
  // A message of a scan holds at most this; it is also what a scan takes of the byte budget.
  static constexpr uint64_t kMessageBytesMax = 1 << 20;
  // The same of byte strings: as long as one may be, and what stands beside it.
  static constexpr uint64_t kStringsMessageBytesMax = 2 << 20;

  // gRPC owns the result.
  static ScanCall* Begin(ServerState& server, grpc::CallbackServerContext& context,
                         const v1::ScanRequest& request);

 private:
  ScanCall(ServerState& server, grpc::CallbackServerContext& context)
      : server_(server), context_(context), stall_(context, &server.stalls.queue()) {}

  absl::Status Open(const v1::ScanRequest& request);
  // What a token stands for. Errors: InvalidArgument (token, or a token with other fields, or of
  // another object), NotFound (the object is gone).
  absl::StatusOr<ScanOptions> Resume(const v1::ScanRequest& request);
  void Fetch();
  void OnChunk(absl::StatusOr<std::optional<ScanChunk>> chunk);  // the engine's completion thread
  void Fill(const ScanChunk& chunk);
  void End(const absl::Status& status);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  ServerState& server_;
  const grpc::CallbackServerContext& context_;
  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the step under way.
  ObjectId object_;
  KeyTypes key_type_;
  bool has_bytes_ = false;     // values are byte strings, and wanted
  ScanOptions options_;        // as the scan was opened
  uint64_t rows_left_ = 0;     // 0: no limit
  bool new_snapshot_ = false;  // the first chunk is still to say so
  bool last_ = false;          // response_ is the last chunk
  v1::ScanResponse response_;
  DrainGate::Stay stay_;  // destroyed last: who waits for the drain finds everything given back
  SessionPool::Lease session_;
  std::unique_ptr<Scan> scan_;
  ByteBudget::Charge charge_;
  StallWatch stall_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_SCAN_CALL_H_
