// The common part of bidirectional streams of batches: gRPC's side of a StreamWindow. It has a
// place in the drain, one of its client's share of streams, a part of the byte budget, one session,
// and watches a client that does not read. Requests of one stream use one session, so they reach
// the AEUs in the order of their arrival. Begins on a gRPC thread; then gRPC owns the call.
#ifndef ERIS_SERVER_CALLS_WINDOW_STREAM_H_
#define ERIS_SERVER_CALLS_WINDOW_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "eris/errors.h"
#include "server/calls/arriving_call.h"
#include "server/calls/raw_service.h"
#include "server/guard/call_cutter.h"
#include "server/guard/rpc_status.h"
#include "server/guard/stream_window.h"
#include "server/overload/client_shares.h"
#include "server/state/memory_limits.h"
#include "server/state/server_state.h"

namespace eris::server {

// Response: what the window keeps of an answer.
template <class Response>
class WindowStream : public GuardedCall, public StreamSink<Response> {
 protected:
  using Window = StreamWindow<Response>;
  using Place = typename Window::Place;

  WindowStream(ServerState& server, grpc::CallbackServerContext& context, bool is_write)
      : server_(server),
        window_(std::make_shared<Window>(
            typename Window::Limits{
                server.live.stream_requests_max(), server.live.stream_bytes_max(), &server.budget,
                &server.queued(is_write), &server.calls.queue(),
                [is_write](std::chrono::milliseconds limit) {
                  return TooLongStatus(static_cast<uint32_t>(limit.count()), is_write);
                }},
            this)),
        context_(context),
        stall_(context, &server.stalls.queue()) {}

  // A message has arrived. Calls window_->Arrived, if it asks for an answer, and ReadTaken, unless
  // the stream is over.
  virtual void OnMessage(grpc::ByteBuffer* raw) = 0;
  // The message of an answer, which is valid until the next call.
  virtual const grpc::ByteBuffer* MessageOf(const Response* answer) = 0;
  // What the client will be told at the end.
  virtual absl::Status LastStatus(const absl::Status& status) { return status; }

  // Immutable after construction.
  ServerState& server_;
  const std::shared_ptr<Window> window_;
  grpc::CallbackServerContext& context_;

 private:
  struct WindowDrain final : Drainable {
    explicit WindowDrain(std::shared_ptr<Window> window_in) : window(std::move(window_in)) {}
    void OnDrain() override { window->Drain(DrainGate::RefusedStatus()); }
    void EndNow(const absl::Status& status) override { window->End(status); }
    const std::shared_ptr<Window> window;
  };

  // The first step of a call.
  void OnPermit() final {
    stay_ = server_.gate.TryEnter(std::make_shared<WindowDrain>(window_), &context_);
    if (!stay_) return window_->End(DrainGate::RefusedStatus());
    std::string client = ClientOf(context_);
    const size_t own = server_.streams.held_by(client);
    share_ = server_.streams.TryTake(std::move(client));
    if (!share_) return window_->End(TooManyStreams(own, server_));
    charge_ = server_.budget.TryTake(kStreamBytes);
    if (!charge_) return window_->End(OverBudgetStatus(server_.budget, kStreamBytes));
    session_ = server_.sessions.Borrow();
    window_->Start();
  }

  static absl::Status TooManyStreams(size_t own, const ServerState& server) {
    return Error(ErrorReason::kInFlightBytes,
                 absl::StrCat("streams of all clients: ", server.streams.held(), ", of this one ",
                              own, "; server.in_flight_bytes_max allows ", server.streams.max(),
                              ", and no client gets more than are left: end some"),
                 {.field = "server.in_flight_bytes_max",
                  .value = absl::StrCat(own),
                  .limit = absl::StrCat(server.streams.max())});
  }

  // Operations that the window starts.
  void BeginRead() final { this->StartRead(&raw_); }
  void BeginWrite(const Response* answer) final {
    const grpc::ByteBuffer* const message = MessageOf(answer);
    {
      base::MutexLock lock(&mu_);
      writing_ = true;
      if (ending_ || !RunningTotal<Response>) stall_.Begin();
    }
    this->StartWrite(message);
  }
  // While the client sends, it need not read totals: a stream that waits for it to do so waits with
  // a write under way.
  void OnEnding() final {
    base::MutexLock lock(&mu_);
    ending_ = true;
    if (writing_ && RunningTotal<Response>) stall_.Begin();
  }
  void EndStream(const absl::Status& status) final {
    const grpc::Status last = ToRpcStatus(LastStatus(status), context_);
    {
      base::MutexLock lock(&mu_);
      stall_.Begin();  // the status is sent after the last answer
    }
    this->Finish(last);
  }

  void OnReadDone(bool ok) final {
    if (!ok) return window_->HalfClosed();
    NoteReceived(raw_);
    OnMessage(&raw_);
  }
  void OnWriteDone(bool ok) final {
    {
      base::MutexLock lock(&mu_);
      writing_ = false;
      stall_.End();
    }
    window_->WriteDone(ok);
  }
  void OnCancel() final { window_->End(CancelledStatus(context_)); }
  void OnDone() final { delete this; }

  grpc::ByteBuffer raw_;  // of the running read
  // destroyed last: a thread that waits for the drain then finds everything returned
  DrainGate::Stay stay_;
  ClientShares::Hold share_;
  ByteBudget::Charge charge_;  // for the stream itself

 protected:
  SessionPool::Lease session_;  // used by one read at a time

 private:
  base::Mutex mu_;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  StallWatch stall_ ABSL_GUARDED_BY(mu_);  // of the running write or end
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_WINDOW_STREAM_H_
