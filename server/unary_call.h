// One unary data call: from the handler to OnDone. Begins on a gRPC thread, is answered on the
// engine's completion thread, or by whoever cancels it (see CallState): the client, the drain, the
// server's limit of time.
#ifndef ERIS_SERVER_UNARY_CALL_H_
#define ERIS_SERVER_UNARY_CALL_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <utility>

#include "server/batch_ops.h"
#include "server/call_cutter.h"
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
  static UnaryCall* Begin(ServerState& server, grpc::CallbackServerContext& context,
                          const typename Op::Request& request, typename Op::Response* response) {
    auto* call = new UnaryCall(server, context, response);
    // gRPC lets the call live until it has the result, also where it is answered in here.
    const CallbacksHere here(*server.engine);
    call->Run(request);
    return call;
  }

 private:
  // The part that the engine, the gate and the call share; it outlives the call.
  struct Handover final : Drainable, ExpiryQueue::Owner {
    Handover(UnaryCall* call_in, const ServerConfig& config_in)
        : call(call_in), config(config_in) {}
    void OnDrainTimeout(const absl::Status& status) override { End(status); }
    void OnExpired(uint64_t) override { End(TooLongStatus(config, Op::kIsWrite)); }
    void End(const absl::Status& status) {
      if (state.TryCancel(status)) call->Respond(status);
    }
    CallState state;
    UnaryCall* const call;  // touched by the winner of `state` only
    const ServerConfig& config;
  };

  UnaryCall(ServerState& server, grpc::CallbackServerContext& context,
            typename Op::Response* response)
      : server_(server),
        context_(context),
        response_(response),
        stall_(context, &server.stalls.queue()) {}

  void Run(const typename Op::Request& request) {
    stay_ = server_.gate.TryEnter(handover_);
    if (!stay_) return Refuse(DrainGate::RefusedStatus());
    const uint64_t bytes = Op::Bytes(request);
    charge_ = server_.budget.TryTake(bytes);
    if (!charge_) return Refuse(OverBudgetStatus(server_.budget, bytes));
    limit_.Begin(server_.calls.queue(), handover_);
    auto done = [handover = handover_](auto result) {
      if (handover->state.TryComplete()) handover->call->Answer(std::move(result));
    };
    const SessionPool::Lease session = server_.sessions.Borrow();
    absl::StatusOr<std::shared_ptr<Pending>> started;
    if constexpr (requires { Op::kUsesServer; }) {
      started = Op::Start(server_, *session, request, std::move(done));
    } else {
      started = Op::Start(*session, request, std::move(done));
    }
    if (!started.ok()) return Refuse(started.status());
    handover_->state.Attach(*std::move(started));
  }

  void Refuse(const absl::Status& status) {
    if (handover_->state.TryComplete()) Respond(status);
  }

  template <class Result>
  void Answer(Result result) {
    const uint64_t bytes = AnswerBytes(result);
    if (bytes > 0 && !charge_.TryGrow(bytes) && !Op::kIsWrite) {
      return Respond(AnswerOverBudgetStatus(bytes));
    }
    Respond(Op::Fill(result, response_));
  }

  // By the winner. The call may be gone when it returns.
  void Respond(const absl::Status& status) {
    stall_.Begin();
    Finish(ToRpcStatus(status));
  }

  void OnCancel() override { handover_->End(CancelledStatus(context_)); }

  void OnDone() override { delete this; }

  ServerState& server_;
  const grpc::CallbackServerContext& context_;
  typename Op::Response* const response_;
  const std::shared_ptr<Handover> handover_ = std::make_shared<Handover>(this, server_.config);
  DrainGate::Stay stay_;  // destroyed last: who waits for the drain finds everything given back
  ByteBudget::Charge charge_;
  ExpiryQueue::Watch limit_;
  StallWatch stall_;  // the winner's, then OnDone's
};

}  // namespace eris::server

#endif  // ERIS_SERVER_UNARY_CALL_H_
