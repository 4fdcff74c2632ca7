// Many batches in flight over one stream: LookupStream, UpsertStream and WriteStream. The requests
// are answered in the order they were sent.
//
//   UpsertStream stream(*client, {.in_flight_max = 8},
//                       [&](uint64_t index, absl::Status status, RowBits existed) { ... });
//   for (...) stream.Send("orders", keys, values);   // blocks while 8 are unanswered
//   absl::Status status = stream.Finish();
//
// Threads: one sending thread; `on_answer` runs on the stream's own reader thread. Both sides move
// at once, so that neither end can wait for the other with full buffers.
#ifndef ERIS_CLIENTS_BATCH_STREAM_H_
#define ERIS_CLIENTS_BATCH_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "clients/columns.h"
#include "clients/eris_client.h"
#include "eris/v1/data.grpc.pb.h"

namespace eris::client {

struct StreamOptions {
  uint32_t in_flight_max = 8;
  // Longest wait without any answer; the stream is then cancelled.
  absl::Duration stall_timeout = absl::Seconds(30);
};

namespace internal {

// The part that they share. Request and Response are the stream's messages.
template <class Request, class Response>
class BatchStream {
 public:
  using Stream = grpc::ClientReaderWriter<Request, Response>;
  // Runs exactly once for each Send that returned OK, in order: with the answer, or with null and
  // the status the stream ended with.
  using OnAnswer =
      std::function<void(uint64_t index, size_t keys, absl::Status status, Response* response)>;

  BatchStream(std::unique_ptr<grpc::ClientContext> context, std::unique_ptr<Stream> stream,
              const StreamOptions& options, OnAnswer on_answer);
  // Cancels what is unanswered.
  ~BatchStream();

  absl::Status AwaitRoom();
  absl::Status Send(const Request& request, size_t keys);
  absl::Status Finish();

 private:
  void ReadAnswers();
  // False after the stall timeout.
  bool AwaitInFlightBelow(size_t limit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Immutable after construction.
  const StreamOptions options_;
  const OnAnswer on_answer_;
  const std::unique_ptr<grpc::ClientContext> context_;
  const std::unique_ptr<Stream> stream_;

  // Owned by the sending thread.
  bool finished_ = false;

  // Guarded by mu_.
  absl::Mutex mu_;
  std::deque<size_t> unanswered_keys_ ABSL_GUARDED_BY(mu_);  // key counts, oldest first
  uint64_t answered_ ABSL_GUARDED_BY(mu_) = 0;
  bool stalled_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_status_ ABSL_GUARDED_BY(mu_);  // when ended_

  std::thread reader_;
};

}  // namespace internal

class LookupStream {
 public:
  using OnAnswer = std::function<void(uint64_t index, absl::Status status, LookupResult result)>;
  // `client` must outlive the stream.
  LookupStream(Client& client, const StreamOptions& options, OnAnswer on_answer);

  // Sends one batch; blocks while in_flight_max are unanswered. Requests are numbered from 0.
  // Errors: InvalidArgument (keys that are none of `key_type`: nothing was sent, the stream goes
  // on); those of the stream itself (Unavailable, DeadlineExceeded after the stall timeout); the
  // batch's own come to on_answer, and the stream goes on.
  absl::Status Send(const std::string& object, const KeyColumns& keys,
                    const KeyTypes& key_type = {});
  // Blocks until Send would not. Errors: as Send.
  absl::Status AwaitRoom() { return stream_.AwaitRoom(); }
  // Waits for every answer and ends the stream. OK also when single batches failed.
  absl::Status Finish() { return stream_.Finish(); }

 private:
  v1::LookupRequest request_;
  internal::BatchStream<v1::LookupRequest, v1::LookupStreamResponse> stream_;
};

class UpsertStream {
 public:
  using OnAnswer = std::function<void(uint64_t index, absl::Status status, RowBits existed)>;
  UpsertStream(Client& client, const StreamOptions& options, OnAnswer on_answer);

  // As LookupStream::Send. Of a key that stands in two batches under way at once either may win.
  absl::Status Send(const std::string& object, const KeyColumns& keys,
                    absl::Span<const uint64_t> values, const KeyTypes& key_type = {});
  absl::Status AwaitRoom() { return stream_.AwaitRoom(); }
  absl::Status Finish() { return stream_.Finish(); }

 private:
  v1::UpsertRequest request_;
  internal::BatchStream<v1::UpsertRequest, v1::UpsertStreamResponse> stream_;
};

class WriteStream {
 public:
  using OnAnswer = std::function<void(uint64_t index, absl::Status status, WriteResult result)>;
  WriteStream(Client& client, const StreamOptions& options, OnAnswer on_answer);

  // As LookupStream::Send, with columns as Client::Write. Batches under way at once may be executed
  // in any order.
  absl::Status Send(const std::string& object, WriteMode mode, const KeyColumns& keys,
                    absl::Span<const uint64_t> values, absl::Span<const uint64_t> expected = {},
                    const KeyTypes& key_type = {});
  absl::Status AwaitRoom() { return stream_.AwaitRoom(); }
  absl::Status Finish() { return stream_.Finish(); }

 private:
  v1::WriteRequest request_;
  internal::BatchStream<v1::WriteRequest, v1::WriteStreamResponse> stream_;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_BATCH_STREAM_H_
