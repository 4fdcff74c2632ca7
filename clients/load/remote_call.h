// The steps of running gRPC calls on a completion queue, for remote_target.cc: a batch stream, a
// unary call, and a scan. All run in the thread that reads the queue.
#ifndef ERIS_CLIENTS_LOAD_REMOTE_CALL_H_
#define ERIS_CLIENTS_LOAD_REMOTE_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "clients/load/clock.h"
#include "clients/load/target.h"
#include "clients/rpc_status.h"

namespace eris::load {

// A running step; its address is the tag in the queue.
class Step {
 public:
  explicit Step(std::function<void(bool)> done) : done_(std::move(done)) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  // Counts running steps, so that the queue is ended only when it is empty.
  void* Start(uint64_t& under_way) {
    ++under_way;
    return this;
  }
  void Done(bool ok) { done_(ok); }

 private:
  const std::function<void(bool)> done_;
};

// Converts one kind of request to gRPC's messages.
template <class RequestMessage, class ResponseMessage>
struct Codec {
  // Fills `message` with the request's columns; its other fields are unchanged.
  std::function<void(const Request&, RequestMessage& message)> encode;
  // Passes the answer to the sink.
  std::function<void(Request&, const ResponseMessage&)> answer;
  // Passes an error to the sink.
  std::function<void(Request&, const absl::Status&)> fail;
};

// A bidirectional stream. At most one write and one read are running; later requests wait.
template <class RequestMessage, class ResponseMessage>
class BatchCall {
 public:
  using Stream = grpc::ClientAsyncReaderWriter<RequestMessage, ResponseMessage>;

  // `prepare(context)` is the stub's PrepareAsync method. `steps` counts running steps.
  template <class Prepare>
  BatchCall(Codec<RequestMessage, ResponseMessage> codec, uint64_t& steps, const Prepare& prepare)
      : codec_(std::move(codec)), steps_(steps), stream_(prepare(&context_)) {
    stream_->StartCall(started_.Start(steps_));
  }

  void Send(Request& request) {
    if (end_) {
      request.sent_ns = MonotonicNs();
      codec_.fail(request, *end_);
      return;
    }
    waiting_.push_back(&request);
    Write();
  }
  void Cancel() { context_.TryCancel(); }
  // The stream ends when everything has been answered.
  void Close() {
    closing_ = true;
    Write();
  }
  // Set when the stream has ended.
  const std::optional<absl::Status>& end() const { return end_; }

 private:
  void Write() {
    if (!open_ || writing_) return;
    if (!waiting_.empty()) {
      Request& request = *waiting_.front();
      waiting_.pop_front();
      codec_.encode(request, message_);
      request.sent_ns = MonotonicNs();
      unanswered_.push_back(&request);
      writing_ = true;
      stream_->Write(message_, wrote_.Start(steps_));
    } else if (closing_) {
      writing_ = true;  // nothing more is written
      stream_->WritesDone(closed_.Start(steps_));
    }
  }
  void Started(bool ok) {
    open_ = ok;
    if (!ok) return Finish();
    stream_->Read(&response_, read_.Start(steps_));
    Write();
  }
  void Wrote(bool ok) {
    writing_ = false;
    // A stream that accepts no more has ended: the running read reports it.
    open_ = open_ && ok;
    Write();
  }
  void Read(bool ok) {
    if (!ok) return Finish();
    if (!unanswered_.empty()) {
      Request& request = *unanswered_.front();
      unanswered_.pop_front();
      codec_.answer(request, response_);
    } else {
      surplus_ = true;
      context_.TryCancel();
    }
    stream_->Read(&response_, read_.Start(steps_));
  }
  void Finish() {
    open_ = false;
    stream_->Finish(&status_, finished_.Start(steps_));
  }
  void Finished() {
    end_ = surplus_ ? absl::InternalError("the stream brought more answers than requests")
                    : client::ToAbslStatus(status_);
    const absl::Status rest =
        end_->ok() ? absl::InternalError("the stream ended before all answers") : *end_;
    for (std::deque<Request*>* requests : {&unanswered_, &waiting_}) {
      while (!requests->empty()) {
        Request& request = *requests->front();
        requests->pop_front();
        if (requests == &waiting_) request.sent_ns = MonotonicNs();
        codec_.fail(request, rest);
      }
    }
  }

  const Codec<RequestMessage, ResponseMessage> codec_;
  uint64_t& steps_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  RequestMessage message_;
  ResponseMessage response_;
  std::deque<Request*> waiting_, unanswered_;  // at most in_flight together
  bool open_ = false;
  bool writing_ = false;
  bool closing_ = false;
  bool surplus_ = false;
  grpc::Status status_;
  std::optional<absl::Status> end_;
  Step started_{[this](bool ok) { Started(ok); }};
  Step wrote_{[this](bool ok) { Wrote(ok); }};
  Step closed_{[](bool) {}};
  Step read_{[this](bool ok) { Read(ok); }};
  Step finished_{[this](bool) { Finished(); }};
};

// One call per request, one at a time.
template <class RequestMessage, class ResponseMessage>
class UnaryCall {
 public:
  using Reader = grpc::ClientAsyncResponseReader<ResponseMessage>;
  using Prepare =
      std::function<std::unique_ptr<Reader>(grpc::ClientContext*, const RequestMessage&)>;

  UnaryCall(Codec<RequestMessage, ResponseMessage> codec, uint64_t& steps, Prepare prepare)
      : codec_(std::move(codec)), steps_(steps), prepare_(std::move(prepare)) {}

  void Send(Request& request) {
    request_ = &request;
    codec_.encode(request, message_);
    reader_.reset();  // it is allocated in the context's call
    context_.emplace();
    request.sent_ns = MonotonicNs();
    reader_ = prepare_(&*context_, message_);
    reader_->StartCall();
    reader_->Finish(&response_, &status_, finished_.Start(steps_));
  }
  void Cancel() {
    if (request_ != nullptr) context_->TryCancel();
  }

 private:
  void Finished() {
    Request& request = *std::exchange(request_, nullptr);
    if (status_.ok()) {
      codec_.answer(request, response_);
    } else {
      codec_.fail(request, client::ToAbslStatus(status_));
    }
  }

  const Codec<RequestMessage, ResponseMessage> codec_;
  uint64_t& steps_;
  const Prepare prepare_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<Reader> reader_;
  RequestMessage message_;
  ResponseMessage response_;
  grpc::Status status_;
  Request* request_ = nullptr;  // in flight
  Step finished_{[this](bool) { Finished(); }};
};

// A call with many messages: one scan at a time.
template <class RequestMessage, class ResponseMessage>
class ScanCall {
 public:
  using Reader = grpc::ClientAsyncReader<ResponseMessage>;
  using Prepare =
      std::function<std::unique_ptr<Reader>(grpc::ClientContext*, const RequestMessage&)>;
  // `codec.answer` gets each message; `end` gets the scan's end.
  using End = std::function<void(Request&, const absl::Status&)>;

  ScanCall(Codec<RequestMessage, ResponseMessage> codec, End end, uint64_t& steps, Prepare prepare)
      : codec_(std::move(codec)),
        end_(std::move(end)),
        steps_(steps),
        prepare_(std::move(prepare)) {}

  void Send(Request& request) {
    request_ = &request;
    codec_.encode(request, message_);
    reader_.reset();  // it is allocated in the context's call
    context_.emplace();
    request.sent_ns = MonotonicNs();
    reader_ = prepare_(&*context_, message_);
    reader_->StartCall(started_.Start(steps_));
  }
  void Cancel() {
    if (request_ != nullptr) context_->TryCancel();
  }

 private:
  void Read() { reader_->Read(&response_, read_.Start(steps_)); }
  void Started(bool ok) { ok ? Read() : Finish(); }
  void ReadDone(bool ok) {
    if (!ok) return Finish();
    codec_.answer(*request_, response_);
    Read();
  }
  void Finish() { reader_->Finish(&status_, finished_.Start(steps_)); }

  const Codec<RequestMessage, ResponseMessage> codec_;
  const End end_;
  uint64_t& steps_;
  const Prepare prepare_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<Reader> reader_;
  RequestMessage message_;
  ResponseMessage response_;
  grpc::Status status_;
  Request* request_ = nullptr;  // in flight
  Step started_{[this](bool ok) { Started(ok); }};
  Step read_{[this](bool ok) { ReadDone(ok); }};
  Step finished_{
      [this](bool) { end_(*std::exchange(request_, nullptr), client::ToAbslStatus(status_)); }};
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_REMOTE_CALL_H_
