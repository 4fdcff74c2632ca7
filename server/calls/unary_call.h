// One unary data call, from the handler to OnDone. Begins on a gRPC thread. The answer comes from
// a completion thread of the engine, or from the thread that cancels it (see CallState): for the
// client, the drain, or the server's time limit.
#ifndef ERIS_SERVER_CALLS_UNARY_CALL_H_
#define ERIS_SERVER_CALLS_UNARY_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "server/calls/answer_message.h"
#include "server/calls/arriving_call.h"
#include "server/calls/call_bytes.h"
#include "server/calls/call_scope.h"
#include "server/guard/call_state.h"
#include "server/overload/client_shares.h"
#include "server/state/server_state.h"

namespace eris::server {

template <class Op>
class UnaryCall final : public ArrivingCall<typename Op::Request> {
 public:
  static auto Beginner(ServerState& server) {
    // Never fails: a call that cannot be started is answered with the reason. gRPC owns it.
    return [&server](grpc::CallbackServerContext& context) {
      auto* call = new UnaryCall(server, context);
      call->Arrive(call->handover_);
      return call;
    };
  }

 private:
  // A call that needs as much has a share of its client's: all calls that a client may have at once
  // are few bytes if each needs less.
  static constexpr uint64_t kLargeBytes = 64 << 10;

  using Base = ArrivingCall<typename Op::Request>;

  // The part that the engine, the drain and the call share; it outlives the call.
  struct Handover final : Drainable {
    explicit Handover(UnaryCall* call_in) : call(call_in) {}
    void EndNow(const absl::Status& status) override {
      if (state.TryCancel(status)) call->Respond(status);
    }

    CallState state;
    UnaryCall* const call;  // used only by the winner of `state`
  };

  UnaryCall(ServerState& server, grpc::CallbackServerContext& context)
      : Base(server, context, Op::kIsWrite ? CallWay::kWrite : CallWay::kRead,
             /*whole_call=*/true, QueueOf(server)) {}

  // Batches wait for AEUs only. Other calls may be long by themselves, and tell nothing about a
  // queue.
  static QueueGate* QueueOf(ServerState& server) {
    if constexpr (requires { typename Op::StreamResponse; }) return &server.queued(Op::kIsWrite);
    return nullptr;
  }

  void OnRequest(typename Op::Request& request, ByteBudget::Charge message) override {
    const CallbacksHere here(*this->server_.engine);
    const SessionPool::Lease session = this->server_.sessions.Borrow();
    absl::StatusOr<typename Op::Plan> plan =
        Op::Prepare(CallScope{*session, this->server_.leases()}, request);
    if (!plan.ok()) return Fail(plan.status());
    if (absl::Status shared = TakeShare(plan->bytes); !shared.ok()) return Fail(shared);
    charge_ = TakeBudget(this->server_, Op::kIsWrite, plan->bytes);
    if (!charge_) {
      return Fail(
          OverBudgetStatus(this->server_.budget, message.bytes() + plan->bytes, Op::kIsWrite));
    }
    shape_ = plan->shape;
    Session::StartedCall started =
        Op::Start(*session, *plan, request, [handover = handover_](auto result) {
          if (handover->state.TryComplete()) handover->call->Answer(std::move(result));
        });
    if (!started.ok()) return Fail(started.status());
    handover_->state.Attach(*std::move(started));
  }

  // `bytes` more of the client's share, if the call is large. Errors: ResourceExhausted.
  absl::Status TakeShare(uint64_t bytes) {
    if (share_) {
      return GrowAnswerShare(this->server_, bytes, share_) ? absl::OkStatus()
                                                           : AnswerOverBudgetStatus(bytes);
    }
    if (bytes < kLargeBytes) return absl::OkStatus();
    ERIS_ASSIGN_OR_RETURN(share_,
                          TakeAnswerShare(this->server_, this->ClientOf(this->context_), bytes));
    return absl::OkStatus();
  }

  // The request has arrived, and is not for the engine.
  void Fail(const absl::Status& why) {
    this->LeaveQueue();
    OnNoRequest(why);
  }
  void OnNoRequest(const absl::Status& why) override {
    if (handover_->state.TryComplete()) Refuse(why);
  }
  void Refuse(const absl::Status& why) {
    GiveBack();
    this->Respond(why);
  }
  // Before an answer that needs none of it: the client's next call may come before OnDone, and has
  // to find that room.
  void GiveBack() {
    share_ = {};
    if (charge_) charge_.Shrink(0);
  }

  template <class Result>
  void Answer(Result result) {
    this->LeaveQueue();
    if constexpr (Op::kIsWrite) GiveBack();  // what it wrote is the engine's now
    const uint64_t bytes = AnswerBytes(result);
    const bool room = bytes == 0 || (TakeShare(bytes).ok() && charge_.TryGrow(bytes));
    if (!room && !Op::kIsWrite) {
      { const Result gone = std::move(result); }
      return Refuse(AnswerOverBudgetStatus(bytes));
    }
    AnswerMessage<typename Op::Response> response;
    const absl::Status status = Op::Fill(shape_, result, &*response);
    if (!status.ok()) return Refuse(status);
    this->Respond(*response);
  }

  const std::shared_ptr<Handover> handover_ = std::make_shared<Handover>(this);
  ByteBudget::Charge charge_;
  ClientShares::Hold share_;  // if it is large
  typename Op::Shape shape_;  // of the answer
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_UNARY_CALL_H_
