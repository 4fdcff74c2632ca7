#include "server/queries/execute_call.h"

#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "server/queries/read_plan.h"

namespace eris::server {

ExecuteCall* ExecuteCall::Begin(ServerState& server, grpc::CallbackServerContext& context) {
  auto* call = new ExecuteCall(server, context);
  call->ChunkStream::Begin();
  return call;
}

absl::Status ExecuteCall::Open(const v1::ExecuteRequest& request) {
  ERIS_ASSIGN_OR_RETURN(running_,
                        server_.queries.Enter(context_.peer(), ClientOf(context_), stop_));
  ERIS_ASSIGN_OR_RETURN(const QueryPlan plan,
                        ReadPlan(server_, *session_, permit_, request.plan()));
  ERIS_ASSIGN_OR_RETURN(std::unique_ptr<Scan> query, session_->OpenQuery(plan));
  return Attach(std::move(query), /*rows_max=*/0);
}

void ExecuteCall::OnWrite(bool, v1::ExecuteResponse& response) {
  running_.AddRows(response.rows());
}

}  // namespace eris::server
