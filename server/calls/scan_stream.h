// The common part of calls that stream what a scan finds: fetches a chunk from the engine, writes
// it, fetches the next. Only one step runs at a time, so only cancelling is concurrent, which
// ScanStop handles, and parking, which ScanPark handles. Begins on a gRPC thread; then gRPC owns
// the call.
#ifndef ERIS_SERVER_CALLS_SCAN_STREAM_H_
#define ERIS_SERVER_CALLS_SCAN_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "eris/engine.h"
#include "server/calls/arriving_call.h"
#include "server/calls/scan_park.h"
#include "server/guard/byte_budget.h"
#include "server/guard/expiry_queue.h"
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
  // Opens the scan again behind the last row of the chunk whose resume position is `place`, which
  // is not empty, on the same snapshot. Of streams that call Park.
  virtual absl::StatusOr<std::unique_ptr<Scan>> Reopen(const std::string& /*place*/) {
    return absl::UnimplementedError("the scan cannot be opened again");
  }
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

  // Between taking a chunk and writing it: if the client does not read it for a while, the scan's
  // other chunks go back to the pool that all scans share, and it is opened again when the client
  // has read. `place`: Chunk::resume; empty: the scan keeps them.
  void Park(std::string place) {
    if (place.empty()) return;
    park_->Begin(this->server_.parks.queue(), std::move(scan_), std::move(place));
  }

  void Fetch() {
    if (park_->used()) {
      std::string place;
      scan_ = park_->End(&place);
      if (scan_ == nullptr) return GoOn(std::move(place), kReopensMax);
    }
    if (const auto reason = stop_->reason()) return End(*reason);
    scan_->NextAsync([this](Scan::NextResult chunk) { OnChunk(std::move(chunk)); });
  }

  void End(const absl::Status& status) {
    OnEnd(status);
    this->Respond(status);  // it is sent after the last chunk
  }

  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  const std::shared_ptr<ScanPark> park_ = std::make_shared<ScanPark>(stop_);
  // Owned by the running step.
  SessionPool::Lease session_;
  std::unique_ptr<Scan> scan_;
  ByteBudget::Charge charge_;
  bool last_ = false;  // the message under way is the last one

 private:
  // While other scans have all chunks, a parked one waits for its turn to go on, this many times
  // the time after which scans are parked.
  static constexpr int kReopensMax = 100;

  struct Reopening final : ExpiryQueue::Owner {
    Reopening(ScanStream* stream_in, std::string place_in, int left_in)
        : stream(stream_in), place(std::move(place_in)), left(left_in) {}
    void OnExpired(uint64_t) override { stream->GoOn(std::move(place), left - 1); }
    ScanStream* const stream;  // lives until it has been answered, which is the last step
    std::string place;         // used once
    const int left;
  };

  // Opens a scan again that was given up at `place`, and fetches its next chunk.
  void GoOn(std::string place, int left) {
    if (const auto reason = stop_->reason()) return End(*reason);
    absl::StatusOr<std::unique_ptr<Scan>> scan = Reopen(place);
    if (absl::IsResourceExhausted(scan.status()) && left > 0) {
      const auto again = std::make_shared<Reopening>(this, std::move(place), left);
      return reopen_.Begin(this->server_.parks.queue(), again);
    }
    if (!scan.ok()) return End(scan.status());
    scan_ = *std::move(scan);
    stop_->Attach(scan_.get());
    Fetch();
  }

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
    if (!ok) return End(stop_->reason().value_or(GoneStatus()));
    if (last_) return End(absl::OkStatus());
    Fetch();
  }

  void OnDone() final {
    std::string place;
    std::unique_ptr<Scan> parked = park_->End(&place);
    stop_->Detach();
    parked.reset();  // before the drain learns that the call has ended
    ArrivingCall<Request>::OnDone();
  }

  // A completion thread of the engine.
  void OnChunk(Scan::NextResult chunk) {
    if (const auto reason = stop_->reason()) return End(*reason);
    if (!chunk.ok()) return End(chunk.status());
    OnNext(*std::move(chunk));
  }

  ExpiryQueue::Watch reopen_;   // owned by the running step
  uint64_t message_bytes_ = 0;  // part of charge_ for messages; the rest is for the request
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_SCAN_STREAM_H_
