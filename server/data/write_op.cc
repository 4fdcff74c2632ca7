#include "server/data/write_op.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "wire/bounds.h"

namespace eris::server {
namespace {

static_assert(static_cast<int>(WriteMode::kInsertIfAbsent) == v1::WRITE_MODE_INSERT_IF_ABSENT);
static_assert(static_cast<int>(WriteMode::kReplaceIfPresent) == v1::WRITE_MODE_REPLACE_IF_PRESENT);
static_assert(static_cast<int>(WriteMode::kCompareAndSet) == v1::WRITE_MODE_COMPARE_AND_SET);
static_assert(static_cast<int>(WriteMode::kAdd) == v1::WRITE_MODE_ADD);
static_assert(static_cast<int>(WriteMode::kUpsert) == v1::WRITE_MODE_UPSERT);
static_assert(static_cast<int>(WriteMode::kErase) == v1::WRITE_MODE_ERASE);
static_assert(static_cast<int>(WriteMode::kAppend) == v1::WRITE_MODE_APPEND);

absl::StatusOr<WriteMode> ModeFrom(v1::WriteMode mode) {
  if (mode >= v1::WRITE_MODE_INSERT_IF_ABSENT && mode <= v1::WRITE_MODE_APPEND) {
    return static_cast<WriteMode>(mode);
  }
  return Error(ErrorReason::kWriteModeInvalid,
               absl::StrCat("mode is ", static_cast<int>(mode), ", must be 1 to 7 (",
                            v1::WriteMode_Name(v1::WRITE_MODE_INSERT_IF_ABSENT), " to ",
                            v1::WriteMode_Name(v1::WRITE_MODE_APPEND), ")"),
               {.field = "mode", .value = absl::StrCat(static_cast<int>(mode)), .limit = "1 to 7"});
}

bool IsConditional(WriteMode mode) { return mode < WriteMode::kUpsert; }

uint64_t CountBits(absl::string_view bits) {
  uint64_t count = 0;
  for (const char c : bits) {
    count += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(c)));
  }
  return count;
}

uint64_t WrittenRows(WriteMode mode, const BatchResult& result) {
  if (IsConditional(mode)) return CountBits(result.applied);
  return mode == WriteMode::kErase ? CountBits(result.existed) : result.count - result.refused;
}

absl::Status ReadExpected(const Object& object, WriteMode mode, const v1::WriteRequest& message,
                          BatchInput<v1::WriteRequest>& input) {
  if (mode != WriteMode::kCompareAndSet) {
    if (message.expected().empty()) return absl::OkStatus();
    return Error(ErrorReason::kColumnInvalid, absl::StrCat("expected: ", message.expected_size(),
                                                           " columns, must be unset for mode ",
                                                           v1::WriteMode_Name(message.mode())));
  }
  // The session refuses it because of its kind, and says what a table accepts.
  if (wire::IsTable(object.kind())) return absl::OkStatus();
  const Schema& schema = object.schema();
  ERIS_ASSIGN_OR_RETURN(
      input.expected,
      wire::ViewColumns("expected", schema, wire::ValueColumn(schema), message.expected()));
  if (input.expected.rows == input.rows.rows) return absl::OkStatus();
  return Error(ErrorReason::kColumnInvalid,
               absl::StrCat("columns have ", input.rows.rows, " rows, expected ",
                            input.expected.rows, ": must be equal"));
}

}  // namespace

uint64_t WriteOp::RequestBytes(const Request& request) {
  return request.object().size() + ColumnsBytes(request.columns()) +
         ColumnsBytes(request.expected()) + UnknownBytes(request);
}

absl::StatusOr<WriteOp::Plan> WriteOp::Prepare(const CallScope& scope, const Request& request) {
  Plan plan;
  ERIS_ASSIGN_OR_RETURN(plan.object, OpenObject(scope.session, request.object()));
  ERIS_ASSIGN_OR_RETURN(plan.shape.mode, ModeFrom(request.mode()));
  if (plan.shape.mode != WriteMode::kAppend) ERIS_RETURN_IF_ERROR(CheckKeyed(plan.object));
  if (IsConditional(plan.shape.mode)) {
    plan.shape.columns =
        wire::TypesOf(plan.object.schema(), wire::ValueColumn(plan.object.schema()));
  }
  constexpr uint64_t kBitmaps = 3;
  const uint64_t rows = RowsSaid(request.columns());
  plan.bytes = RequestBytes(request) + CopiedBytes(plan.object, request.columns()) +
               CopiedBytes(plan.object, request.expected()) +
               AnsweredBytes(plan.object, plan.shape.columns, rows) + kBitmaps * BitmapBytes(rows);
  return plan;
}

Session::StartedCall WriteOp::Start(Session& session, const Plan& plan, Request& request,
                                    Session::Callback done) {
  return StartBatch(request, ColumnsBytes(request.columns()) + ColumnsBytes(request.expected()),
                    [&](const Request& message, BatchInput<Request>& input,
                        std::shared_ptr<const void> holder) -> Session::StartedCall {
                      const Schema& schema = plan.object.schema();
                      const WriteMode mode = plan.shape.mode;
                      const absl::Span<const uint32_t> columns =
                          mode == WriteMode::kErase ? schema.key : wire::AllColumns(schema);
                      ERIS_ASSIGN_OR_RETURN(
                          input.rows,
                          wire::ViewColumns("columns", schema, columns, message.columns()));
                      ERIS_RETURN_IF_ERROR(ReadExpected(plan.object, mode, message, input));
                      return session.WriteAsync(plan.object,
                                                {.mode = mode,
                                                 .rows = input.rows.batch(),
                                                 .expected = input.expected.batch(),
                                                 .holder = std::move(holder)},
                                                std::move(done));
                    });
}

absl::Status WriteOp::Fill(const Shape& shape, BatchResult& result, Response* response) {
  if (!HasAnswer(result, shape.mode == WriteMode::kAppend)) return result.status;
  response->set_written(WrittenRows(shape.mode, result));
  response->set_refused(result.refused);
  FillRefusal(result, response);
  response->set_existed(std::move(result.existed));
  response->set_applied(std::move(result.applied));
  wire::MoveColumns(shape.columns, std::move(result.columns), response->mutable_columns());
  return absl::OkStatus();
}

}  // namespace eris::server
