// A call as gRPC sees it: a stream of bytes in both directions. Notes how the call goes for the
// server's metrics and the log of slow calls, when gRPC has released it.
//
//   made --> NoteArrival (its request is parsed) --> first answer or Finish --> destroyed
//      arrival                  execute                            reply
#ifndef ERIS_SERVER_CALLS_RAW_REACTOR_H_
#define ERIS_SERVER_CALLS_RAW_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "server/metrics/slow_log.h"

namespace eris::server {

// Where a stream comes from, for the lines about its slow requests, which may outlive it.
struct CallOrigin {
  std::string client;
  std::string traceparent;
};
CallOrigin OriginOf(const grpc::CallbackServerContext& context);

// One request of a stream that has its own answer.
class StreamRequest {
 public:
  using Clock = std::chrono::steady_clock;
  // What a line about it says. nullptr: there will be none.
  struct Words {
    std::shared_ptr<const CallOrigin> origin;
    std::string object;
    uint64_t rows = 0;
  };

  StreamRequest(CallWatch* watch, CallMetrics::Method method, Clock::time_point begun)
      : watch_(watch->shared_from_this()), method_(method), begun_(begun) {}
  void SetWords(std::shared_ptr<const Words> words) { words_ = std::move(words); }
  // It has been answered. Once.
  void End(int code) const;

 private:
  std::shared_ptr<CallWatch> watch_;
  CallMetrics::Method method_;
  Clock::time_point begun_;
  std::shared_ptr<const Words> words_{};
};

class RawReactor : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  using Clock = std::chrono::steady_clock;

  ~RawReactor() override;

  // Before gRPC starts the first operation of the call: later steps find it. `watch` and `context`
  // outlive the call.
  void SetWatch(CallWatch* watch, CallMetrics::Method method,
                const grpc::CallbackServerContext* context) {
    watch_ = watch;
    method_ = method;
    context_ = context;
  }

 protected:
  using Base = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  // A message has been read.
  void NoteReceived(const grpc::ByteBuffer& bytes) {
    if (watch_ != nullptr) watch_->metrics.AddReceived(method_, bytes.Length());
  }
  // Its request has been parsed.
  void NoteArrival() { arrived_ = Clock::now(); }
  bool WantsWords() const { return watch_ != nullptr && watch_->slow.on(); }
  void NoteObject(std::string object) { object_ = std::move(object); }
  void NoteRows(uint64_t rows) { rows_ += rows; }
  // REQUIRES: a step that follows one of gRPC's operations.
  StreamRequest BeginRequest(Clock::time_point begun) const {
    return StreamRequest(watch_, method_, begun);
  }

  // gRPC's operations. Those that write follow one that has read.
  void StartWrite(const grpc::ByteBuffer* bytes) {
    NoteAnswer();
    NoteSent(*bytes);
    Base::StartWrite(bytes);
  }
  void StartWriteAndFinish(const grpc::ByteBuffer* bytes, grpc::WriteOptions options,
                           grpc::Status status) {
    NoteAnswer();
    NoteSent(*bytes);
    code_ = status.error_code();
    Base::StartWriteAndFinish(bytes, options, std::move(status));
  }
  void Finish(grpc::Status status) {
    NoteAnswer();
    code_ = status.error_code();
    Base::Finish(std::move(status));
  }

 private:
  void NoteSent(const grpc::ByteBuffer& bytes) {
    if (watch_ != nullptr) watch_->metrics.AddSent(method_, bytes.Length());
  }
  void NoteAnswer() {
    if (answered_ == Clock::time_point()) answered_ = Clock::now();
  }

  // Owned by the running step, then by the destructor.
  CallWatch* watch_ = nullptr;
  CallMetrics::Method method_ = 0;
  const grpc::CallbackServerContext* context_ = nullptr;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point arrived_{};
  Clock::time_point answered_{};
  int code_ = grpc::StatusCode::UNKNOWN;
  uint64_t rows_ = 0;
  std::string object_{};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_RAW_REACTOR_H_
