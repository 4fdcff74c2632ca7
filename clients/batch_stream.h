// Many batches in flight over one stream. The requests are answered, and on each key executed, in
// the order in which they were sent. Batches of one stream may be for different objects.
//
//   WriteStream stream(*client, {.in_flight_max = 8},
//                      [&](uint64_t index, absl::Status status, WriteResult result) { ... });
//   for (...) stream.Send(*orders, WriteMode::kUpsert, keys, values);  // blocks while 8 are
//   unanswered absl::Status status = stream.Finish();
//
// Threads: one sending thread; `on_answer` runs on the stream's own reader thread. Sending and
// reading proceed concurrently, so neither end waits for the other with full buffers.
#ifndef ERIS_CLIENTS_BATCH_STREAM_H_
#define ERIS_CLIENTS_BATCH_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "clients/eris_client.h"

namespace eris::client {

struct StreamOptions {
  uint32_t in_flight_max = 8;
  // Longest wait without any answer; the stream is then cancelled.
  absl::Duration stall_timeout = absl::Seconds(30);
};

class LookupStream {
 public:
  using OnAnswer = std::function<void(uint64_t index, absl::Status status, LookupResult result)>;
  // `client` must outlive the stream.
  LookupStream(Client& client, const StreamOptions& options, OnAnswer on_answer);
  ~LookupStream();

  // Sends one batch, as Client::Lookup; blocks while in_flight_max are unanswered. Requests are
  // numbered from 0. The columns may be freed when it returns. Errors: InvalidArgument (columns
  // that do not fit the object: nothing was sent, the stream continues); those of the stream itself
  // (Unavailable, DeadlineExceeded after the stall timeout). Errors of the batch go to on_answer,
  // and the stream continues.
  absl::Status Send(const ObjectInfo& object, const RowView& keys,
                    const std::vector<std::string>& columns = {}, uint64_t answer_bytes_max = 0);
  absl::Status Send(const ObjectInfo& object, const KeyColumns& keys);
  // Blocks until Send would not block. Errors: as Send.
  absl::Status AwaitRoom();
  // Waits for every answer and ends the stream. OK even if single batches failed.
  absl::Status Finish();

 private:
  struct Calls;
  const std::unique_ptr<Calls> calls_;
};

class WriteStream {
 public:
  using OnAnswer = std::function<void(uint64_t index, absl::Status status, WriteResult result)>;
  WriteStream(Client& client, const StreamOptions& options, OnAnswer on_answer);
  ~WriteStream();

  // As LookupStream::Send, with rows as for Client::Write. If a key is in two batches in flight,
  // the later batch is executed later.
  absl::Status Send(const ObjectInfo& object, WriteMode mode, const RowView& rows,
                    const RowView& expected = {});
  absl::Status Send(const ObjectInfo& object, WriteMode mode, const KeyColumns& keys,
                    absl::Span<const uint64_t> values, absl::Span<const uint64_t> expected = {});
  absl::Status AwaitRoom();
  absl::Status Finish();

 private:
  struct Calls;
  const std::unique_ptr<Calls> calls_;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_BATCH_STREAM_H_
