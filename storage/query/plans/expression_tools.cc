#include "storage/query/plans/expression_tools.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace eris::storage {
namespace {

using Kind = Expression::Kind;

class Replacer {
 public:
  Replacer(absl::FunctionRef<Expression(uint32_t)> field,
           absl::FunctionRef<Expression(uint32_t)> subquery)
      : field_(field), subquery_(subquery) {}

  // False: too large.
  bool Replace(const Expression& from, uint32_t depth, Expression& to) {
    if (from.kind == Kind::kField) return Copy(field_(from.number), depth, to);
    if (from.kind == Kind::kSubquery) return Copy(subquery_(from.number), depth, to);
    if (!Count(depth)) return false;
    to = Shallow(from);
    to.arguments.resize(from.arguments.size());
    for (size_t i = 0; i < from.arguments.size(); ++i) {
      if (!Replace(from.arguments[i], depth + 1, to.arguments[i])) return false;
    }
    return true;
  }

 private:
  bool Count(uint32_t depth) {
    return ++size_ <= kExpressionSizeMax && depth <= kExpressionDepthMax;
  }
  bool Copy(const Expression& from, uint32_t depth, Expression& to) {
    if (!Count(depth)) return false;
    to = Shallow(from);
    to.arguments.resize(from.arguments.size());
    for (size_t i = 0; i < from.arguments.size(); ++i) {
      if (!Copy(from.arguments[i], depth + 1, to.arguments[i])) return false;
    }
    return true;
  }
  // All but its arguments.
  static Expression Shallow(const Expression& from) {
    Expression to{.kind = from.kind, .column = from.column, .value = from.value};
    to.number = from.number;
    to.type = from.type;
    to.scale = from.scale;
    return to;
  }

  const absl::FunctionRef<Expression(uint32_t)> field_;
  const absl::FunctionRef<Expression(uint32_t)> subquery_;
  uint32_t size_ = 0;
};

void ForKind(Kind kind, const Expression& expression, absl::FunctionRef<void(uint32_t)> visit) {
  if (expression.kind == kind) visit(expression.number);
  for (const Expression& argument : expression.arguments) ForKind(kind, argument, visit);
}

}  // namespace

std::string FieldName(uint32_t field) { return absl::StrCat("f", field); }

std::vector<ColumnSchema> NamedByField(const std::vector<ColumnSchema>& columns) {
  std::vector<ColumnSchema> named = columns;
  for (uint32_t i = 0; i < named.size(); ++i) named[i].name = FieldName(i);
  return named;
}

void ForFields(const Expression& expression, absl::FunctionRef<void(uint32_t)> visit) {
  ForKind(Kind::kField, expression, visit);
}

void ForSubqueries(const Expression& expression, absl::FunctionRef<void(uint32_t)> visit) {
  ForKind(Kind::kSubquery, expression, visit);
}

void ForExpressions(const PlanNode& node, absl::FunctionRef<void(const Expression&)> visit) {
  if (const auto* filter = std::get_if<FilterNode>(&node)) visit(filter->condition);
  if (const auto* project = std::get_if<ProjectNode>(&node)) {
    for (const Expression& column : project->columns) visit(column);
  }
  if (const auto* join = std::get_if<JoinNode>(&node); join != nullptr && join->condition) {
    visit(*join->condition);
  }
  if (const auto* aggregate = std::get_if<AggregateNode>(&node)) {
    for (const Measure& measure : aggregate->measures) {
      if (measure.argument) visit(*measure.argument);
    }
  }
}

bool Fits(const Expression& expression) {
  return Replaced(expression, &expressions::Field, &expressions::Subquery).has_value();
}

std::optional<Expression> Replaced(const Expression& expression,
                                   absl::FunctionRef<Expression(uint32_t)> field,
                                   absl::FunctionRef<Expression(uint32_t)> subquery) {
  Expression replaced;
  if (!Replacer(field, subquery).Replace(expression, 1, replaced)) return std::nullopt;
  return replaced;
}

}  // namespace eris::storage
