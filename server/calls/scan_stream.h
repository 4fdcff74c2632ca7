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
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "eris/engine.h"
#include "server/calls/arriving_call.h"
#include "server/calls/control_call.h"
#include "server/calls/scan_park.h"
#include "server/guard/byte_budget.h"
#include "server/guard/expiry_queue.h"
#include "server/guard/scan_stop.h"
#include "server/overload/client_shares.h"
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
  // Opens the scan again behind the last row of the chunk whose resume position is `place`, on the
  // same snapshot; empty: from its beginning. Of streams that call Park with such a place.
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
    ERIS_ASSIGN_OR_RETURN(share_, TakeAnswerShare(this->server_, this->ClientOf(this->context_),
                                                  kCopies * message_bytes_));
    if (charge_.TryGrow(kCopies * message_bytes_)) return absl::OkStatus();
    return OverBudgetStatus(this->server_.budget, kCopies * message_bytes_);
  }

  // Charges for a message of that size if it is larger than those before it. Errors:
  // ResourceExhausted.
  absl::Status ChargeMessage(uint64_t bytes) {
    if (bytes <= message_bytes_) return absl::OkStatus();
    const uint64_t more = kCopies * (bytes - message_bytes_);
    if (!GrowAnswerShare(this->server_, more, share_) || !charge_.TryGrow(more)) {
      return AnswerOverBudgetStatus(bytes);
    }
    message_bytes_ = bytes;
    return absl::OkStatus();
  }

  // Between taking a chunk and writing it: if the client does not read it for a while, the scan's
  // other chunks go back to the pool that all scans share, and it is opened again when the client
  // has read. `place`: ScanRest::Behind::place; nullopt: the scan keeps them within the client's
  // share, or ends (scan_park.h).
  void Park(std::optional<std::string> place) {
    ExpiryQueue& queue = this->server_.parks.queue();
    if (place) return park_->Begin(queue, std::move(scan_), *std::move(place));
    park_->BeginWithoutPlace(queue, std::move(scan_), this->server_.unread_groups,
                             this->ClientOf(this->context_));
  }

  // Between taking the last chunk and writing it: the scan's chunks go back at once, however long
  // the client takes to read.
  void Close() {
    last_ = true;
    DropScan();
  }

  void Fetch() {
    if (park_->used()) {
      std::string place;
      scan_ = park_->End(&place);
      if (scan_ == nullptr) return GoOn(place, kReopensMax);
    }
    if (const auto reason = stop_->reason()) return End(*reason);
    scan_->NextAsync([this](Scan::NextResult chunk) { OnChunk(std::move(chunk)); });
  }

  void End(const absl::Status& status) {
    OnEnd(status);
    DropScan();  // a client that does not read delays the status, too
    // The client's next call may come before OnDone, and has to find that room.
    share_ = {};
    if (charge_) charge_.Shrink(0);
    this->Respond(status);
  }

  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  const std::shared_ptr<ScanPark> park_ = std::make_shared<ScanPark>(stop_);
  // Owned by the running step.
  SessionPool::Lease session_;
  std::unique_ptr<Scan> scan_;
  ByteBudget::Charge charge_;
  ClientShares::Hold share_;  // of the client, for messages
  bool last_ = false;         // the message under way is the last one

 private:
  // While other scans have all chunks, a parked one waits for its turn to go on, this many times
  // the time after which scans are parked.
  static constexpr int kReopensMax = 100;

  struct Reopening final : ExpiryQueue::Owner {
    Reopening(ScanStream* stream_in, std::string place_in, int left_in)
        : stream(stream_in), place(std::move(place_in)), left(left_in) {}
    void OnExpired(uint64_t) override { stream->GoOnElsewhere(place, left - 1); }
    ScanStream* const stream;  // lives until it has been answered, which is the last step
    const std::string place;
    const int left;  // at least 1
  };

  void DropScan() {
    stop_->Detach();
    scan_.reset();
  }

  // Opens a scan again that was given up at `place`, and fetches its next chunk. May block as the
  // engine's OpenScan does.
  void GoOn(const std::string& place, int left) {
    if (const auto reason = stop_->reason()) return End(*reason);
    absl::StatusOr<std::unique_ptr<Scan>> scan = Reopen(place);
    if (absl::IsResourceExhausted(scan.status()) && left > 0) return GoOnLater(place, left);
    if (!scan.ok()) return End(scan.status());
    scan_ = *std::move(scan);
    stop_->Attach(scan_.get());
    Fetch();
  }

  void GoOnLater(const std::string& place, int left) {
    reopen_.Begin(this->server_.parks.queue(), std::make_shared<Reopening>(this, place, left));
  }
  // On the sweeping thread, which all timers share and which must not block.
  void GoOnElsewhere(const std::string& place, int left) {
    const bool posted = this->server_.flights.TryPost(this->ClientOf(this->context_),
                                                      [this, place, left] { GoOn(place, left); });
    if (posted) return;  // the stream may have ended already
    if (left == 0) return End(TooManyWait(ControlLane::kFlights));
    GoOnLater(place, left);
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
