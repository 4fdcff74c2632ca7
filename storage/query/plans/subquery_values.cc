#include "storage/query/plans/subquery_values.h"

#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/query/plans/expression_tools.h"
#include "storage/table/kernels/exact_number.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {
namespace {

template <class T>
T ValueAt(const SegmentColumn& column, uint32_t row) {
  T value;
  std::memcpy(&value, static_cast<const T*>(column.values) + row, sizeof value);
  return value;
}

// A value as an expression of exactly its column's type.
Expression LiteralOf(const SegmentColumn& column, uint32_t row, const ColumnSchema& schema) {
  using expressions::Literal;
  Value value;
  if (column.validity == nullptr || BitAt(column.validity, row)) {
    switch (schema.type) {
      case ColumnType::kInt32:
        value = int64_t{ValueAt<int32_t>(column, row)};
        break;
      case ColumnType::kInt64:
        value = ValueAt<int64_t>(column, row);
        break;
      case ColumnType::kUint64:
        value = ValueAt<uint64_t>(column, row);
        break;
      case ColumnType::kFloat64:
        value = ValueAt<double>(column, row);
        break;
      case ColumnType::kDate:
        value = Date{ValueAt<int32_t>(column, row)};
        break;
      case ColumnType::kTimestamp:
        value = Timestamp{ValueAt<int64_t>(column, row)};
        break;
      case ColumnType::kDecimal:
        value = Decimal{ValueAt<int64_t>(column, row), schema.scale};
        break;
      case ColumnType::kString:
        value = std::string(StringAt(column, row));
        break;
      case ColumnType::kBytes:
        value = Bytes{std::string(StringAt(column, row))};
        break;
      case ColumnType::kInt128:
        value = WideDecimal{ValueAt<Int128Halves>(column, row), schema.scale};
        break;
    }
  }
  const bool number = !IsByteString(schema.type) && !IsTimeType(schema.type);
  if (!number && !std::holds_alternative<std::monostate>(value)) return Literal(std::move(value));
  return expressions::Cast(Literal(std::move(value)), schema.type, schema.scale);
}

}  // namespace

Expression NullOf(const ColumnSchema& schema) {
  static constexpr uint64_t kNoneValid = 0;
  return LiteralOf({.type = schema.type, .validity = &kNoneValid}, 0, schema);
}

Expression ValueOf(const Envelope& envelope, const ColumnSchema& schema) {
  return LiteralOf(envelope.column(0), 0, schema);
}

void ForSubqueries(const Query& query, absl::FunctionRef<void(uint32_t)> visit) {
  if (query.filter) ForSubqueries(*query.filter, visit);
  for (const NamedExpression& column : query.columns) ForSubqueries(column.expression, visit);
  for (const AggregateColumn& column : query.aggregates) {
    if (column.argument) ForSubqueries(*column.argument, visit);
  }
}

void ForSubqueries(const QueryStep& step, absl::FunctionRef<void(uint32_t)> visit) {
  if (const auto* const scan = std::get_if<ScanStep>(&step.what)) {
    ForSubqueries(scan->query, visit);
  } else if (const auto* const map = std::get_if<MapStep>(&step.what)) {
    ForSubqueries(map->query, visit);
  } else if (const auto* const join = std::get_if<JoinStep>(&step.what)) {
    if (join->condition) ForSubqueries(*join->condition, visit);
  }
}

absl::Status SubqueryValues::Put(Expression& expression) {
  bool any = false;
  ForSubqueries(expression, [&](uint32_t) { any = true; });
  if (!any) return absl::OkStatus();
  absl::Status status;
  std::optional<Expression> resolved =
      Replaced(expression, &expressions::Field, [&](uint32_t step) {
        absl::StatusOr<Expression> value = value_of_(step);
        if (value.ok()) return *std::move(value);
        status = value.status();
        return Expression();
      });
  ERIS_RETURN_IF_ERROR(status);
  if (!resolved)
    return absl::InvalidArgumentError("an expression with its subqueries is too large");
  expression = *std::move(resolved);
  return absl::OkStatus();
}

absl::Status SubqueryValues::Put(Query& query) {
  if (query.filter) ERIS_RETURN_IF_ERROR(Put(*query.filter));
  for (NamedExpression& column : query.columns) ERIS_RETURN_IF_ERROR(Put(column.expression));
  for (AggregateColumn& column : query.aggregates) {
    if (column.argument) ERIS_RETURN_IF_ERROR(Put(*column.argument));
  }
  return absl::OkStatus();
}

absl::Status SubqueryValues::Put(QueryStep& step) {
  if (auto* const scan = std::get_if<ScanStep>(&step.what)) return Put(scan->query);
  if (auto* const map = std::get_if<MapStep>(&step.what)) return Put(map->query);
  auto* const join = std::get_if<JoinStep>(&step.what);
  return join != nullptr && join->condition ? Put(*join->condition) : absl::OkStatus();
}

}  // namespace eris::storage
