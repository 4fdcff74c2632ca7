#include "clients/data_messages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/rpc_status.h"

namespace eris::client {
namespace {

static_assert(static_cast<int>(WriteMode::kInsertIfAbsent) == v1::WRITE_MODE_INSERT_IF_ABSENT);
static_assert(static_cast<int>(WriteMode::kAdd) == v1::WRITE_MODE_ADD);
static_assert(static_cast<int>(WriteMode::kUpsert) == v1::WRITE_MODE_UPSERT);
static_assert(static_cast<int>(WriteMode::kAppend) == v1::WRITE_MODE_APPEND);

// The columns of the schema that a batch has.
absl::Span<const uint32_t> ColumnsOf(const Schema& schema, WriteMode mode) {
  if (mode == WriteMode::kErase) return schema.key;
  return wire::AllColumns(schema);
}

absl::Status FillColumns(const ObjectInfo& object, absl::Span<const uint32_t> columns,
                         const RowBatch& batch, wire::Columns& message) {
  if (absl::Status status = CheckSchema(object); !status.ok()) return status;
  if (columns.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("rows of object \"", object.name, "\" have no key: it is a heap table"));
  }
  if (batch.columns.size() != columns.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the batch has ", batch.columns.size(),
                                                   " columns; for object \"", object.name,
                                                   "\" it must have ", columns.size()));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnSchema& column = object.schema.columns[columns[i]];
    if (!IsByteString(column.type) || batch.columns[i].offsets != nullptr) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("column \"", column.name, "\" is of strings and has no offsets"));
  }
  wire::FillColumns(wire::TypesOf(object.schema, columns), batch, &message);
  return absl::OkStatus();
}

// Checks the strings of an index: a request cannot be sent with more, and no sum may wrap around.
absl::Status CheckStrings(const ObjectInfo& object, const RowBatch& rows,
                          const RowBatch& expected) {
  if (object.kind != ObjectKind::kIndex) return absl::OkStatus();
  uint64_t bytes = 0;
  for (const RowBatch* batch : {&rows, &expected}) {
    for (const ColumnView& column : batch->columns) {
      if (column.offsets != nullptr) bytes += column.offsets[batch->rows];
    }
  }
  if (bytes <= kBatchValueBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the values of a batch have at most ",
                                                 kBatchValueBytesMax,
                                                 " bytes together, these have ", bytes));
}

// The columns of the keys, and of the values if there are any.
std::vector<ColumnView> ViewsOf(const KeyColumns& keys, absl::Span<const uint64_t> values) {
  std::vector<ColumnView> views = {{.values = keys.first().data()}};
  if (keys.two_parts()) views.push_back({.values = keys.second().data()});
  if (!values.empty()) views.push_back({.values = values.data()});
  return views;
}

// Checks that the object has u64 columns there, and that the spans are equally long.
absl::Status CheckNumbers(const ObjectInfo& object, absl::Span<const uint32_t> columns,
                          const KeyColumns& keys, absl::Span<const uint64_t> values = {},
                          absl::Span<const uint64_t> expected = {}) {
  for (const uint32_t i : columns) {
    const ColumnSchema& column = object.schema.columns[i];
    if (column.type == ColumnType::kUint64) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("column \"", column.name, "\" of object \"", object.name, "\" is ",
                     ColumnTypeName(column.type), ", not uint64: give columns of its types"));
  }
  for (const auto& [what, length] :
       {std::pair("second parts", keys.two_parts() ? keys.second().size() : keys.size()),
        std::pair("values", values.empty() ? keys.size() : values.size()),
        std::pair("expected values", expected.empty() ? keys.size() : expected.size())}) {
    if (length == keys.size()) continue;
    return absl::InvalidArgumentError(absl::StrCat("the batch has ", keys.size(), " keys and ",
                                                   length, " ", what, ": must be equally many"));
  }
  return absl::OkStatus();
}

// With `empty_is_all`, empty `bits` mean that all are set.
absl::Status TakeBits(const char* what, uint64_t rows, bool empty_is_all, std::string& bits,
                      RowBits& out) {
  const size_t bytes = (rows + 7) / 8;
  if (bits.empty() && empty_is_all) bits.assign(bytes, '\xff');
  if (bits.size() < bytes) {
    return absl::InternalError(absl::StrCat("the server sent ", bits.size(), " bytes of ", what,
                                            " bits for ", rows, " rows; expected ", bytes));
  }
  out = RowBits(std::move(bits), rows);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSchema(const ObjectInfo& object) {
  if (!object.schema.columns.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the ObjectInfo of object \"", object.name,
                                                 "\" has no schema: Client::Get gives one"));
}

absl::StatusOr<AnswerShape> FillLookup(const ObjectInfo& object, const RowBatch& keys,
                                       const std::vector<std::string>& columns,
                                       uint64_t answer_bytes_max, v1::LookupRequest& request) {
  request.set_object(object.name);
  absl::Status status = FillColumns(object, object.schema.key, keys, *request.mutable_keys());
  if (!status.ok()) return status;
  absl::StatusOr<wire::ColumnTypes> types = wire::AnsweredTypes(object.schema, columns);
  if (!types.ok()) return types.status();
  request.mutable_columns()->Assign(columns.begin(), columns.end());
  request.set_answer_bytes_max(answer_bytes_max);
  return AnswerShape{.rows = keys.rows, .bits = keys.rows, .columns = *std::move(types)};
}

absl::StatusOr<AnswerShape> FillLookup(const ObjectInfo& object, const KeyColumns& keys,
                                       v1::LookupRequest& request) {
  absl::Status status = CheckNumbers(object, object.schema.key, keys);
  if (!status.ok()) return status;
  const std::vector<ColumnView> views = ViewsOf(keys, {});
  return FillLookup(object, RowBatch{keys.size(), views}, {}, 0, request);
}

absl::StatusOr<AnswerShape> FillWrite(const ObjectInfo& object, WriteMode mode,
                                      const RowBatch& rows, const RowBatch& expected,
                                      v1::WriteRequest& request) {
  request.set_object(object.name);
  request.set_mode(static_cast<v1::WriteMode>(mode));
  request.clear_expected();
  absl::Status status =
      FillColumns(object, ColumnsOf(object.schema, mode), rows, *request.mutable_columns());
  if (status.ok() && !expected.columns.empty()) {
    status = FillColumns(object, wire::ValueColumn(object.schema), expected,
                         *request.mutable_expected());
  }
  if (status.ok()) status = CheckStrings(object, rows, expected);
  if (!status.ok()) return status;
  absl::StatusOr<AnswerShape> shape(absl::in_place);
  shape->rows = rows.rows;
  shape->bits = mode == WriteMode::kAppend ? 0 : rows.rows;
  if (mode < WriteMode::kUpsert) {  // the conditional modes
    shape->columns = wire::TypesOf(object.schema, wire::ValueColumn(object.schema));
  }
  return shape;
}

absl::StatusOr<AnswerShape> FillWrite(const ObjectInfo& object, WriteMode mode,
                                      const KeyColumns& keys, absl::Span<const uint64_t> values,
                                      absl::Span<const uint64_t> expected,
                                      v1::WriteRequest& request) {
  absl::Status status =
      CheckNumbers(object, ColumnsOf(object.schema, mode), keys, values, expected);
  if (!status.ok()) return status;
  const std::vector<ColumnView> views = ViewsOf(keys, values);
  const ColumnView expected_view{.values = expected.data()};
  RowBatch expected_rows{};
  if (!expected.empty()) expected_rows = {keys.size(), absl::MakeConstSpan(&expected_view, 1)};
  return FillWrite(object, mode, RowBatch{keys.size(), views}, expected_rows, request);
}

absl::StatusOr<LookupResult> TakeLookup(const AnswerShape& shape, v1::LookupResponse& response) {
  LookupResult result;
  result.rows.rows = shape.rows;
  absl::Status status = wire::TakeColumns(shape.columns, shape.rows, response.mutable_columns(),
                                          &result.rows.columns);
  status.Update(TakeBits("found", shape.bits, false, *response.mutable_found(), result.found));
  status.Update(
      TakeBits("executed", shape.bits, true, *response.mutable_executed(), result.executed));
  if (!status.ok()) return status;
  result.refusal = ToAbslStatus(response.refusal());
  return result;
}

absl::StatusOr<WriteResult> TakeWrite(const AnswerShape& shape, v1::WriteResponse& response) {
  WriteResult result;
  result.written = response.written();
  result.refused = response.refused();
  const bool conditional = !shape.columns.empty();
  result.values.rows = conditional ? shape.rows : 0;
  absl::Status status = wire::TakeColumns(shape.columns, result.values.rows,
                                          response.mutable_columns(), &result.values.columns);
  status.Update(
      TakeBits("existed", shape.bits, false, *response.mutable_existed(), result.existed));
  status.Update(
      TakeBits("applied", result.values.rows, false, *response.mutable_applied(), result.applied));
  status.Update(
      TakeBits("executed", shape.bits, true, *response.mutable_executed(), result.executed));
  if (!status.ok()) return status;
  result.refusal = ToAbslStatus(response.refusal());
  return result;
}

}  // namespace eris::client
