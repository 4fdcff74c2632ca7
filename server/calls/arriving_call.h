// The common part of calls with one request: the arrival (arrival.h), in which the request is
// charged to the byte budget and parsed, and the answer, during which a client that does not read
// is watched. Begins on a gRPC thread; then gRPC owns the call.
#ifndef ERIS_SERVER_CALLS_ARRIVING_CALL_H_
#define ERIS_SERVER_CALLS_ARRIVING_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/errors.h"
#include "server/calls/parse_within.h"
#include "server/calls/raw_service.h"
#include "server/calls/request_words.h"
#include "server/guard/arrival.h"
#include "server/guard/call_cutter.h"
#include "server/guard/raw_message.h"
#include "server/guard/rpc_status.h"
#include "server/overload/client_shares.h"
#include "server/state/server_state.h"

namespace eris::server {

// The status of a call whose write has failed.
inline absl::Status GoneStatus() { return Error(ErrorReason::kCallerGone, "the client has gone"); }

// The status of a call that gRPC has cancelled.
inline absl::Status CancelledStatus(const grpc::CallbackServerContext& context) {
  if (context.deadline() <= std::chrono::system_clock::now()) {
    return Error(ErrorReason::kCallerDeadline, "the caller gave up: its deadline has passed");
  }
  return Error(ErrorReason::kCallerGone, "the caller gave up, or is gone");
}

template <class Request>
class ArrivingCall : public GuardedCall, private Arrival::Call {
 protected:
  // `whole_call`: the server's time limit is for the whole call, otherwise for its arrival.
  // `queue`: the call is refused when it is full; nullptr: it never is.
  ArrivingCall(ServerState& server, grpc::CallbackServerContext& context, CallWay way,
               bool whole_call, QueueGate* queue = nullptr)
      : server_(server),
        context_(context),
        way_(way),
        whole_call_(whole_call),
        queue_(queue),
        stall_(context, &server.stalls.queue()) {}

  // The first step of a call. `inside` is notified of everything that should end the call after the
  // arrival of its request.
  void Arrive(std::shared_ptr<Drainable> inside) {
    const auto too_long = [&live = server_.live, is_write = way_ == CallWay::kWrite] {
      return TooLongStatus(live.call_ms_max(), is_write);
    };
    // By address: the permit, which knows the caller, is set after this.
    arrival_ = std::make_shared<Arrival>(static_cast<Arrival::Call*>(this), &server_.arrivals(way_),
                                         ClientOfPeer(context_.peer()), std::move(inside),
                                         Arrival::Limit{too_long, whole_call_});
    server_.trims.trim().Used();
    stay_ = server_.gate.TryEnter(arrival_, &context_);
    if (!stay_) return arrival_->EndNow(DrainGate::RefusedStatus());
    // Before its message is read, which costs more than the refusal.
    if (queue_ != nullptr && !EnterQueue()) return arrival_->EndNow(QueueTooLongStatus(*queue_));
    limit_.Begin(server_.calls.queue(), arrival_);
    server_.arrivals(way_).Enter(arrival_);
  }

  // The request has arrived, and is valid until this returns; `charge` is its size. At most once,
  // on a gRPC thread. gRPC keeps the call until this returns, even if it is answered in here.
  virtual void OnRequest(Request& request, ByteBudget::Charge charge) = 0;
  // There is no request, or an invalid one: answers the call.
  virtual void OnNoRequest(const absl::Status& why) override = 0;

  // Answers the call, which may no longer exist when these return.
  void Respond(const google::protobuf::Message& response) {
    stall_.Begin();
    out_ = WriteMessage(response);
    StartWriteAndFinish(&out_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void Respond(const absl::Status& status) {
    stall_.Begin();
    Finish(ToRpcStatus(status, context_));
  }
  // Sends one of several answers; EndWrite is called when it has been written.
  void Write(const google::protobuf::Message& response) { Write(WriteMessage(response)); }
  void Write(grpc::ByteBuffer response) {
    stall_.Begin();
    out_ = std::move(response);
    StartWrite(&out_);
  }
  void EndWrite() {
    stall_.End();
    out_.Clear();
  }

  // gRPC no longer uses it.
  void OnDone() override { delete this; }

  // The engine has answered, or will not be asked: others may take the call's place.
  void LeaveQueue() {
    queued_.Done();
    beyond_ = {};
  }

  // Immutable after construction.
  ServerState& server_;
  grpc::CallbackServerContext& context_;
  // Set before anything else may use the call, then used by its running step, and by the engine's
  // completion, which ends it; otherwise the call's end does.
  QueueGate::Stay queued_;

 private:
  // False: the accepted calls wait too long. Even then a client may have a few inside, so that
  // others' calls, or those that they have reset, do not keep it out.
  bool EnterQueue() {
    queued_ = queue_->TryEnter();
    if (queued_ || !queue_->refuses()) return true;
    beyond_ = server_.beyond_queues.TryTake(arrival_->client());
    return bool{beyond_};
  }

  void BeginRead() override { StartRead(&raw_); }

  void OnReadDone(bool ok) override {
    server_.arrivals(way_).Leave(arrival_->client());
    if (!arrival_->TryArrive()) return raw_.Clear();  // for example it took too long
    if (!ok) {
      return OnNoRequest(Error(ErrorReason::kCallerGone, "the call has ended without a request"));
    }
    NoteReceived(raw_);
    queued_.Arrived();
    Request request;
    absl::StatusOr<ByteBudget::Charge> charge =
        ParseWithin(server_, way_ == CallWay::kWrite, &raw_, &request);
    if (!charge.ok()) return OnNoRequest(charge.status());
    if (const absl::Status allowed = permit_.CheckRequest(request); !allowed.ok()) {
      permit_.Audit(allowed);
      return OnNoRequest(allowed);
    }
    NoteArrival();
    if (WantsWords()) {
      NoteObject(ObjectOf(request));
      NoteRows(RowsOf(request));
    }
    OnRequest(request, *std::move(charge));
  }

  void OnCancel() final { arrival_->EndNow(CancelledStatus(context_)); }

  // Immutable after construction.
  const CallWay way_;
  const bool whole_call_;
  QueueGate* const queue_;

  // destroyed last: a thread that waits for the drain then finds everything returned
  DrainGate::Stay stay_;
  ClientShares::Hold beyond_;  // if the queue was full
  std::shared_ptr<Arrival> arrival_;
  grpc::ByteBuffer raw_;  // of the running read
  grpc::ByteBuffer out_;  // of the running write
  ExpiryQueue::Watch limit_;
  StallWatch stall_;  // first for the answer, then for OnDone
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_ARRIVING_CALL_H_
