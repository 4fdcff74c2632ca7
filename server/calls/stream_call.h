// One bidirectional stream of batches: gRPC's side of a StreamWindow. Requests of one stream use
// one session, so they reach the AEUs in the order of their arrival.
#ifndef ERIS_SERVER_CALLS_STREAM_CALL_H_
#define ERIS_SERVER_CALLS_STREAM_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "eris/engine.h"
#include "server/calls/answer_message.h"
#include "server/calls/arriving_call.h"
#include "server/calls/call_bytes.h"
#include "server/calls/call_scope.h"
#include "server/calls/parse_within.h"
#include "server/calls/raw_service.h"
#include "server/guard/call_cutter.h"
#include "server/guard/rpc_status.h"
#include "server/guard/stream_window.h"
#include "server/state/server_state.h"

namespace eris::server {

template <class Op>
class StreamCall final : public RawReactor, public StreamSink<grpc::ByteBuffer> {
 public:
  using Response = typename Op::StreamResponse;

  static auto Beginner(ServerState& server) {
    return [&server](grpc::CallbackServerContext& context) { return Begin(server, context); };
  }

  // gRPC owns the result.
  static StreamCall* Begin(ServerState& server, grpc::CallbackServerContext& context) {
    auto* call = new StreamCall(server, context);
    call->stay_ = server.gate.TryEnter(std::make_shared<WindowDrain>(call->window_));
    call->charge_ = server.budget.TryTake(kStreamBytes);
    if (call->stay_ && !call->charge_) {
      call->window_->End(OverBudgetStatus(server.budget, kStreamBytes));
    } else if (call->stay_) {
      call->session_ = server.sessions.Borrow();
      call->window_->Start();
    } else {
      call->window_->End(DrainGate::RefusedStatus());
    }
    return call;
  }

 private:
  using Window = StreamWindow<grpc::ByteBuffer>;
  // Memory of an idle stream: gRPC's call, its window and the session.
  static constexpr uint64_t kStreamBytes = 32 << 10;

  struct WindowDrain final : Drainable {
    explicit WindowDrain(std::shared_ptr<Window> window_in) : window(std::move(window_in)) {}
    void OnDrain() override { window->Drain(DrainGate::RefusedStatus()); }
    void EndNow(const absl::Status& status) override { window->End(status); }
    const std::shared_ptr<Window> window;
  };

  StreamCall(ServerState& server, grpc::CallbackServerContext& context)
      : server_(server),
        context_(context),
        window_(std::make_shared<Window>(
            Window::Limits{server.config.stream_requests_max, server.config.stream_bytes_max,
                           &server.budget, &server.calls.queue(),
                           TooLongStatus(server.config, Op::kIsWrite)},
            this)),
        stall_(context, &server.stalls.queue()) {}

  // Operations that the window starts.
  void BeginRead() override { this->StartRead(&raw_); }
  void BeginWrite(const grpc::ByteBuffer* response) override {
    stall_.Begin();
    this->StartWrite(response);
  }
  void EndStream(const absl::Status& status) override {
    stall_.Begin();  // the status is sent after the last answer
    this->Finish(ToRpcStatus(status));
  }

  void OnReadDone(bool ok) override {
    if (!ok) return window_->HalfClosed();
    // The message's own charge ends with this function; so does the message if it is large.
    absl::StatusOr<ByteBudget::Charge> message =
        ParseWithin(server_, Op::kIsWrite, &raw_, &request_);
    absl::StatusOr<typename Op::Plan> plan =
        message.ok() ? Op::Prepare(CallScope{*session_, server_.leases()}, request_)
                     : absl::StatusOr<typename Op::Plan>(message.status());
    uint64_t bytes = 0;
    ByteBudget::Charge charge;
    if (plan.ok()) {
      bytes = plan->bytes;
      charge = TakeBudget(server_, Op::kIsWrite, bytes);
      if (!charge) plan = OverBudgetStatus(server_.budget, bytes);
    }
    const auto place = window_->Arrived(bytes, std::move(charge));
    if (!place) return;
    if (plan.ok()) {
      const CallbacksHere here(*server_.engine);  // the window holds no lock that an answer takes
      StartRequest(*place, *plan);
    } else {
      window_->Answer(*place, Refusal(plan.status()));
    }
    if (message.ok()) {
      FreeIfLarge(Op::RequestBytes(request_), &request_);
    } else {
      request_ = typename Op::Request();  // it may be parsed partly
    }
    window_->ReadTaken();
  }

  void StartRequest(Window::Place place, const typename Op::Plan& plan) {
    Session::StartedCall started = Op::Start(
        *session_, plan, request_,
        [window = window_, place, shape = plan.shape](BatchResult result) {
          const uint64_t bytes = AnswerBytes(result);
          if (bytes > 0 && !window->TryCharge(place, bytes) && !Op::kIsWrite) {
            return window->Answer(place, Refusal(AnswerOverBudgetStatus(bytes)));
          }
          AnswerMessage<Response> response;
          const absl::Status status = Op::Fill(shape, result, response->mutable_response());
          if (!status.ok()) return window->Answer(place, Refusal(status));
          response->mutable_status();
          window->Answer(place, WriteMessage(*response));
        });
    if (started.ok()) {
      window_->Attach(place, *std::move(started));
    } else {
      window_->Answer(place, Refusal(started.status()));
    }
  }

  static grpc::ByteBuffer Refusal(const absl::Status& status) {
    const grpc::Status rpc_status = ToRpcStatus(status);
    Response response;
    response.mutable_status()->set_code(rpc_status.error_code());
    response.mutable_status()->set_message(rpc_status.error_message());
    return WriteMessage(response);
  }

  void OnWriteDone(bool ok) override {
    stall_.End();
    window_->WriteDone(ok);
  }
  void OnCancel() override { window_->End(CancelledStatus(context_)); }
  void OnDone() override { delete this; }

  ServerState& server_;
  const grpc::CallbackServerContext& context_;
  const std::shared_ptr<Window> window_;
  grpc::ByteBuffer raw_;          // of the running read
  typename Op::Request request_;  // of the last finished read; its memory is reused
  // destroyed last: a thread that waits for the drain then finds everything returned
  DrainGate::Stay stay_;
  ByteBudget::Charge charge_;   // for the stream itself
  SessionPool::Lease session_;  // used by one read at a time
  StallWatch stall_;            // of the running write or end
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_STREAM_CALL_H_
