// A call with one request whose answers, a few small messages, are known at once and written one
// after the other. Begins on a gRPC thread, which does its work; then gRPC owns the call.
#ifndef ERIS_SERVER_CALLS_ANSWERS_CALL_H_
#define ERIS_SERVER_CALLS_ANSWERS_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/calls/arriving_call.h"
#include "server/guard/byte_budget.h"
#include "server/guard/scan_stop.h"
#include "server/state/server_state.h"

namespace eris::server {

template <class Request, class Answer>
class AnswersCall final : public ArrivingCall<Request> {
 public:
  // Adds the answers; must not block.
  using Work = absl::Status (*)(ServerState& server, Permit& permit, const Request& request,
                                std::vector<Answer>* answers);

  // gRPC owns the result.
  static AnswersCall* Begin(ServerState& server, grpc::CallbackServerContext& context, Work work) {
    auto* call = new AnswersCall(server, context, work);
    call->Arrive(call->stop_);
    return call;
  }

 private:
  AnswersCall(ServerState& server, grpc::CallbackServerContext& context, Work work)
      : ArrivingCall<Request>(server, context, CallWay::kControl, /*whole_call=*/false),
        work_(work) {}

  void OnRequest(Request& request, ByteBudget::Charge charge) override {
    charge_ = std::move(charge);  // answers are about as large as the request, or smaller
    const absl::Status status = work_(this->server_, this->permit_, request, &answers_);
    status.ok() ? WriteNext() : this->Respond(status);
  }
  void OnNoRequest(const absl::Status& why) override { this->Respond(why); }
  void OnWriteDone(bool ok) override {
    this->EndWrite();
    if (ok) return WriteNext();
    this->Respond(stop_->reason().value_or(GoneStatus()));
  }

  void WriteNext() {
    if (const auto reason = stop_->reason()) return this->Respond(*reason);
    if (written_ == answers_.size()) return this->Respond(absl::OkStatus());
    this->Write(answers_[written_++]);
  }

  const Work work_;
  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the running step.
  std::vector<Answer> answers_;
  size_t written_ = 0;
  ByteBudget::Charge charge_;
};

// For RawService::Serve: makes calls that do `work`.
template <class Request, class Answer>
auto AnswersBeginner(ServerState& server,
                     absl::Status (*work)(ServerState&, Permit&, const Request&,
                                          std::vector<Answer>*)) {
  return [&server, work](grpc::CallbackServerContext& context) {
    return AnswersCall<Request, Answer>::Begin(server, context, work);
  };
}

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_ANSWERS_CALL_H_
