// The steps of gRPC calls under way on a completion queue, for remote_target.cc: a batch stream, a
// unary call, and a scan. All run in the thread that takes from the queue.
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

// A step under way; its address is the tag in the queue.
class Step {
 public:
  explicit Step(std::function<void(bool)> done) : done_(std::move(done)) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  // Counts steps under way, so that whoever ends a queue knows when nothing is left in it.
  void* Start(uint64_t& under_way) {
    ++under_way;
    return this;
  }
  void Done(bool ok) { done_(ok); }

 private:
  const std::function<void(bool)> done_;
};

// What one kind of request is in gRPC's messages.
template <class RequestMessage, class ResponseMessage>
struct Codec {
  // Makes `message` of the request's columns; what it already has stays.
  std::function<void(const Request&, RequestMessage& message)> encode;
  // Tells the sink the answer.
  std::function<void(Request&, const ResponseMessage&)> answer;
  // Tells the sink an error.
  std::function<void(Request&, const absl::Status&)> fail;
};

// A bidirectional stream. One write and one read are under way; what is sent meanwhile waits.
template <class RequestMessage, class ResponseMessage>
class BatchCall {
 public:
  using Stream = grpc::ClientAsyncReaderWriter<RequestMessage, ResponseMessage>;

  // `prepare(context)` is the stub's PrepareAsync method. `steps` counts steps under way.
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
  // The end of the stream follows, when all is answered.
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
      writing_ = true;  // nothing is written any more
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
    // A stream that takes no more has ended: the read under way tells.
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

// A call for each request, one at a time.
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
    reader_.reset();  // it lives in the context's call
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
  Request* request_ = nullptr;  // under way
  Step finished_{[this](bool) { Finished(); }};
};

// A call that brings many messages: one scan at a time.
template <class RequestMessage, class ResponseMessage>
class ScanCall {
 public:
  using Reader = grpc::ClientAsyncReader<ResponseMessage>;
  using Prepare =
      std::function<std::unique_ptr<Reader>(grpc::ClientContext*, const RequestMessage&)>;
  // `codec.answer` takes one message of many; `end` the scan's end.
  using End = std::function<void(Request&, const absl::Status&)>;

  ScanCall(Codec<RequestMessage, ResponseMessage> codec, End end, uint64_t& steps, Prepare prepare)
      : codec_(std::move(codec)),
        end_(std::move(end)),
        steps_(steps),
        prepare_(std::move(prepare)) {}

  void Send(Request& request) {
    request_ = &request;
    codec_.encode(request, message_);
    reader_.reset();  // it lives in the context's call
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
  Request* request_ = nullptr;  // under way
  Step started_{[this](bool ok) { Started(ok); }};
  Step read_{[this](bool ok) { ReadDone(ok); }};
  Step finished_{
      [this](bool) { end_(*std::exchange(request_, nullptr), client::ToAbslStatus(status_)); }};
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_REMOTE_CALL_H_
