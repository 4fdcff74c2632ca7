// A stream of messages from the server with a time limit for each message: the length of a scan and
// the speed of its reader do not matter. One thread at a time.
#ifndef ERIS_CLIENTS_MESSAGE_STREAM_H_
#define ERIS_CLIENTS_MESSAGE_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/rows.h"
#include "clients/rpc_status.h"
#include "eris/schema.h"
#include "wire/columns.h"
#include "wire/schema.h"

namespace eris::client {

// Whether a stream that ended with this status, after some progress, can be opened again to
// continue: the connection broke, or a message was late.
inline bool IsBroken(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

template <class Response>
class MessageStream {
 public:
  // `prepare(context, queue)` is the stub's PrepareAsync method, with the request. A message that
  // has not arrived within `timeout` ends the stream.
  template <class Prepare>
  MessageStream(absl::Duration timeout, const Prepare& prepare)
      : timeout_(timeout), reader_(prepare(&context_, &queue_)) {
    reader_->StartCall(nullptr);
    open_ = Await();
  }
  MessageStream(const MessageStream&) = delete;
  MessageStream& operator=(const MessageStream&) = delete;
  // Cancels what is running.
  ~MessageStream() {
    (void)Finish();
    queue_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) {
    }
  }

  // Blocks until the next message; false: the stream has ended, see Finish.
  bool Read(Response* response) {
    if (!open_) return false;
    reader_->Read(response, nullptr);
    open_ = Await();
    return open_;
  }

  // Cancels a stream that has not ended. Errors: DeadlineExceeded (a message did not arrive in
  // time), the server's.
  absl::Status Finish() {
    if (std::exchange(finished_, true)) return status_;
    if (open_) context_.TryCancel();
    // gRPC requires that the stream is read to its end first.
    for (Response rest; Read(&rest);) {
    }
    grpc::Status status;
    reader_->Finish(&status, nullptr);
    (void)Await();
    status_ = ToAbslStatus(status);
    if (late_) {
      status_ = absl::DeadlineExceededError(
          absl::StrCat("no message for ", absl::FormatDuration(timeout_), " on the stream"));
    }
    return status_;
  }

 private:
  // The result of the running step.
  bool Await() {
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = absl::ToChronoTime(absl::Now() + timeout_);
    if (queue_.AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::TIMEOUT) {
      late_ = true;
      context_.TryCancel();
      (void)queue_.Next(&tag, &ok);
    }
    return ok;
  }

  const absl::Duration timeout_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReader<Response>> reader_;
  bool open_ = false;
  bool late_ = false;
  bool finished_ = false;
  absl::Status status_;
};

// The rows of the messages of a stream of chunks, of which the first has the schema.
class ChunkRows {
 public:
  // Moves the response's columns to `rows`, whose previous buffers go to the response. Response has
  // the fields schema, rows and columns. Errors: Internal (a response that violates the protocol).
  template <class Response>
  absl::Status Take(Response& response, OwnedRows& rows) {
    if (response.has_schema()) {
      absl::StatusOr<Schema> schema = wire::AnsweredSchemaFrom(response.schema());
      if (!schema.ok()) return schema.status();
      schema_ = *std::move(schema);
      types_ = wire::TypesOf(schema_, wire::AllColumns(schema_));
    }
    const uint64_t count = response.rows();
    if (count > 0) {
      absl::Status status =
          wire::TakeColumns(types_, count, response.mutable_columns(), &rows.columns);
      if (!status.ok()) return status;
    }
    rows.rows = count;
    return absl::OkStatus();
  }

  const Schema& schema() const { return schema_; }

 private:
  Schema schema_;
  wire::ColumnTypes types_;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_MESSAGE_STREAM_H_
