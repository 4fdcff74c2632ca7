// One call that moves ranges. It runs on a thread that all of these share, and that no other call
// waits for; it is answered when it has ended, which its deadline, its client and a drain can bring
// about at the border of a chunk:
//
//   waiting --its turn--> moving --done, refused, deadline, given up, drain--> answered
//      `--given up, drain--> answered in its turn
#ifndef ERIS_SERVER_TRANSFER_CALL_H_
#define ERIS_SERVER_TRANSFER_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "eris/move_stop.h"
#include "server/call_cutter.h"
#include "server/rpc_status.h"
#include "server/server_state.h"

namespace eris::server {

// What can be told to stop. Any thread; outlives the call.
class TransferEffort final : public Drainable {
 public:
  // Runs `work(&stop)`, unless it has been stopped before: then why.
  template <class Work>
  absl::Status Run(Work work) {
    ERIS_RETURN_IF_ERROR(stop_.why());
    return work(&stop_);
  }

  // The first reason counts.
  void Stop(const absl::Status& why) { stop_.Stop(why); }

  // Nothing is worth waiting for: what is left to move stays where it is.
  void OnDrain() override { Stop(DrainGate::RefusedStatus()); }
  void OnDrainTimeout(const absl::Status& status) override { Stop(status); }

 private:
  MoveStop stop_;
};

class TransferCall final : public grpc::ServerUnaryReactor {
 public:
  // `request` and `context` are the call's own. Runs `work(deadline, stop)`, which returns
  // an absl::Status and may write the response. gRPC owns the result.
  template <class Work>
  static TransferCall* Begin(ServerState& server, grpc::CallbackServerContext& context,
                             const google::protobuf::Message& request, Work work) {
    auto* call = new TransferCall(server, context);
    const absl::Time deadline = absl::FromChrono(context.deadline());
    const absl::Status status =
        call->TryPost(server, request.SpaceUsedLong(),
                      [work = std::move(work), deadline](MoveStop* stop) mutable {
                        return work(deadline, stop);
                      });
    if (!status.ok()) call->Respond(status);
    return call;
  }

 private:
  TransferCall(ServerState& server, grpc::CallbackServerContext& context)
      : context_(context),
        effort_(std::make_shared<TransferEffort>()),
        stall_(context, &server.stalls.queue()) {}

  // Not OK: the work will not run, respond.
  template <class Work>
  absl::Status TryPost(ServerState& server, uint64_t bytes, Work work) {
    stay_ = server.gate.TryEnter(effort_);
    if (!stay_) return DrainGate::RefusedStatus();
    charge_ = server.budget.TryTake(bytes);
    if (!charge_) return OverBudgetStatus(server.budget, bytes);
    if (server.transfers.TryPost(
            [this, work = std::move(work)]() mutable { Respond(effort_->Run(std::move(work))); })) {
      return absl::OkStatus();
    }
    return absl::ResourceExhaustedError(
        absl::StrCat(ControlExecutor::kWaitingMax, " calls that move ranges wait already"));
  }

  void Respond(const absl::Status& status) {
    stall_.Begin();
    Finish(ToRpcStatus(status));
  }

  // Also at the deadline.
  void OnCancel() override {
    const bool late = absl::Now() >= absl::FromChrono(context_.deadline());
    effort_->Stop(late ? absl::DeadlineExceededError("the caller gave up: its deadline has passed")
                       : absl::CancelledError("the caller gave up, or is gone"));
  }

  void OnDone() override { delete this; }

  grpc::CallbackServerContext& context_;
  DrainGate::Stay stay_;  // destroyed last: who waits for the drain finds everything given back
  ByteBudget::Charge charge_;
  const std::shared_ptr<TransferEffort> effort_;
  StallWatch stall_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_TRANSFER_CALL_H_
