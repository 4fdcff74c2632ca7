// One call of the catalogue or admin service: runs on the control thread, where it may block. It
// cannot be cancelled once it has begun; a drain waits for it.
#ifndef ERIS_SERVER_CONTROL_CALL_H_
#define ERIS_SERVER_CONTROL_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc_status.h"
#include "server/server_state.h"

namespace eris::server {

class ControlCall final : public grpc::ServerUnaryReactor {
 public:
  // Runs `work`, which returns an absl::Status and may write the response. gRPC owns the result.
  template <class Work>
  static ControlCall* Begin(ServerState& server, Work work) {
    auto* call = new ControlCall();
    call->stay_ = server.gate.TryEnter(std::make_shared<Inside>());
    if (!call->stay_) {
      call->Finish(ToRpcStatus(DrainGate::RefusedStatus()));
    } else if (!server.control.TryPost([call, work = std::move(work)]() mutable {
                 call->Finish(ToRpcStatus(work()));
               })) {
      call->Finish(ToRpcStatus(absl::ResourceExhaustedError(
          absl::StrCat(ControlExecutor::kWaitingMax, " catalogue and admin calls wait already"))));
    }
    return call;
  }

 private:
  struct Inside final : Drainable {
    void OnDrainTimeout(const absl::Status&) override {}
  };

  void OnDone() override { delete this; }

  DrainGate::Stay stay_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CONTROL_CALL_H_
