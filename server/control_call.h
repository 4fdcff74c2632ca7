// One call of the catalogue or admin service: runs on the control thread, where it may block. It
// cannot be cancelled once it has begun; a drain waits for it. Up to kWaitingMax requests wait for
// that one thread, so they are charged to the byte budget like data.
#ifndef ERIS_SERVER_CONTROL_CALL_H_
#define ERIS_SERVER_CONTROL_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/call_cutter.h"
#include "server/rpc_status.h"
#include "server/server_state.h"

namespace eris::server {

class ControlCall final : public grpc::ServerUnaryReactor {
 public:
  // `request` and `context` are the call's own. Runs `work`, which returns an absl::Status and may
  // write the response. gRPC owns the result.
  template <class Work>
  static ControlCall* Begin(ServerState& server, grpc::CallbackServerContext& context,
                            const google::protobuf::Message& request, Work work) {
    auto* call = new ControlCall(server, context);
    const absl::Status status = call->TryPost(server, request.SpaceUsedLong(), std::move(work));
    if (!status.ok()) call->Respond(status);
    return call;
  }

 private:
  struct Inside final : Drainable {
    void OnDrainTimeout(const absl::Status&) override {}
  };

  ControlCall(ServerState& server, grpc::CallbackServerContext& context)
      : stall_(context, &server.stalls.queue()) {}

  // Not OK: the work will not run, respond.
  template <class Work>
  absl::Status TryPost(ServerState& server, uint64_t bytes, Work work) {
    stay_ = server.gate.TryEnter(std::make_shared<Inside>());
    if (!stay_) return DrainGate::RefusedStatus();
    charge_ = server.budget.TryTake(bytes);
    if (!charge_) return OverBudgetStatus(server.budget, bytes);
    if (server.control.TryPost([this, work = std::move(work)]() mutable { Respond(work()); })) {
      return absl::OkStatus();
    }
    return absl::ResourceExhaustedError(
        absl::StrCat(ControlExecutor::kWaitingMax, " catalogue and admin calls wait already"));
  }

  void Respond(const absl::Status& status) {
    stall_.Begin();
    Finish(ToRpcStatus(status));
  }

  void OnDone() override { delete this; }

  DrainGate::Stay stay_;  // destroyed last: who waits for the drain finds everything given back
  ByteBudget::Charge charge_;
  StallWatch stall_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CONTROL_CALL_H_
