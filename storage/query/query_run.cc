#include "storage/query/query_run.h"

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/query/expression_tools.h"
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
      case ColumnType::kDecimal:
        value = Decimal{ValueAt<int64_t>(column, row), schema.scale};
        break;
      case ColumnType::kString:
        value = std::string(StringAt(column, row));
        break;
      case ColumnType::kInt128:
        value = WideDecimal{ValueAt<Int128Halves>(column, row), schema.scale};
        break;
    }
  }
  const bool number = schema.type != ColumnType::kString && schema.type != ColumnType::kDate;
  if (!number && !std::holds_alternative<std::monostate>(value)) return Literal(std::move(value));
  return expressions::Cast(Literal(std::move(value)), schema.type, schema.scale);
}

}  // namespace

std::vector<EnvelopeColumn> EnvelopeColumnsOf(const Schema& schema) {
  std::vector<EnvelopeColumn> columns;
  for (const ColumnSchema& column : schema.columns) columns.push_back({column.type, column.scale});
  return columns;
}

QueryRun::QueryRun(QuerySteps steps, QueryMemory& memory, RunMemory* run_memory)
    : steps_(std::move(steps.steps)), world_{memory, run_memory} {
  for (const QueryStep& step : steps_) {
    rows_.push_back(std::make_unique<EnvelopeList>(memory, EnvelopeColumnsOf(step.schema)));
  }
}

absl::StatusOr<Expression> QueryRun::ValueOf(uint32_t step) const {
  const EnvelopeList& rows = *rows_[step];
  if (rows.rows() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("a subquery whose value is asked for has ",
                                                   rows.rows(), " rows, must have one at most"));
  }
  const ColumnSchema& schema = steps_[step].schema.columns[0];
  for (uint32_t e = 0; e < rows.size(); ++e) {
    if (rows[e].rows() > 0) return LiteralOf(rows[e].column(0), 0, schema);
  }
  static constexpr uint64_t kNoneValid = 0;
  return LiteralOf({.type = schema.type, .validity = &kNoneValid}, 0, schema);
}

absl::Status QueryRun::Resolve(Expression& expression) {
  std::vector<uint32_t> steps;
  ForSubqueries(expression, [&](uint32_t step) { steps.push_back(step); });
  if (steps.empty()) return absl::OkStatus();
  absl::Status status;
  // Each as often as it is named, which is how its uses are counted.
  std::optional<Expression> resolved =
      Replaced(expression, &expressions::Field, [&](uint32_t step) {
        absl::StatusOr<Expression> value = ValueOf(step);
        if (value.ok()) return *std::move(value);
        status = value.status();
        return Expression();
      });
  ERIS_RETURN_IF_ERROR(status);
  for (const uint32_t step : steps) Release(step);
  if (!resolved)
    return absl::InvalidArgumentError("an expression with its subqueries is too large");
  expression = *std::move(resolved);
  return absl::OkStatus();
}

absl::Status QueryRun::Resolve(Query& query) {
  if (query.filter) ERIS_RETURN_IF_ERROR(Resolve(*query.filter));
  for (NamedExpression& column : query.columns) ERIS_RETURN_IF_ERROR(Resolve(column.expression));
  for (AggregateColumn& column : query.aggregates) {
    if (column.argument) ERIS_RETURN_IF_ERROR(Resolve(*column.argument));
  }
  return absl::OkStatus();
}

absl::Status QueryRun::ResolveStep(QueryStep& step) {
  if (auto* const scan = std::get_if<ScanStep>(&step.what)) return Resolve(scan->query);
  if (auto* const map = std::get_if<MapStep>(&step.what)) return Resolve(map->query);
  auto* const join = std::get_if<JoinStep>(&step.what);
  return join != nullptr && join->condition ? Resolve(*join->condition) : absl::OkStatus();
}

absl::Status QueryRun::Begin() {
  QueryStep& step = steps_[current_];
  ERIS_RETURN_IF_ERROR(ResolveStep(step));
  EnvelopeList& rows = *rows_[current_];
  absl::StatusOr<std::unique_ptr<StepRun>> made = nullptr;
  if (const auto* map = std::get_if<MapStep>(&step.what)) {
    made = NewMapRun(world_, *map, steps_[map->input].schema, *rows_[map->input], rows);
  } else if (const auto* join = std::get_if<JoinStep>(&step.what)) {
    made = NewJoinRun(world_, *join, steps_[join->left].schema, *rows_[join->left],
                      steps_[join->right].schema, *rows_[join->right], rows);
  } else if (const auto* sort = std::get_if<SortStep>(&step.what)) {
    made = NewSortRun(world_, *sort, *rows_[sort->input], rows);
  }
  if (made.ok()) run_ = *std::move(made);
  return made.status();
}

absl::Status QueryRun::GroupHere(const Schema& schema) {
  auto& scan = std::get<ScanStep>(steps_[current_].what);
  Query rows{.filter = std::move(scan.query.filter)};
  std::map<uint32_t, Expression> fields;
  Schema picked;
  const auto pick = [&](uint32_t field) {
    const auto [at, is_new] =
        fields.try_emplace(field, expressions::Field(static_cast<uint32_t>(fields.size())));
    if (is_new) {
      rows.columns.push_back({expressions::Field(field), ""});
      picked.columns.push_back(schema.columns[field]);
    }
    return at->second;
  };
  grouping_ = {};
  for (const std::string& name : scan.query.group_by) {
    uint32_t field = 0;
    while (schema.columns[field].name != name) ++field;
    grouping_.query.group_by.push_back(FieldName(pick(field).number));
  }
  for (AggregateColumn& column : scan.query.aggregates) {
    AggregateColumn here{.function = column.function, .name = {}};
    if (column.argument) here.argument = Replaced(*column.argument, pick, &expressions::Subquery);
    grouping_.query.aggregates.push_back(std::move(here));
  }
  if (rows.columns.empty()) pick(0);
  scan.query = std::move(rows);
  rows_[current_]->Clear();
  ungrouped_ = std::make_unique<EnvelopeList>(world_.memory, EnvelopeColumnsOf(picked));
  ungrouped_schema_ = std::move(picked);
  return absl::OkStatus();
}

absl::Status QueryRun::EndStep() {
  if (ungrouped_ != nullptr && run_ == nullptr) {
    ERIS_ASSIGN_OR_RETURN(
        run_, NewMapRun(world_, grouping_, ungrouped_schema_, *ungrouped_, *rows_[current_]));
    return absl::OkStatus();
  }
  run_.reset();
  ungrouped_.reset();
  const QueryStep& step = steps_[current_];
  if (const auto* map = std::get_if<MapStep>(&step.what)) {
    Release(map->input);
  } else if (const auto* join = std::get_if<JoinStep>(&step.what)) {
    Release(join->left);
    Release(join->right);
  } else if (const auto* sort = std::get_if<SortStep>(&step.what)) {
    Release(sort->input);
  }
  ++current_;
  return absl::OkStatus();
}

void QueryRun::Release(uint32_t step) {
  if (--steps_[step].uses == 0) rows_[step]->Clear();
}

}  // namespace eris::storage
