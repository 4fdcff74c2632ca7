#include "server/queries/analyze_call.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "server/queries/read_plan.h"

namespace eris::server {

AnalyzeCall* AnalyzeCall::Begin(ServerState& server, grpc::CallbackServerContext& context) {
  auto* call = new AnalyzeCall(server, context);
  call->Arrive(call->stop_);
  return call;
}

void AnalyzeCall::OnRequest(v1::AnalyzeRequest& request, ByteBudget::Charge charge) {
  charge_ = std::move(charge);
  charge_.Shrink(std::min<uint64_t>(charge_.bytes(), request.SpaceUsedLong()));
  session_ = server_.sessions.Borrow();
  if (const absl::Status opened = Open(request); !opened.ok()) return Respond(opened);
  if (const auto reason = stop_->reason()) return Respond(*reason);
  query_->NextAsync([this](Scan::NextResult text) { OnText(std::move(text)); });
}

absl::Status AnalyzeCall::Open(const v1::AnalyzeRequest& request) {
  ERIS_ASSIGN_OR_RETURN(running_,
                        server_.queries.Enter(context_.peer(), ClientOf(context_), stop_));
  ERIS_ASSIGN_OR_RETURN(const QueryPlan plan,
                        ReadPlan(server_, *session_, permit_, request.plan()));
  ERIS_ASSIGN_OR_RETURN(query_, session_->OpenAnalysis(plan));
  stop_->Attach(query_.get());
  return absl::OkStatus();
}

void AnalyzeCall::OnText(Scan::NextResult text) {
  if (const auto reason = stop_->reason()) return Respond(*reason);
  if (!text.ok()) return Respond(text.status());
  const absl::string_view shown = (*text)->String(0, 0);
  // It exists twice until the client has read it: in the response, and in gRPC's bytes.
  if (!charge_.TryGrow(2 * shown.size())) return Respond(AnswerOverBudgetStatus(shown.size()));
  v1::AnalyzeResponse response;
  response.set_text(std::string(shown));
  text->reset();
  Respond(response);
}

void AnalyzeCall::OnDone() {
  stop_->Detach();
  ArrivingCall::OnDone();
}

}  // namespace eris::server
