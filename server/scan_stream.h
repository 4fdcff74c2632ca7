// What the scans of indexes and of tables share as server streams: fetch a chunk from the engine,
// write it, fetch the next. One step is under way at a time, so only cancelling races, and that is
// ScanStop's.
#ifndef ERIS_SERVER_SCAN_STREAM_H_
#define ERIS_SERVER_SCAN_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/status/status.h"
#include "server/byte_budget.h"
#include "server/call_cutter.h"
#include "server/drain_gate.h"
#include "server/rpc_status.h"
#include "server/scan_stop.h"
#include "server/server_state.h"
#include "server/unary_call.h"

namespace eris::server {

// Deletes itself when gRPC is done with it.
template <class Response>
class ScanStream : public grpc::ServerWriteReactor<Response> {
 protected:
  // What is written is there twice until the client has read it: response_, and gRPC's bytes of it.
  static constexpr uint64_t kCopies = 2;

  ScanStream(ServerState& server, grpc::CallbackServerContext& context)
      : server_(server), context_(context), stall_(context, &server.stalls.queue()) {}

  // Asks the engine for the next chunk, whose answer writes it or ends the call.
  virtual void FetchNext() = 0;

  // The first step of each: `opened` is how opening has gone.
  void Begin(const absl::Status& opened) { opened.ok() ? Fetch() : End(opened); }

  void Fetch() {
    if (const auto reason = stop_->reason()) return End(*reason);
    FetchNext();
  }
  // Sends response_; goes on, or ends after the last one.
  void Write() {
    stall_.Begin();
    this->StartWrite(&response_);
  }
  virtual void End(const absl::Status& status) {
    stall_.Begin();  // the status waits behind the last chunk
    this->Finish(ToRpcStatus(status));
  }

  // Immutable after construction.
  ServerState& server_;
  const grpc::CallbackServerContext& context_;
  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the step under way.
  Response response_;
  bool last_ = false;     // response_ is the last one
  DrainGate::Stay stay_;  // destroyed last: who waits for the drain finds everything given back
  ByteBudget::Charge charge_;

 private:
  void OnWriteDone(bool ok) override {
    stall_.End();
    if (!ok) return End(stop_->reason().value_or(absl::CancelledError("the client has gone")));
    if (last_) return End(absl::OkStatus());
    Fetch();
  }
  void OnCancel() override { stop_->Stop(CancelledStatus(context_)); }
  void OnDone() override {
    stop_->Detach();
    delete this;
  }

  StallWatch stall_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_SCAN_STREAM_H_
