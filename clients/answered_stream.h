// Base of the streams in batch_stream.h: a bidirectional stream whose requests are answered in the
// order they were sent. For the sources of this folder. Threads: as there.
#ifndef ERIS_CLIENTS_ANSWERED_STREAM_H_
#define ERIS_CLIENTS_ANSWERED_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "clients/batch_stream.h"
#include "clients/data_messages.h"
#include "clients/rpc_status.h"

namespace eris::client {

// Request and Response are the stream's messages.
template <class Request, class Response>
class AnsweredStream {
 public:
  using Stream = grpc::ClientReaderWriter<Request, Response>;
  // Runs exactly once for each Send that returned OK, in order: with the answer, or with null and
  // the status the stream ended with.
  using OnAnswer = std::function<void(uint64_t index, const AnswerShape& shape, absl::Status status,
                                      Response* response)>;

  AnsweredStream(std::unique_ptr<grpc::ClientContext> context, std::unique_ptr<Stream> stream,
                 const StreamOptions& options, OnAnswer on_answer);
  // Cancels unanswered requests.
  ~AnsweredStream();

  absl::Status AwaitRoom();
  absl::Status Send(const Request& request, AnswerShape shape);
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
  std::deque<AnswerShape> unanswered_ ABSL_GUARDED_BY(mu_);  // oldest first
  uint64_t answered_ ABSL_GUARDED_BY(mu_) = 0;
  bool stalled_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_status_ ABSL_GUARDED_BY(mu_);  // valid when ended_

  std::thread reader_;
};

template <class Request, class Response>
AnsweredStream<Request, Response>::AnsweredStream(std::unique_ptr<grpc::ClientContext> context,
                                                  std::unique_ptr<Stream> stream,
                                                  const StreamOptions& options, OnAnswer on_answer)
    : options_(options),
      on_answer_(std::move(on_answer)),
      context_(std::move(context)),
      stream_(std::move(stream)),
      reader_([this] { ReadAnswers(); }) {}

template <class Request, class Response>
AnsweredStream<Request, Response>::~AnsweredStream() {
  if (finished_) return;
  context_->TryCancel();
  (void)Finish();
}

template <class Request, class Response>
bool AnsweredStream<Request, Response>::AwaitInFlightBelow(size_t limit) {
  struct Wait {
    AnsweredStream* stream;
    size_t limit;
    uint64_t answered;
  };
  while (!ended_ && unanswered_.size() >= limit) {
    // Any answer is progress and restarts the wait.
    Wait wait{this, limit, answered_};
    const bool moved =
        mu_.AwaitWithTimeout(absl::Condition(
                                 +[](Wait* w) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                   return w->stream->ended_ || w->stream->answered_ != w->answered;
                                 },
                                 &wait),
                             options_.stall_timeout);
    if (!moved) {
      stalled_ = true;
      return false;
    }
  }
  return true;
}

template <class Request, class Response>
absl::Status AnsweredStream<Request, Response>::AwaitRoom() {
  absl::MutexLock lock(&mu_);
  if (!AwaitInFlightBelow(options_.in_flight_max)) {
    context_->TryCancel();
    return absl::DeadlineExceededError(absl::StrCat(
        "no answer for ", absl::FormatDuration(options_.stall_timeout), " on the stream"));
  }
  return ended_ ? end_status_ : absl::OkStatus();
}

template <class Request, class Response>
absl::Status AnsweredStream<Request, Response>::Send(const Request& request, AnswerShape shape) {
  const absl::Status status = AwaitRoom();
  if (!status.ok()) return status;
  {
    absl::MutexLock lock(&mu_);
    if (ended_) return end_status_;
    // Appended before the write, because the answer may come before Write returns.
    unanswered_.push_back(std::move(shape));
  }
  // A failed write means that the stream has ended; the reader then answers this request too.
  (void)stream_->Write(request);
  return absl::OkStatus();
}

template <class Request, class Response>
absl::Status AnsweredStream<Request, Response>::Finish() {
  if (!finished_) {
    finished_ = true;
    (void)stream_->WritesDone();
    bool moved;
    {
      absl::MutexLock lock(&mu_);
      moved = AwaitInFlightBelow(1);
    }
    if (!moved) context_->TryCancel();
    reader_.join();
  }
  absl::MutexLock lock(&mu_);
  return end_status_;
}

template <class Request, class Response>
void AnsweredStream<Request, Response>::ReadAnswers() {
  Response response;
  uint64_t index = 0;
  while (stream_->Read(&response)) {
    const AnswerShape* shape;
    {
      absl::MutexLock lock(&mu_);
      if (unanswered_.empty()) {
        context_->TryCancel();  // an answer without a request
        break;
      }
      shape = &unanswered_.front();  // stays valid when others are appended
    }
    on_answer_(index++, *shape, ToAbslStatus(response.status()), &response);
    absl::MutexLock lock(&mu_);
    unanswered_.pop_front();
    ++answered_;
  }
  absl::Status status = ToAbslStatus(stream_->Finish());
  std::deque<AnswerShape> rest;
  {
    absl::MutexLock lock(&mu_);
    if (stalled_) {
      status = absl::DeadlineExceededError(absl::StrCat(
          "no answer for ", absl::FormatDuration(options_.stall_timeout), " on the stream"));
    } else if (status.ok() && !unanswered_.empty()) {
      status = absl::UnavailableError(absl::StrCat("the server ended the stream with ",
                                                   unanswered_.size(), " batches unanswered"));
    }
    ended_ = true;  // from here on Send appends nothing more
    end_status_ = status;
    rest.swap(unanswered_);
  }
  for (const AnswerShape& shape : rest) on_answer_(index++, shape, status, nullptr);
}

}  // namespace eris::client

#endif  // ERIS_CLIENTS_ANSWERED_STREAM_H_
