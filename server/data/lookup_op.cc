#include "server/data/lookup_op.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace eris::server {

uint64_t LookupOp::RequestBytes(const Request& request) {
  uint64_t bytes = request.object().size() + ColumnsBytes(request.keys()) + UnknownBytes(request);
  for (const std::string& name : request.columns()) bytes += sizeof(std::string) + name.size();
  return bytes;
}

absl::StatusOr<LookupOp::Plan> LookupOp::Prepare(const CallScope& scope, const Request& request) {
  Plan plan;
  ERIS_ASSIGN_OR_RETURN(plan.object, OpenObject(scope.session, request.object()));
  ERIS_RETURN_IF_ERROR(CheckKeyed(plan.object));
  plan.columns.assign(request.columns().begin(), request.columns().end());
  ERIS_ASSIGN_OR_RETURN(plan.shape, wire::AnsweredTypes(plan.object.schema(), plan.columns));
  const uint64_t rows = RowsSaid(request.keys());
  plan.bytes = RequestBytes(request) + CopiedBytes(plan.object, request.keys()) +
               AnsweredBytes(plan.object, plan.shape, rows) + BitmapBytes(rows);
  return plan;
}

Session::StartedCall LookupOp::Start(Session& session, const Plan& plan, Request& request,
                                     Session::Callback done) {
  return StartBatch(
      request, ColumnsBytes(request.keys()),
      [&](const Request& message, BatchInput<Request>& input,
          std::shared_ptr<const void> holder) -> Session::StartedCall {
        const Schema& schema = plan.object.schema();
        ERIS_ASSIGN_OR_RETURN(input.rows,
                              wire::ViewColumns("keys", schema, schema.key, message.keys()));
        const uint64_t most = message.answer_bytes_max();
        return session.LookupAsync(
            plan.object,
            {.keys = input.rows.batch(),
             .columns = plan.columns,
             .answer_bytes_max =
                 most == 0 ? kBatchValueBytesMax : std::min<uint64_t>(most, kBatchValueBytesMax),
             .holder = std::move(holder)},
            std::move(done));
      });
}

absl::Status LookupOp::Fill(const Shape& shape, BatchResult& result, Response* response) {
  if (!HasAnswer(result)) return result.status;
  FillRefusal(result, response);
  response->set_found(std::move(result.existed));
  wire::MoveColumns(shape, std::move(result.columns), response->mutable_columns());
  return absl::OkStatus();
}

}  // namespace eris::server
