// One bidirectional stream of batches of eris.v1 (window_stream.h).
#ifndef ERIS_SERVER_CALLS_STREAM_CALL_H_
#define ERIS_SERVER_CALLS_STREAM_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "eris/engine.h"
#include "server/calls/answer_message.h"
#include "server/calls/call_bytes.h"
#include "server/calls/call_scope.h"
#include "server/calls/parse_within.h"
#include "server/calls/request_words.h"
#include "server/calls/window_stream.h"
#include "server/guard/rpc_status.h"
#include "server/state/server_state.h"

namespace eris::server {

template <class Op>
class StreamCall final : public WindowStream<grpc::ByteBuffer> {
 public:
  using Response = typename Op::StreamResponse;

  static auto Beginner(ServerState& server) {
    return [&server](grpc::CallbackServerContext& context) { return Begin(server, context); };
  }

  // gRPC owns the result.
  static StreamCall* Begin(ServerState& server, grpc::CallbackServerContext& context) {
    return new StreamCall(server, context);
  }

 private:
  StreamCall(ServerState& server, grpc::CallbackServerContext& context)
      : WindowStream(server, context, Op::kIsWrite) {}

  const grpc::ByteBuffer* MessageOf(const grpc::ByteBuffer* answer) override { return answer; }

  void OnMessage(grpc::ByteBuffer* raw) override {
    StreamRequest counted = BeginRequest(StreamRequest::Clock::now());
    // The message's own charge ends with this function; so does the message if it is large.
    absl::StatusOr<ByteBudget::Charge> message = ParseWithin(server_, Op::kIsWrite, raw, &request_);
    const absl::Status allowed = message.ok() ? permit_.CheckRequest(request_) : message.status();
    absl::StatusOr<typename Op::Plan> plan =
        allowed.ok() ? Op::Prepare(CallScope{*session_, server_.leases()}, request_)
                     : absl::StatusOr<typename Op::Plan>(allowed);
    if (message.ok() && WantsWords()) counted.SetWords(WordsOf(request_));
    uint64_t bytes = 0;
    ByteBudget::Charge charge;
    if (plan.ok()) {
      bytes = plan->bytes;
      charge = TakeBudget(server_, Op::kIsWrite, bytes);
      if (!charge) {
        plan = OverBudgetStatus(server_.budget, message->bytes() + bytes, Op::kIsWrite);
      }
    }
    const auto place = window_->Arrived(bytes, std::move(charge));
    if (!place) return;
    if (plan.ok()) {
      const CallbacksHere here(*server_.engine);  // the window holds no lock that an answer takes
      StartRequest(*place, *plan, std::move(counted));
    } else {
      window_->Answer(*place, Refusal(plan.status(), counted));
    }
    if (message.ok()) {
      kept_.Used(message->bytes(), &request_);
    } else {
      request_ = typename Op::Request();  // it may be parsed partly
    }
    window_->ReadTaken();
  }

  void StartRequest(Place place, const typename Op::Plan& plan, StreamRequest counted) {
    Session::StartedCall started = Op::Start(
        *session_, plan, request_,
        [window = window_, place, shape = plan.shape, counted](BatchResult result) {
          const uint64_t bytes = AnswerBytes(result);
          if (bytes > 0 && !window->TryCharge(place, bytes) && !Op::kIsWrite) {
            return window->Answer(place, Refusal(AnswerOverBudgetStatus(bytes), counted));
          }
          AnswerMessage<Response> response;
          const absl::Status status = Op::Fill(shape, result, response->mutable_response());
          if (!status.ok()) return window->Answer(place, Refusal(status, counted));
          response->mutable_status();
          counted.End(grpc::StatusCode::OK);
          window->Answer(place, WriteMessage(*response));
        });
    if (started.ok()) {
      window_->Attach(place, *std::move(started));
    } else {
      window_->Answer(place, Refusal(started.status(), counted));
    }
  }

  static grpc::ByteBuffer Refusal(const absl::Status& status, const StreamRequest& counted) {
    counted.End(static_cast<int>(status.code()));
    Response response;
    FillRequestStatus(status, response.mutable_status());
    return WriteMessage(response);
  }

  std::shared_ptr<const StreamRequest::Words> WordsOf(const typename Op::Request& request) {
    if (origin_ == nullptr) origin_ = std::make_shared<const CallOrigin>(OriginOf(context_));
    auto words = std::make_shared<StreamRequest::Words>();
    words->origin = origin_;
    words->object = ObjectOf(request);
    words->rows = RowsOf(request);
    return words;
  }

  std::shared_ptr<const CallOrigin> origin_{};  // once it is needed
  typename Op::Request request_;                // of the last finished read; its memory is reused
  KeptBytes kept_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_STREAM_CALL_H_
