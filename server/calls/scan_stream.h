// What the scans of indexes and of tables share as server streams: fetch a chunk from the engine,
// write it, fetch the next. One step is under way at a time, so only cancelling races, and that is
// ScanStop's.
#ifndef ERIS_SERVER_CALLS_SCAN_STREAM_H_
#define ERIS_SERVER_CALLS_SCAN_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "server/calls/arriving_call.h"
#include "server/guard/byte_budget.h"
#include "server/guard/scan_stop.h"
#include "server/state/server_state.h"

namespace eris::server {

template <class Request, class Response>
class ScanStream : public ArrivingCall<Request> {
 protected:
  // What is written is there twice until the client has read it: response_, and gRPC's bytes of it.
  static constexpr uint64_t kCopies = 2;

  ScanStream(ServerState& server, grpc::CallbackServerContext& context)
      : Base(server, context, CallWay::kRead, /*whole_call=*/false) {}

  // Opens the scan. What `charge` holds is the request's; charge_ takes what outlives this.
  virtual absl::Status Open(const Request& request, ByteBudget::Charge charge) = 0;
  // Asks the engine for the next chunk, whose answer writes it or ends the call.
  virtual void FetchNext() = 0;

  void Arrive() { Base::Arrive(stop_); }
  void Fetch() {
    if (const auto reason = stop_->reason()) return End(*reason);
    FetchNext();
  }
  // Sends response_; goes on, or ends after the last one.
  void Write() { Base::Write(response_); }
  virtual void End(const absl::Status& status) {
    this->Respond(status);  // it waits behind the last chunk
  }

  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the step under way.
  Response response_;
  bool last_ = false;  // response_ is the last one
  ByteBudget::Charge charge_;

 private:
  using Base = ArrivingCall<Request>;

  void OnRequest(Request& request, ByteBudget::Charge charge) override {
    const absl::Status opened = Open(request, std::move(charge));
    opened.ok() ? Fetch() : End(opened);
  }
  void OnNoRequest(const absl::Status& why) override { this->Respond(why); }

  void OnWriteDone(bool ok) override {
    this->EndWrite();
    if (!ok) return End(stop_->reason().value_or(absl::CancelledError("the client has gone")));
    if (last_) return End(absl::OkStatus());
    Fetch();
  }
  void OnDone() override {
    stop_->Detach();
    Base::OnDone();
  }
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_SCAN_STREAM_H_
