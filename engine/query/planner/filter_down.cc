#include "engine/query/planner/filter_down.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "engine/query/plan_copy.h"
#include "engine/query/planner/conditions.h"
#include "engine/query/planner/plan_facts.h"
#include "storage/query/operators/join_keys.h"
#include "storage/query/plans/expression_tools.h"

namespace eris::engine {
namespace {

using expressions::Field;

// Where the conditions of a join go.
struct JoinParts {
  Conditions left{};    // over the columns of the left side
  Conditions right{};   // over those of the right side
  Conditions within{};  // over both: the join's own
  Conditions above{};   // over the columns that the join hands out
};

void AddNew(Conditions& parts, Expression part) {
  if (!Holds(parts, part)) parts.push_back(std::move(part));
}

// Conditions go to all inputs of a union. Copies with more parts than this are not made: a plan
// within its limits could ask for gigabytes of them.
constexpr size_t kCopiedPartsMax = size_t{1} << 16;

size_t PartsOf(const Expression& expression) {
  size_t parts = 1;
  for (const Expression& argument : expression.arguments) parts += PartsOf(argument);
  return parts;
}

class FilterDown {
 public:
  FilterDown(const QueryPlan& plan, const std::vector<Schema>& schemas)
      : plan_(plan),
        schemas_(schemas),
        uses_(PlanUses(plan)),
        one_row_(OneRowNodes(plan)),
        made_(plan.nodes.size()) {}

  QueryPlan Run() {
    Build(static_cast<uint32_t>(plan_.nodes.size() - 1), {});
    out_.names = plan_.names;
    return std::move(out_);
  }

 private:
  const std::vector<ColumnSchema>& ColumnsOf(uint32_t node) const { return schemas_[node].columns; }

  // Adds the node, with those of its rows for which all conditions are true, and what it needs. The
  // conditions are over its columns, none can fail, and the plan's own numbers are in subqueries.
  uint32_t Build(uint32_t node, Conditions conditions) {
    if (uses_[node] == 1) {
      return std::visit([&](const auto& one) { return Down(one, node, std::move(conditions)); },
                        plan_.nodes[node]);
    }
    return Filtered(Shared(node), std::move(conditions));
  }
  // The number of a node without conditions. One that a single subquery names may be asked for
  // again: copies of a condition go to several places.
  uint32_t Shared(uint32_t node) {
    if (!made_[node]) {
      made_[node] =
          std::visit([&](const auto& one) { return Down(one, node, {}); }, plan_.nodes[node]);
    }
    return *made_[node];
  }

  uint32_t Add(PlanNode node) {
    out_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(out_.nodes.size() - 1);
  }
  Expression Copied(const Expression& expression) {
    return Renumbered(expression, [this](uint32_t node) { return Shared(node); });
  }
  uint32_t Filtered(uint32_t input, Conditions conditions) {
    if (conditions.empty()) return input;
    Conditions copies;
    for (const Expression& one : conditions) copies.push_back(Copied(one));
    Expression all = Conjunction(copies);
    if (storage::Fits(all)) return Add(FilterNode{input, std::move(all)});
    for (Expression& one : copies) input = Add(FilterNode{input, std::move(one)});
    return input;
  }

  uint32_t Down(const ReadNode& read, uint32_t, Conditions conditions) {
    return Filtered(Add(read), std::move(conditions));
  }

  uint32_t Down(const ValuesNode& values, uint32_t, Conditions conditions) {
    return Filtered(Add(values), std::move(conditions));
  }

  uint32_t Down(const FilterNode& filter, uint32_t, Conditions conditions) {
    const auto& columns = ColumnsOf(filter.input);
    Conditions parts;
    AddParts(filter.condition, columns, parts);
    Conditions moved, stay;
    for (Expression& part : parts) {
      if (CanFail(part, columns)) {
        stay.push_back(std::move(part));
      } else {
        AddNew(moved, std::move(part));
      }
    }
    // Those from above differ among themselves.
    const Conditions own = moved;
    for (Expression& one : conditions) {
      if (!Holds(own, one)) moved.push_back(std::move(one));
    }
    return Filtered(Build(filter.input, std::move(moved)), std::move(stay));
  }

  uint32_t Down(const ProjectNode& project, uint32_t, Conditions conditions) {
    Conditions moved, above;
    for (Expression& one : conditions) {
      if (std::optional<Expression> below = Below(project, one)) {
        moved.push_back(*std::move(below));
      } else {
        above.push_back(std::move(one));
      }
    }
    ProjectNode copy{.input = Build(project.input, std::move(moved))};
    for (const Expression& column : project.columns) copy.columns.push_back(Copied(column));
    return Filtered(Add(std::move(copy)), std::move(above));
  }
  // A condition on a projection as one on its input, which cannot fail either.
  std::optional<Expression> Below(const ProjectNode& project, const Expression& condition) const {
    // As such a literal would take its type from what it is computed with.
    const bool plain = NamesOnly(condition, [&](uint32_t field) {
      return project.columns[field].kind != Expression::Kind::kLiteral;
    });
    if (!plain) return std::nullopt;
    std::optional<Expression> below = storage::Replaced(
        condition, [&](uint32_t field) { return project.columns[field]; }, &expressions::Subquery);
    if (below && CanFail(*below, ColumnsOf(project.input))) return std::nullopt;
    return below;
  }

  uint32_t Down(const JoinNode& join, uint32_t, Conditions conditions) {
    JoinNode copy = join;
    JoinParts parts;
    if (join.keys.empty() && !one_row_[join.right]) {
      parts.above = std::move(conditions);
      if (join.condition) parts.within.push_back(*join.condition);
    } else {
      PlaceOwn(join, copy.keys, parts);
      for (Expression& one : conditions) PlaceAbove(join, std::move(one), copy.keys, parts);
    }
    copy.condition.reset();
    copy.left = Build(join.left, std::move(parts.left));
    copy.right = Build(join.right, std::move(parts.right));
    if (!parts.within.empty()) {
      Conditions within;
      for (const Expression& one : parts.within) within.push_back(Copied(one));
      copy.condition = Conjunction(std::move(within));
    }
    return Filtered(Add(std::move(copy)), std::move(parts.above));
  }
  // The parts of the join's condition. They say which rows are partners, so those on the left side
  // drop no row of a left or an anti join.
  void PlaceOwn(const JoinNode& join, std::vector<JoinNode::Key>& keys, JoinParts& parts) const {
    if (!join.condition) return;
    std::vector<ColumnSchema> both = ColumnsOf(join.left);
    const auto& right = ColumnsOf(join.right);
    both.insert(both.end(), right.begin(), right.end());
    Conditions own;
    AddParts(*join.condition, both, own);
    const bool drops_left = join.type == JoinType::kInner || join.type == JoinType::kSemi;
    for (Expression& part : own) {
      if (CanFail(part, both)) {
        parts.within.push_back(std::move(part));
      } else {
        Place(join, std::move(part), drops_left, keys, parts);
      }
    }
  }
  // A condition on what the join hands out.
  void PlaceAbove(const JoinNode& join, Expression part, std::vector<JoinNode::Key>& keys,
                  JoinParts& parts) const {
    if (join.type == JoinType::kInner) {
      Place(join, std::move(part), true, keys, parts);
      return;
    }
    const auto of_left = [&](uint32_t field) { return field < ColumnsOf(join.left).size(); };
    if (NamesOnly(part, of_left)) {
      AddNew(parts.left, std::move(part));
      return;
    }
    if (std::optional<Expression> implied = ImpliedFor(part, of_left)) {
      AddNew(parts.left, *std::move(implied));
    }
    parts.above.push_back(std::move(part));
  }
  // REQUIRES: rows for which the part is not true are no partners. `drops_left`: nor are they rows
  // of the answer.
  void Place(const JoinNode& join, Expression part, bool drops_left,
             std::vector<JoinNode::Key>& keys, JoinParts& parts) const {
    const auto left_columns = static_cast<uint32_t>(ColumnsOf(join.left).size());
    const auto of_left = [&](uint32_t field) { return field < left_columns; };
    const auto of_right = [&](uint32_t field) { return field >= left_columns; };
    const auto moved = [&](const Expression& one) {
      return *storage::Replaced(
          one, [&](uint32_t field) { return Field(field - left_columns); }, &expressions::Subquery);
    };
    if (NamesOnly(part, of_right)) {
      AddNew(parts.right, moved(part));
    } else if (drops_left && NamesOnly(part, of_left)) {
      AddNew(parts.left, std::move(part));
    } else if (const std::optional<JoinNode::Key> key = KeyOf(part, left_columns);
               key && keys.size() < storage::kJoinKeysMax) {
      if (std::find(keys.begin(), keys.end(), *key) == keys.end()) keys.push_back(*key);
    } else {
      if (std::optional<Expression> implied = ImpliedFor(part, of_right)) {
        AddNew(parts.right, moved(*implied));
      }
      std::optional<Expression> implied = ImpliedFor(part, of_left);
      if (drops_left && implied) AddNew(parts.left, *std::move(implied));
      parts.within.push_back(std::move(part));
    }
  }
  static std::optional<JoinNode::Key> KeyOf(const Expression& part, uint32_t left_columns) {
    if (part.kind != Expression::Kind::kEqual) return std::nullopt;
    for (const Expression& side : part.arguments) {
      if (side.kind != Expression::Kind::kField) return std::nullopt;
    }
    const auto [first, last] = std::minmax(part.arguments[0].number, part.arguments[1].number);
    if (first >= left_columns || last < left_columns) return std::nullopt;
    return JoinNode::Key{first, last - left_columns};
  }

  uint32_t Down(const AggregateNode& aggregate, uint32_t, Conditions conditions) {
    const size_t keys = aggregate.keys.size();
    Conditions moved, above;
    for (Expression& one : conditions) {
      const bool of_keys = NamesOnly(one, [&](uint32_t field) { return field < keys; });
      // Without keys there is a row even of no row. A group has zeros of both signs.
      if (keys == 0 || !of_keys || SeesSignOfZero(one)) {
        above.push_back(std::move(one));
      } else {
        moved.push_back(*storage::Replaced(
            one, [&](uint32_t field) { return Field(aggregate.keys[field]); },
            &expressions::Subquery));
      }
    }
    AggregateNode copy = aggregate;
    copy.input = Build(aggregate.input, std::move(moved));
    for (Measure& measure : copy.measures) {
      if (measure.argument) measure.argument = Copied(*measure.argument);
    }
    return Filtered(Add(std::move(copy)), std::move(above));
  }

  uint32_t Down(const SortNode& sort, uint32_t, Conditions conditions) {
    SortNode copy = sort;
    copy.input = Build(sort.input, std::move(conditions));
    return Add(std::move(copy));
  }

  uint32_t Down(const UnionNode& all, uint32_t, Conditions conditions) {
    size_t parts = 0;
    for (const Expression& one : conditions) parts += PartsOf(one);
    copied_parts_ += parts * all.inputs.size();
    const bool moves = copied_parts_ <= kCopiedPartsMax;
    UnionNode copy;
    for (const uint32_t input : all.inputs) {
      copy.inputs.push_back(Build(input, moves ? conditions : Conditions()));
    }
    const uint32_t node = Add(std::move(copy));
    return moves ? node : Filtered(node, std::move(conditions));
  }

  uint32_t Down(const LimitNode& limit, uint32_t, Conditions conditions) {
    LimitNode copy = limit;
    copy.input = Build(limit.input, {});
    return Filtered(Add(copy), std::move(conditions));
  }

  const QueryPlan& plan_;
  const std::vector<Schema>& schemas_;
  const std::vector<uint32_t> uses_;
  const std::vector<bool> one_row_;
  std::vector<std::optional<uint32_t>> made_;  // by node, its number in `out_` (Shared)
  size_t copied_parts_ = 0;                    // into the inputs of unions
  QueryPlan out_;
};

}  // namespace

QueryPlan WithFiltersDown(const QueryPlan& plan, const std::vector<Schema>& schemas) {
  return FilterDown(plan, schemas).Run();
}

}  // namespace eris::engine
