#include "server/queries/queries_service.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/calls/control_call.h"
#include "server/guard/running_queries.h"
#include "server/queries/analyze_call.h"
#include "server/queries/execute_call.h"
#include "server/queries/read_plan.h"

namespace eris::server {
namespace {

absl::Status DoExplain(const ControlScope& scope, const v1::ExplainRequest& request,
                       v1::ExplainResponse* response) {
  const SessionPool::Lease session = scope.server.sessions.Borrow();
  ERIS_ASSIGN_OR_RETURN(const QueryPlan plan,
                        ReadPlan(scope.server, *session, scope.permit, request.plan()));
  ERIS_ASSIGN_OR_RETURN(std::string text, session->ExplainQuery(plan));
  response->set_text(std::move(text));
  return absl::OkStatus();
}

absl::Status DoList(const ControlScope& scope, const v1::ListQueriesRequest&,
                    v1::ListQueriesResponse* response) {
  for (RunningQueries::Info& info : scope.server.queries.List()) {
    v1::RunningQuery& query = *response->add_queries();
    query.set_id(info.id);
    query.set_peer(std::move(info.peer));
    query.set_age_ms(static_cast<uint64_t>(info.age.count()));
    query.set_state(info.rows_sent == 0 ? v1::RunningQuery::STATE_COMPUTING
                                        : v1::RunningQuery::STATE_SENDING);
    query.set_rows_sent(info.rows_sent);
  }
  return absl::OkStatus();
}

absl::Status DoCancel(const ControlScope& scope, const v1::CancelQueryRequest& request,
                      v1::CancelQueryResponse*) {
  scope.permit.SetAudited(absl::StrCat("query ", request.id()));
  return scope.server.queries.Cancel(request.id());
}

}  // namespace

QueriesService::QueriesService(ServerState* server) : RawService(&server->access, &server->watch) {
  // ReadPlan asks for each object of a plan.
  const Policy reads_plan(Role::kReader, NamedInside());
  Serve("Execute", reads_plan, [server](grpc::CallbackServerContext& context) {
    return ExecuteCall::Begin(*server, context);
  });
  Serve("Analyze", reads_plan, [server](grpc::CallbackServerContext& context) {
    return AnalyzeCall::Begin(*server, context);
  });
  Serve("Explain", reads_plan, ControlBeginner(*server, DoExplain));
  // Queries of all callers. Each ends its own by cancelling the call.
  Serve("List", {Role::kAdmin, EveryObject()}, ControlBeginner(*server, DoList));
  Serve("Cancel", Policy(Role::kAdmin, EveryObject()).Audited(),
        ControlBeginner(*server, DoCancel));
}

}  // namespace eris::server
