// What holds for every QueryPlan that a reader hands out, whatever the bytes: the numbers in it
// name what exists, and its limits are kept. Types are not checked.
#ifndef ERIS_TESTS_SUPPORT_QUERY_PLAN_CHECK_H_
#define ERIS_TESTS_SUPPORT_QUERY_PLAN_CHECK_H_

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/query_plan.h"
#include "eris/schema.h"

namespace eris::test {

class QueryPlanCheck {
 public:
  using Catalogue = std::function<absl::StatusOr<Schema>(absl::string_view)>;

  // Errors: Internal, with the node and the rule that it breaks.
  static absl::Status Run(const QueryPlan& plan, const Catalogue& catalogue) {
    QueryPlanCheck check(catalogue);
    if (plan.nodes.empty() || plan.nodes.size() > kPlanNodesMax) return Broken("number of nodes");
    for (const PlanNode& node : plan.nodes) {
      absl::StatusOr<uint32_t> width =
          std::visit([&](const auto& one) { return check.Width(one); }, node);
      if (width.ok() && (*width == 0 || *width > kTableColumnsMax)) width = Broken("width");
      if (!width.ok()) {
        return absl::InternalError(
            absl::StrCat("node ", check.widths_.size(), ": ", width.status().message()));
      }
      check.widths_.push_back(*width);
    }
    if (!plan.names.empty() && plan.names.size() != check.widths_.back()) return Broken("names");
    return absl::OkStatus();
  }

 private:
  explicit QueryPlanCheck(const Catalogue& catalogue) : catalogue_(catalogue) {}

  static absl::Status Broken(absl::string_view what) { return absl::InternalError(what); }

  absl::StatusOr<uint32_t> Input(uint32_t number) const {
    if (number >= widths_.size()) return Broken("an input that does not come before");
    return widths_[number];
  }

  // `width`: columns that fields may name. `size` counts the parts of the whole expression.
  absl::Status Walk(const Expression& expression, uint32_t width, uint32_t level,
                    uint32_t& size) const {
    using Kind = Expression::Kind;
    if (level > kExpressionDepthMax) return Broken("depth of an expression");
    if (++size > kExpressionSizeMax) return Broken("size of an expression");
    const bool leaf = expression.kind == Kind::kField || expression.kind == Kind::kLiteral ||
                      expression.kind == Kind::kSubquery;
    if (leaf != expression.arguments.empty()) return Broken("number of arguments");
    if (expression.kind == Kind::kColumn) return Broken("a column by name");
    if (expression.kind == Kind::kField && expression.number >= width) return Broken("a field");
    if (expression.kind == Kind::kSubquery &&
        (expression.number >= widths_.size() || widths_[expression.number] != 1)) {
      return Broken("a subquery");
    }
    for (const Expression& argument : expression.arguments) {
      ERIS_RETURN_IF_ERROR(Walk(argument, width, level + 1, size));
    }
    return absl::OkStatus();
  }
  absl::Status Check(const Expression& expression, uint32_t width) const {
    uint32_t size = 0;
    return Walk(expression, width, 1, size);
  }

  absl::StatusOr<uint32_t> Width(const ReadNode& node) const {
    ERIS_ASSIGN_OR_RETURN(const Schema schema, catalogue_(node.object));
    for (const uint32_t column : node.columns) {
      if (column >= schema.columns.size()) return Broken("a column of the object");
    }
    return static_cast<uint32_t>(node.columns.empty() ? schema.columns.size()
                                                      : node.columns.size());
  }
  absl::StatusOr<uint32_t> Width(const FilterNode& node) const {
    ERIS_ASSIGN_OR_RETURN(const uint32_t width, Input(node.input));
    ERIS_RETURN_IF_ERROR(Check(node.condition, width));
    return width;
  }
  absl::StatusOr<uint32_t> Width(const ProjectNode& node) const {
    ERIS_ASSIGN_OR_RETURN(const uint32_t width, Input(node.input));
    for (const Expression& column : node.columns) ERIS_RETURN_IF_ERROR(Check(column, width));
    return static_cast<uint32_t>(node.columns.size());
  }
  absl::StatusOr<uint32_t> Width(const JoinNode& node) const {
    ERIS_ASSIGN_OR_RETURN(const uint32_t left, Input(node.left));
    ERIS_ASSIGN_OR_RETURN(const uint32_t right, Input(node.right));
    for (const JoinNode::Key& key : node.keys) {
      if (key.left >= left || key.right >= right) return Broken("a join key");
    }
    if (node.condition) ERIS_RETURN_IF_ERROR(Check(*node.condition, left + right));
    const bool one_sided = node.type == JoinType::kSemi || node.type == JoinType::kAnti;
    return one_sided ? left : left + right;
  }
  absl::StatusOr<uint32_t> Width(const AggregateNode& node) const {
    ERIS_ASSIGN_OR_RETURN(const uint32_t width, Input(node.input));
    if (node.keys.size() > kPlanGroupKeysMax) return Broken("number of keys");
    for (const uint32_t key : node.keys) {
      if (key >= width) return Broken("a key");
    }
    for (const Measure& measure : node.measures) {
      if (!measure.argument && measure.function != AggregateFunction::kCount) {
        return Broken("a measure without argument");
      }
      if (measure.argument) ERIS_RETURN_IF_ERROR(Check(*measure.argument, width));
    }
    return static_cast<uint32_t>(node.keys.size() + node.measures.size());
  }
  absl::StatusOr<uint32_t> Width(const SortNode& node) const {
    ERIS_ASSIGN_OR_RETURN(const uint32_t width, Input(node.input));
    for (const SortKey& key : node.keys) {
      if (key.column >= width) return Broken("a sort key");
    }
    return width;
  }
  absl::StatusOr<uint32_t> Width(const LimitNode& node) const { return Input(node.input); }

  absl::StatusOr<uint32_t> Width(const UnionNode& node) const {
    if (node.inputs.empty()) return Broken("number of inputs");
    ERIS_ASSIGN_OR_RETURN(const uint32_t first, Input(node.inputs[0]));
    for (const uint32_t input : node.inputs) {
      ERIS_ASSIGN_OR_RETURN(const uint32_t width, Input(input));
      if (width != first) return Broken("width of an input");
    }
    return first;
  }

  absl::StatusOr<uint32_t> Width(const ValuesNode& node) const {
    if (node.rows.size() > kPlanValueRowsMax) return Broken("number of rows");
    for (const std::vector<Value>& row : node.rows) {
      if (row.size() != node.columns.size()) return Broken("width of a row");
    }
    return static_cast<uint32_t>(node.columns.size());
  }

  const Catalogue& catalogue_;
  std::vector<uint32_t> widths_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_QUERY_PLAN_CHECK_H_
