// One call of the catalogue or admin service, or one that makes a table or holds a snapshot. It
// runs on a thread that may block: on the control thread, on those for calls that move ranges,
// which may take long, or on those for Arrow Flight's plans, which must not wait for an operator's
// calls. Up to kWaitingMax requests wait for each of the three, and clients take turns.
//
//   arriving --> waiting --its turn--> running --> answered
//       `-----------`--client gone, deadline, drain--> answered (where it waits: in its turn)
//
// A call of the control thread, or of Flight's, cannot be ended once it runs, and a drain waits for
// it. A call that moves ranges ends at a chunk boundary, and as soon as the server drains: ranges
// that have not moved stay where they are.
#ifndef ERIS_SERVER_CALLS_CONTROL_CALL_H_
#define ERIS_SERVER_CALLS_CONTROL_CALL_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "eris/move_stop.h"
#include "server/calls/arriving_call.h"
#include "server/state/server_state.h"

namespace eris::server {

enum class ControlLane { kControl, kMoves, kFlights };

inline ControlExecutor& ExecutorOf(ServerState& server, ControlLane lane) {
  return lane == ControlLane::kMoves     ? server.moves
         : lane == ControlLane::kFlights ? server.flights
                                         : server.control;
}
inline absl::Status TooManyWait(ControlLane lane) {
  return Error(ErrorReason::kControlQueueFull,
               absl::StrCat(lane == ControlLane::kMoves     ? "calls that move ranges"
                            : lane == ControlLane::kFlights ? "calls of Arrow Flight"
                                                            : "catalogue and admin calls",
                            " wait already: ", ControlExecutor::kWaitingMax,
                            " of all clients, or this client's share of them"),
               {.limit = absl::StrCat(ControlExecutor::kWaitingMax)});
}

// The part of a call that can be told to stop. Any thread; outlives the call.
class ControlEffort final : public Drainable {
 public:
  explicit ControlEffort(ControlLane lane) : lane_(lane) {}

  // Runs `work(&stop)`; if it was stopped before, returns the reason instead.
  template <class Work>
  absl::Status Run(Work work) {
    ERIS_RETURN_IF_ERROR(stop_.why());
    return work(&stop_);
  }

  // The first reason counts.
  void Stop(const absl::Status& why) { stop_.Stop(why); }

  void OnDrain() override {
    if (lane_ == ControlLane::kMoves) Stop(DrainGate::RefusedStatus());
  }
  void EndNow(const absl::Status& status) override { Stop(status); }

 private:
  const ControlLane lane_;
  MoveStop stop_;
};

// The context of a call besides its request.
struct ControlScope {
  ServerState& server;
  const std::string& client;  // client_shares.h
  absl::Time begin;           // of the call, which may have waited
  absl::Time deadline;        // the client's
  MoveStop* stop;             // for work that can be ended while it runs
  Permit& permit;             // for objects that the work finds itself
};

template <class Request, class Response>
class ControlCall final : public ArrivingCall<Request> {
 public:
  // The work of the call, on its lane's thread; may write the response.
  using Work = std::function<absl::Status(const ControlScope& scope, const Request& request,
                                          Response* response)>;

  // gRPC owns the call.
  static ControlCall* Begin(ServerState& server, grpc::CallbackServerContext& context,
                            ControlLane lane, const Work& work) {
    auto* call = new ControlCall(server, context, lane, work);
    call->Arrive(call->effort_);
    return call;
  }

 private:
  using Base = ArrivingCall<Request>;

  ControlCall(ServerState& server, grpc::CallbackServerContext& context, ControlLane lane,
              const Work& work)
      : Base(server, context, CallWay::kControl, /*whole_call=*/false),
        lane_(lane),
        work_(work),
        effort_(std::make_shared<ControlEffort>(lane)) {}

  void OnRequest(Request& request, ByteBudget::Charge charge) override {
    request_ = std::move(request);
    charge_ = std::move(charge);
    charge_.Shrink(std::min<uint64_t>(charge_.bytes(), request_.SpaceUsedLong()));
    client_ = this->ClientOf(this->context_);
    if (ExecutorOf(this->server_, lane_).TryPost(client_, [this] { Run(); })) return;
    Refuse(TooManyWait(lane_));
  }

  void Run() {
    Response response;
    const absl::Status status = effort_->Run([&](MoveStop* stop) -> absl::Status {
      // It may have waited for long: its token may have lost its role, or have been revoked.
      ERIS_RETURN_IF_ERROR(this->permit_.CheckRequest(request_));
      const ControlScope scope{this->server_, client_,
                               begin_,        absl::FromChrono(this->context_.deadline()),
                               stop,          this->permit_};
      return work_(scope, request_, &response);
    });
    if (!status.ok()) return Refuse(status);
    // It is kept until the client has taken it. Small ones are bounded by the number of calls, and
    // what has been done should be told.
    const uint64_t bytes = response.ByteSizeLong();
    if (bytes > kSmallAnswerBytes && !charge_.TryGrow(bytes)) {
      return Refuse(AnswerOverBudgetStatus(bytes));
    }
    this->permit_.Audit(absl::OkStatus());
    this->Respond(response);
  }
  void Refuse(const absl::Status& status) {
    this->permit_.Audit(status);
    this->Respond(status);
  }

  void OnNoRequest(const absl::Status& why) override { this->Respond(why); }

  static constexpr uint64_t kSmallAnswerBytes = 64 << 10;

  const ControlLane lane_;
  const Work work_;
  const absl::Time begin_ = absl::Now();
  const std::shared_ptr<ControlEffort> effort_;
  std::string client_;
  Request request_;
  ByteBudget::Charge charge_;  // for the request and the answer
};

// For RawService::Serve: makes calls that do `work`.
template <class Request, class Response>
auto ControlBeginner(ServerState& server,
                     absl::Status (*work)(const ControlScope&, const Request&, Response*),
                     ControlLane lane = ControlLane::kControl) {
  return [&server, lane, work = typename ControlCall<Request, Response>::Work(work)](
             grpc::CallbackServerContext& context) {
    return ControlCall<Request, Response>::Begin(server, context, lane, work);
  };
}
// The same for an answer that needs only the server, on the control thread.
template <class Request, class Response>
auto ControlBeginner(ServerState& server,
                     absl::Status (*answer)(ServerState&, const Request&, Response*)) {
  const typename ControlCall<Request, Response>::Work work =
      [answer](const ControlScope& scope, const Request& request, Response* response) {
        return answer(scope.server, request, response);
      };
  return [&server, work](grpc::CallbackServerContext& context) {
    return ControlCall<Request, Response>::Begin(server, context, ControlLane::kControl, work);
  };
}

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_CONTROL_CALL_H_
