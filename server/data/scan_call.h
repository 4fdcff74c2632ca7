// One ordered scan as a server stream.
#ifndef ERIS_SERVER_DATA_SCAN_CALL_H_
#define ERIS_SERVER_DATA_SCAN_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "eris/engine.h"
#include "eris/v1/data.pb.h"
#include "server/calls/scan_stream.h"
#include "server/state/server_state.h"

namespace eris::server {

class ScanCall final : public ScanStream<v1::ScanRequest, v1::ScanResponse> {
 public:
  // A message of a scan holds at most this; it is also what a scan takes of the byte budget.
  static constexpr uint64_t kMessageBytesMax = 1 << 20;
  // The same of byte strings: as long as one may be, and what stands beside it.
  static constexpr uint64_t kStringsMessageBytesMax = 2 << 20;

  // gRPC owns the result.
  static ScanCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  using ScanStream::ScanStream;

  absl::Status Open(const v1::ScanRequest& request, ByteBudget::Charge charge) override;
  // What a token stands for. Errors: InvalidArgument (token, or a token with other fields, or of
  // another object), NotFound (the object is gone).
  absl::StatusOr<ScanOptions> Resume(const v1::ScanRequest& request);
  void FetchNext() override;
  void OnChunk(absl::StatusOr<std::optional<ScanChunk>> chunk);  // the engine's completion thread
  void Fill(const ScanChunk& chunk);

  // Owned by the step under way.
  ObjectId object_;
  KeyTypes key_type_;
  bool has_bytes_ = false;     // values are byte strings, and wanted
  ScanOptions options_;        // as the scan was opened
  uint64_t rows_left_ = 0;     // 0: no limit
  bool new_snapshot_ = false;  // the first chunk is still to say so
  SessionPool::Lease session_;
  std::unique_ptr<Scan> scan_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_SCAN_CALL_H_
