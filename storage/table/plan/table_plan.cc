#include "storage/table/plan/table_plan.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "storage/table/plan/plan_body.h"
#include "storage/table/plan/plan_compiler.h"

namespace eris::storage {
namespace {

// Puts a plan together and keeps the result's names apart.
class PlanBuilder {
 public:
  PlanBuilder(std::span<const ColumnSchema> columns, std::span<const ColumnSchema> subqueries,
              PlanBody& body, Schema& result)
      : columns_(columns), body_(body), result_(result), compiler_(columns, body, subqueries) {}

  absl::Status Build(const Query& query) {
    const bool aggregates = !query.aggregates.empty() || !query.group_by.empty();
    if (aggregates && !query.columns.empty()) {
      return absl::InvalidArgumentError(
          "a query either hands out columns or aggregates: group columns are handed out anyway");
    }
    // Check the shapes of all expressions first.
    ERIS_RETURN_IF_ERROR(
        CheckCount(query.columns.size() + query.group_by.size() + query.aggregates.size()));
    if (query.filter.has_value()) {
      ERIS_RETURN_IF_ERROR(PlanCompiler::CheckShape(*query.filter));
      ERIS_RETURN_IF_ERROR(compiler_.Filter(*query.filter, false));
    }
    if (aggregates) {
      ERIS_RETURN_IF_ERROR(Groups(query));
      for (const AggregateColumn& aggregate : query.aggregates) {
        ERIS_RETURN_IF_ERROR(Aggregate(aggregate, query.group_by.empty()));
      }
    } else {
      ERIS_RETURN_IF_ERROR(Columns(query));
    }
    return NameColumns();
  }

 private:
  static absl::Status CheckCount(size_t columns) {
    if (columns <= kTableColumnsMax) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("a query has ", columns, " result columns, at most ", kTableColumnsMax));
  }

  absl::Status Columns(const Query& query) {
    if (query.columns.empty()) {
      for (const ColumnSchema& column : columns_) {
        ERIS_ASSIGN_OR_RETURN(const uint32_t value, compiler_.Column(column.name));
        Output(value, column.name, column.name);
      }
      return absl::OkStatus();
    }
    for (const NamedExpression& column : query.columns) {
      ERIS_RETURN_IF_ERROR(PlanCompiler::CheckShape(column.expression));
      ERIS_ASSIGN_OR_RETURN(const uint32_t value, compiler_.Value(column.expression));
      const bool plain = column.expression.kind == Expression::Kind::kColumn;
      Output(value, column.name, plain ? column.expression.column : "expression");
    }
    return absl::OkStatus();
  }

  void Output(uint32_t value, const std::string& name, const std::string& default_name) {
    const ValueNode& node = body_.values[value];
    body_.outputs.push_back(value);
    Add({.name = name, .type = node.type, .scale = node.scale, .nullable = node.nullable},
        default_name);
  }

  absl::Status Groups(const Query& query) {
    if (query.group_by.size() > kGroupColumnsMax) {
      return absl::InvalidArgumentError(absl::StrCat("a query groups by ", query.group_by.size(),
                                                     " columns, at most ", kGroupColumnsMax));
    }
    for (const std::string& name : query.group_by) {
      ERIS_ASSIGN_OR_RETURN(const uint32_t value, compiler_.Column(name));
      const uint32_t column = body_.values[value].column;
      body_.group_columns.push_back(column);
      body_.group_types.push_back(columns_[column].type);
      Add(columns_[column], name);
    }
    return absl::OkStatus();
  }

  absl::Status Aggregate(const AggregateColumn& aggregate, bool one_row) {
    const AggregateFunction function = aggregate.function;
    const std::string name(AggregateFunctionName(function));
    if (name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("an aggregate is of the unknown function ", static_cast<int>(function)));
    }
    ColumnSchema column{.name = aggregate.name, .type = ColumnType::kUint64};
    AggregateResult result{.function = function};
    if (!aggregate.argument.has_value()) {
      if (function != AggregateFunction::kCount) {
        return absl::InvalidArgumentError(absl::StrCat(name, " needs an argument"));
      }
      body_.results.push_back(result);
      Add(std::move(column), name);
      return absl::OkStatus();
    }
    ERIS_RETURN_IF_ERROR(PlanCompiler::CheckShape(*aggregate.argument));
    ERIS_ASSIGN_OR_RETURN(const uint32_t value, compiler_.Value(*aggregate.argument));
    const ValueNode& node = body_.values[value];
    ERIS_RETURN_IF_ERROR(CheckType(function, node));
    result.value_class = node.value_class;
    result.scale = node.scale;
    if (node.nullable) result.count = Accumulate(Accumulator::Kind::kCount, value);
    switch (function) {
      case AggregateFunction::kCount:
        result.accumulator = result.count;
        break;
      case AggregateFunction::kSum:
        result.accumulator = Accumulate(Accumulator::Kind::kSum, value);
        column.type =
            node.value_class == ValueClass::kDouble ? ColumnType::kFloat64 : ColumnType::kInt128;
        break;
      case AggregateFunction::kAverage:
        result.accumulator = Accumulate(Accumulator::Kind::kSum, value);
        column.type = ColumnType::kFloat64;
        break;
      case AggregateFunction::kMin:
      case AggregateFunction::kMax:
        result.accumulator = Accumulate(
            function == AggregateFunction::kMin ? Accumulator::Kind::kMin : Accumulator::Kind::kMax,
            value);
        column.type = node.type;
        break;
      case AggregateFunction::kMedian:
        result.accumulator = Accumulate(Accumulator::Kind::kValues, value);
        result.real_median = !IsDecimal(node);
        column.type = result.real_median ? ColumnType::kFloat64 : node.type;
        break;
    }
    if (function == AggregateFunction::kSum || column.type == node.type) column.scale = node.scale;
    if (column.type == ColumnType::kFloat64) column.scale = 0;
    if (function == AggregateFunction::kCount) column.scale = 0;
    column.nullable = function != AggregateFunction::kCount && (one_row || node.nullable);
    body_.results.push_back(result);
    Add(std::move(column), name);
    return absl::OkStatus();
  }

  // Sums, averages and medians are of numbers.
  static absl::Status CheckType(AggregateFunction function, const ValueNode& node) {
    const bool number = PlanCompiler::IsNumber(node);
    const bool any = function == AggregateFunction::kCount || function == AggregateFunction::kMin ||
                     function == AggregateFunction::kMax;
    if (number || any) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(AggregateFunctionName(function), "(", node.text,
                                                   "): not of a ", ColumnTypeName(node.type)));
  }

  // Whether halves of its values are cut off at its scale. A number of 128 bits without digits
  // behind the point is a sum of integers.
  static bool IsDecimal(const ValueNode& node) {
    return node.type == ColumnType::kDecimal ||
           (node.type == ColumnType::kInt128 && node.scale > 0);
  }

  uint32_t Accumulate(Accumulator::Kind kind, uint32_t value) {
    const Accumulator wanted{kind, value};
    auto& all = body_.accumulators;
    const auto found = std::find(all.begin(), all.end(), wanted);
    if (found != all.end()) return static_cast<uint32_t>(found - all.begin());
    all.push_back(wanted);
    return static_cast<uint32_t>(all.size() - 1);
  }

  void Add(ColumnSchema column, const std::string& default_name) {
    named_.push_back(!column.name.empty());
    if (column.name.empty()) column.name = default_name;
    result_.columns.push_back(std::move(column));
  }

  // Names given by the caller must be distinct; generated names are numbered until they are.
  absl::Status NameColumns() {
    auto& columns = result_.columns;
    std::set<std::string> taken;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].name.size() > kColumnNameBytesMax) {
        return absl::InvalidArgumentError(absl::StrCat("a result column's name has ",
                                                       columns[i].name.size(), " bytes, at most ",
                                                       kColumnNameBytesMax));
      }
      if (named_[i] && !taken.insert(columns[i].name).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("two result columns are called ", columns[i].name));
      }
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      if (named_[i]) continue;
      const std::string base = columns[i].name;
      for (int number = 2; !taken.insert(columns[i].name).second; ++number) {
        columns[i].name = absl::StrCat(base.substr(0, kColumnNameBytesMax - 8), "_", number);
      }
    }
    return absl::OkStatus();
  }

  const std::span<const ColumnSchema> columns_;
  PlanBody& body_;
  Schema& result_;
  PlanCompiler compiler_;
  std::vector<bool> named_;
};

}  // namespace

TablePlan::TablePlan(Schema result, bool aggregates, std::unique_ptr<const PlanBody> body)
    : result_(std::move(result)), aggregates_(aggregates), body_(std::move(body)) {}

TablePlan::~TablePlan() = default;

absl::StatusOr<std::shared_ptr<const TablePlan>> TablePlan::Create(
    std::span<const ColumnSchema> columns, const Query& query,
    std::span<const ColumnSchema> subqueries, uint16_t carried) {
  ERIS_DCHECK(carried == 0 || carried + 1u < 1u << query.group_by.size());
  auto body = std::make_unique<PlanBody>();
  body->carried = carried;
  Schema result;
  ERIS_RETURN_IF_ERROR(PlanBuilder(columns, subqueries, *body, result).Build(query));
  const bool aggregates = !query.aggregates.empty() || !query.group_by.empty();
  return std::shared_ptr<const TablePlan>(
      new TablePlan(std::move(result), aggregates, std::move(body)));
}

}  // namespace eris::storage
