// One unary data call: from the handler to OnDone. Begins on a gRPC thread, is answered on the
// engine's completion thread, or by whoever cancels it (see CallState).
#ifndef ERIS_SERVER_UNARY_CALL_H_
#define ERIS_SERVER_UNARY_CALL_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <utility>

#include "server/batch_ops.h"
#include "server/call_state.h"
#include "server/rpc_status.h"
#include "server/server_state.h"

namespace eris::server {

// What a call ends with that gRPC has cancelled.
inline absl::Status CancelledStatus(const grpc::CallbackServerContext& context) {
  if (context.deadline() <= std::chrono::system_clock::now()) {
    return absl::DeadlineExceededError("the call's deadline has passed");
  }
  return absl::CancelledError("the client has cancelled the call, or is gone");
}

template <class Op>
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  // Never fails: a call that cannot be started is answered with the reason. gRPC owns the result.
  static UnaryCall* Begin(ServerState& server, const grpc::CallbackServerContext& context,
                          const typename Op::Request& request, typename Op::Response* response) {
    auto* call = new UnaryCall(context, response);
    call->Run(server, request);
    return call;
  }

 private:
  // The part that the engine, the gate and the call share; it outlives the call.
  struct Handover final : Drainable {
    explicit Handover(UnaryCall* call_in) : call(call_in) {}
    void OnDrainTimeout(const absl::Status& status) override {
      if (state.TryCancel(status)) call->Finish(ToRpcStatus(status));
    }
    CallState state;
    UnaryCall* const call;  // touched by the winner of `state` only
  };

  UnaryCall(const grpc::CallbackServerContext& context, typename Op::Response* response)
      : context_(context), response_(response) {}

  void Run(ServerState& server, const typename Op::Request& request) {
    stay_ = server.gate.TryEnter(handover_);
    if (!stay_) return Refuse(DrainGate::RefusedStatus());
    const uint64_t bytes = Op::Bytes(request);
    charge_ = server.budget.TryTake(bytes);
    if (!charge_) return Refuse(OverBudgetStatus(server.budget, bytes));
    StartedBatch started =
        Op::Start(*server.sessions.Borrow(), request, [handover = handover_](BatchResult result) {
          if (handover->state.TryComplete()) handover->call->Answer(std::move(result));
        });
    if (!started.ok()) return Refuse(started.status());
    handover_->state.Attach(*std::move(started));
  }

  void Refuse(const absl::Status& status) {
    if (handover_->state.TryComplete()) Finish(ToRpcStatus(status));
  }

  void Answer(BatchResult result) {
    if (result.status.ok()) Op::Fill(result, response_);
    Finish(ToRpcStatus(result.status));
  }

  void OnCancel() override {
    const absl::Status status = CancelledStatus(context_);
    if (handover_->state.TryCancel(status)) Finish(ToRpcStatus(status));
  }

  void OnDone() override { delete this; }

  const grpc::CallbackServerContext& context_;
  typename Op::Response* const response_;
  const std::shared_ptr<Handover> handover_ = std::make_shared<Handover>(this);
  ByteBudget::Charge charge_;
  DrainGate::Stay stay_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_UNARY_CALL_H_
