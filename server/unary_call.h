// One unary data call: from the handler to OnDone. Begins on a gRPC thread, is answered on the
// engine's completion thread, or by whoever cancels it (see CallState): the client, the drain, the
// server's limit of time.
#ifndef ERIS_SERVER_UNARY_CALL_H_
#define ERIS_SERVER_UNARY_CALL_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <utility>

#include "server/arrival_gate.h"
#include "server/batch_ops.h"
#include "server/call_cutter.h"
#include "server/call_state.h"
#include "server/parse_within.h"
#include "server/raw_service.h"
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
class UnaryCall final : public RawReactor {
 public:
  static auto Beginner(ServerState& server) {
    return [&server](grpc::CallbackServerContext& context) { return Begin(server, context); };
  }

  // Never fails: a call that cannot be started is answered with the reason. gRPC owns the result.
  static UnaryCall* Begin(ServerState& server, grpc::CallbackServerContext& context) {
    auto* call = new UnaryCall(server, context);
    call->stay_ = server.gate.TryEnter(call->handover_);
    if (!call->stay_) {
      call->Refuse(DrainGate::RefusedStatus());
      return call;
    }
    call->limit_.Begin(server.calls.queue(), call->handover_);
    server.arrivals(Op::kIsWrite).Enter(call->handover_);
    return call;
  }

 private:
  // The part that the engine, the gates and the call share; it outlives the call.
  struct Handover final : Drainable, ExpiryQueue::Owner, ArrivalGate::Waiter {
    Handover(UnaryCall* call_in, const ServerConfig& config_in)
        : call(call_in), config(config_in) {}
    void OnDrainTimeout(const absl::Status& status) override { End(status); }
    void OnExpired(uint64_t) override { End(TooLongStatus(config, Op::kIsWrite)); }
    void End(const absl::Status& status) {
      if (state.TryCancel(status)) call->Respond(status);
    }
    bool OnTurn() override {
      base::MutexLock lock(&mu);
      if (finished) return false;
      call->StartRead(&call->raw_);
      return true;
    }
    // After it no read begins.
    void SetFinished() {
      base::MutexLock lock(&mu);
      finished = true;
    }
    bool IsFinished() {
      base::MutexLock lock(&mu);
      return finished;
    }

    CallState state;
    UnaryCall* const call;  // touched by the winner of `state` only, and before `finished`
    const ServerConfig& config;
    base::Mutex mu;  // held while a read begins: gRPC answers it on another thread, or later
    bool finished ABSL_GUARDED_BY(mu) = false;
  };

  UnaryCall(ServerState& server, grpc::CallbackServerContext& context)
      : server_(server), context_(context), stall_(context, &server.stalls.queue()) {}

  void OnReadDone(bool ok) override {
    server_.arrivals(Op::kIsWrite).Leave();
    if (!ok) return handover_->End(absl::CancelledError("the call has ended without a request"));
    if (handover_->IsFinished()) return;  // it took too long to arrive
    // gRPC lets the call live until this returns, also where it is answered in here.
    const CallbacksHere here(*server_.engine);
    Run();
  }

  void Run() {
    // The message itself lives until this function returns.
    typename Op::Request request;
    absl::StatusOr<ByteBudget::Charge> message =
        ParseWithin(server_, Op::kIsWrite, &raw_, &request);
    if (!message.ok()) return Refuse(message.status());
    const uint64_t bytes = Op::Bytes(request);
    charge_ = TakeBudget(server_, Op::kIsWrite, bytes);
    if (!charge_) return Refuse(OverBudgetStatus(server_.budget, bytes));
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
    typename Op::Response response;
    const absl::Status status = Op::Fill(result, &response);
    if (status.ok()) response_ = WriteMessage(response);
    Respond(status);
  }

  // By the winner. The call may be gone when it returns.
  void Respond(const absl::Status& status) {
    stall_.Begin();
    handover_->SetFinished();
    if (status.ok()) {
      StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
    } else {
      Finish(ToRpcStatus(status));
    }
  }

  void OnCancel() override { handover_->End(CancelledStatus(context_)); }

  void OnDone() override { delete this; }

  ServerState& server_;
  const grpc::CallbackServerContext& context_;
  grpc::ByteBuffer raw_;       // of the read under way
  grpc::ByteBuffer response_;  // the winner's
  const std::shared_ptr<Handover> handover_ = std::make_shared<Handover>(this, server_.config);
  DrainGate::Stay stay_;  // destroyed last: who waits for the drain finds everything given back
  ByteBudget::Charge charge_;
  ExpiryQueue::Watch limit_;
  StallWatch stall_;  // the winner's, then OnDone's
};

}  // namespace eris::server

#endif  // ERIS_SERVER_UNARY_CALL_H_
