// The common part of calls that stream what a scan finds: fetches a chunk from the engine, writes
// it, fetches the next. Only one step runs at a time, so only cancelling is concurrent, which
// ScanStop handles. Begins on a gRPC thread; then gRPC owns the call.
#ifndef ERIS_SERVER_CALLS_SCAN_STREAM_H_
#define ERIS_SERVER_CALLS_SCAN_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "eris/engine.h"
#include "server/calls/arriving_call.h"
#include "server/guard/byte_budget.h"
#include "server/guard/scan_stop.h"
#include "server/state/server_state.h"
#include "wire/columns.h"

namespace eris::server {

template <class Request>
class ScanStream : public ArrivingCall<Request> {
 public:
  // The most of the byte budget that a stream takes for its messages at the start: enough for a
  // full chunk, less if few rows are wanted. A larger chunk takes more.
  static constexpr uint64_t kMessageBytes = 1 << 20;

 protected:
  ScanStream(ServerState& server, grpc::CallbackServerContext& context)
      : ArrivingCall<Request>(server, context, CallWay::kRead, /*whole_call=*/false) {}

  // The first step of a call.
  void Begin() { this->Arrive(stop_); }

  // Opens the scan and calls Attach. `session_` is borrowed, and `charge_` is of the request, which
  // is about as large as what the engine keeps of it. An error ends the call.
  virtual absl::Status Open(const Request& request) = 0;
  // The scan is open. Calls Fetch, or writes something that precedes the chunks.
  virtual void OnOpen() { Fetch(); }
  // Writes the next message or calls End. nullptr: the scan has ended. Gives the chunk back before
  // the write: an AEU may fill it while the client reads this one.
  virtual void OnNext(std::shared_ptr<const Chunk> chunk) = 0;
  // The call will be answered with `status`.
  virtual void OnEnd(const absl::Status& /*status*/) {}

  // Takes the scan and charges for its messages. `rows_max`: the most rows of the answer; 0: any
  // number. Errors: ResourceExhausted.
  absl::Status Attach(std::unique_ptr<Scan> scan, uint64_t rows_max) {
    scan_ = std::move(scan);
    stop_->Attach(scan_.get());
    message_bytes_ = wire::ExpectedChunkBytes(scan_->schema(), rows_max, kMessageBytes);
    if (charge_.TryGrow(kCopies * message_bytes_)) return absl::OkStatus();
    return OverBudgetStatus(this->server_.budget, kCopies * message_bytes_);
  }

  // Charges for a message of that size if it is larger than those before it. Errors:
  // ResourceExhausted.
  absl::Status ChargeMessage(uint64_t bytes) {
    if (bytes <= message_bytes_) return absl::OkStatus();
    if (!charge_.TryGrow(kCopies * (bytes - message_bytes_))) return AnswerOverBudgetStatus(bytes);
    message_bytes_ = bytes;
    return absl::OkStatus();
  }

  void Fetch() {
    if (const auto reason = stop_->reason()) return End(*reason);
    scan_->NextAsync([this](Scan::NextResult chunk) { OnChunk(std::move(chunk)); });
  }

  void End(const absl::Status& status) {
    OnEnd(status);
    this->Respond(status);  // it is sent after the last chunk
  }

  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the running step.
  SessionPool::Lease session_;
  std::unique_ptr<Scan> scan_;
  ByteBudget::Charge charge_;
  bool last_ = false;  // the message under way is the last one

 private:
  // Written data exists twice until the client has read it: as a message, and in gRPC's bytes; or
  // as the message that is made and the one before it, which the socket has not taken.
  static constexpr uint64_t kCopies = 2;

  void OnRequest(Request& request, ByteBudget::Charge charge) final {
    charge_ = std::move(charge);
    charge_.Shrink(std::min<uint64_t>(charge_.bytes(), request.SpaceUsedLong()));
    session_ = this->server_.sessions.Borrow();
    const absl::Status opened = Open(request);
    opened.ok() ? OnOpen() : End(opened);
  }
  void OnNoRequest(const absl::Status& why) final { this->Respond(why); }

  void OnWriteDone(bool ok) final {
    this->EndWrite();
    if (!ok) return End(stop_->reason().value_or(absl::CancelledError("the client has gone")));
    if (last_) return End(absl::OkStatus());
    Fetch();
  }

  void OnDone() final {
    stop_->Detach();
    ArrivingCall<Request>::OnDone();
  }

  // A completion thread of the engine.
  void OnChunk(Scan::NextResult chunk) {
    if (const auto reason = stop_->reason()) return End(*reason);
    if (!chunk.ok()) return End(chunk.status());
    OnNext(*std::move(chunk));
  }

  uint64_t message_bytes_ = 0;  // part of charge_ for messages; the rest is for the request
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_SCAN_STREAM_H_
