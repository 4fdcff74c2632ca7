#include "engine/query/planner/join_order.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "engine/query/plan_copy.h"
#include "engine/query/planner/conditions.h"
#include "engine/query/planner/join_choice.h"
#include "engine/query/planner/join_graph.h"
#include "engine/query/planner/plan_facts.h"
#include "storage/query/operators/join_keys.h"
#include "storage/query/plans/expression_tools.h"

namespace eris::engine {
namespace {

using NumberOf = absl::FunctionRef<uint32_t(uint32_t)>;  // of a node of the plan in the new one

// Adds the nodes of a graph to a plan.
class GraphMaker {
 public:
  GraphMaker(const JoinGraph& graph, const JoinChoice& choice, const std::vector<bool>& one_row,
             NumberOf number, QueryPlan& out)
      : graph_(graph), choice_(choice), one_row_(one_row), number_(number), out_(out) {}

  uint32_t Run() {
    std::vector<Made> made;
    for (uint32_t input = 0; input < graph_.inputs.size(); ++input) made.push_back(Input(input));
    for (const auto& [left, right] : choice_.order) made.push_back(Joined(made[left], made[right]));
    Made all = std::move(made.back());
    for (size_t i = 0; i < graph_.late.size(); ++i) {
      if (const auto* const condition = std::get_if<Expression>(&graph_.late[i])) {
        Filter(all, {*condition});
      } else if (choice_.places[i].kind == TestPlace::Kind::kAtEnd) {
        Test(all, i);
      }
    }
    if (all.numbers == graph_.output) return all.node;
    ProjectNode project{.input = all.node};
    for (const uint32_t column : graph_.output) project.columns.push_back(FieldOf(all, column));
    return Add(std::move(project));
  }

 private:
  // A node with the graph's numbers of its columns.
  struct Made {
    uint32_t node = 0;
    std::vector<uint32_t> numbers{};
    InputSet inputs = 0;
  };

  uint32_t Add(PlanNode node) {
    out_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(out_.nodes.size() - 1);
  }
  static uint32_t PlaceOf(const Made& made, uint32_t column) {
    const auto found = std::find(made.numbers.begin(), made.numbers.end(), column);
    return static_cast<uint32_t>(found - made.numbers.begin());
  }
  static Expression FieldOf(const Made& made, uint32_t column) {
    return expressions::Field(PlaceOf(made, column));
  }
  // A condition of the graph over the columns of a node.
  Expression Over(const Made& made, const Expression& condition) {
    const auto columns = static_cast<uint32_t>(made.numbers.size());
    const auto field = [&](uint32_t column) {
      return column < JoinGraph::kRightColumns
                 ? FieldOf(made, column)
                 : expressions::Field(columns + column - JoinGraph::kRightColumns);
    };
    return Renumbered(*storage::Replaced(condition, field, &expressions::Subquery), number_);
  }

  void Filter(Made& made, const Conditions& conditions) {
    if (conditions.empty()) return;
    Conditions parts;
    for (const Expression& one : conditions) parts.push_back(Over(made, one));
    made.node = Add(FilterNode{made.node, Conjunction(std::move(parts))});
  }
  void Test(Made& made, size_t late) {
    const auto& test = std::get<JoinGraph::PartnerTest>(graph_.late[late]);
    JoinNode join{.left = made.node, .right = number_(test.right), .type = test.type};
    const TestPlace& place = choice_.places[late];
    const auto& keys = place.kind == TestPlace::Kind::kInput ? place.keys : test.keys;
    for (const JoinNode::Key& key : keys) {
      join.keys.push_back({PlaceOf(made, key.left), key.right});
    }
    if (test.condition) join.condition = Over(made, *test.condition);
    made.node = Add(std::move(join));
  }

  Made Input(uint32_t number) {
    const JoinGraph::Input& input = graph_.inputs[number];
    Made made{.node = number_(input.node), .inputs = InputSet{1} << number};
    for (uint32_t i = 0; i < input.columns; ++i) made.numbers.push_back(input.first + i);
    Conditions conditions;
    for (const Expression& one : graph_.conditions) {
      const InputSet inputs = graph_.InputsOf(one);
      if (inputs == made.inputs || (inputs == 0 && number == 0)) conditions.push_back(one);
    }
    for (const std::vector<uint32_t>& one : graph_.classes) {
      const std::vector<uint32_t> equal = MembersIn(one, made.inputs);
      for (size_t i = 1; i < equal.size(); ++i) {
        conditions.push_back(
            expressions::Equal(expressions::Field(equal[0]), expressions::Field(equal[i])));
      }
    }
    Filter(made, conditions);
    for (size_t i = 0; i < choice_.places.size(); ++i) {
      const TestPlace& place = choice_.places[i];
      if (place.kind == TestPlace::Kind::kInput && place.input == number) Test(made, i);
    }
    return made;
  }

  Made Joined(const Made& one, const Made& other) {
    std::vector<JoinNode::Key> keys = KeysOf(one, other);
    if (keys.empty() && !IsOneRow(other)) return JoinedBy(other, one, {});
    return JoinedBy(one, other, std::move(keys));
  }
  Made JoinedBy(const Made& left, const Made& right, std::vector<JoinNode::Key> keys) {
    Made both = left;
    both.inputs |= right.inputs;
    both.numbers.insert(both.numbers.end(), right.numbers.begin(), right.numbers.end());
    const auto is_new = [&](InputSet inputs) {
      return (inputs & ~both.inputs) == 0 && (inputs & ~left.inputs) != 0 &&
             (inputs & ~right.inputs) != 0;
    };
    JoinNode join{.left = left.node, .right = right.node, .keys = std::move(keys)};
    Conditions conditions;
    for (; join.keys.size() > storage::kJoinKeysMax; join.keys.pop_back()) {
      const JoinNode::Key& key = join.keys.back();
      const auto left_columns = static_cast<uint32_t>(left.numbers.size());
      conditions.push_back(expressions::Equal(expressions::Field(key.left),
                                              expressions::Field(left_columns + key.right)));
    }
    for (const Expression& one : graph_.conditions) {
      if (is_new(graph_.InputsOf(one))) conditions.push_back(Over(both, one));
    }
    if (!conditions.empty()) join.condition = Conjunction(std::move(conditions));
    both.node = Add(std::move(join));
    for (size_t i = 0; i < graph_.late.size(); ++i) {
      if (choice_.places[i].kind != TestPlace::Kind::kEarly) continue;
      if (is_new(graph_.InputsOf(std::get<JoinGraph::PartnerTest>(graph_.late[i])))) Test(both, i);
    }
    return both;
  }
  bool IsOneRow(const Made& made) const {
    return std::has_single_bit(made.inputs) &&
           one_row_[graph_.inputs[static_cast<size_t>(std::countr_zero(made.inputs))].node];
  }

  std::vector<uint32_t> MembersIn(const std::vector<uint32_t>& columns, InputSet inputs) const {
    std::vector<uint32_t> members;
    for (const uint32_t column : columns) {
      if ((inputs >> graph_.input_of[column] & 1) != 0) members.push_back(column);
    }
    return members;
  }
  // One key for each class with columns on both sides: within a side they are equal.
  std::vector<JoinNode::Key> KeysOf(const Made& left, const Made& right) const {
    std::vector<JoinNode::Key> keys;
    for (const std::vector<uint32_t>& one : graph_.classes) {
      const std::vector<uint32_t> lefts = MembersIn(one, left.inputs);
      const std::vector<uint32_t> rights = MembersIn(one, right.inputs);
      if (lefts.empty() || rights.empty()) continue;
      JoinNode::Key key{lefts[0], rights[0]};
      for (const uint32_t a : lefts) {  // columns of one type, if there are such
        for (const uint32_t b : rights) {
          const ColumnSchema& x = graph_.columns[a];
          const ColumnSchema& y = graph_.columns[b];
          if (x.type == y.type && x.scale == y.scale) key = {a, b};
        }
      }
      keys.push_back({PlaceOf(left, key.left), PlaceOf(right, key.right)});
    }
    return keys;
  }

  const JoinGraph& graph_;
  const JoinChoice& choice_;
  const std::vector<bool>& one_row_;
  const NumberOf number_;
  QueryPlan& out_;
};

class JoinOrderer {
 public:
  JoinOrderer(const QueryPlan& plan, const std::vector<Schema>& schemas,
              const std::vector<NodeSize>& sizes)
      : plan_(plan),
        schemas_(schemas),
        sizes_(sizes),
        uses_(PlanUses(plan)),
        one_row_(OneRowNodes(plan)),
        made_(plan.nodes.size()) {}

  QueryPlan Run() {
    Number(static_cast<uint32_t>(plan_.nodes.size() - 1));
    out_.names = plan_.names;
    return std::move(out_);
  }

 private:
  uint32_t Number(uint32_t node) {
    if (!made_[node]) made_[node] = Make(node);
    return *made_[node];
  }
  uint32_t Make(uint32_t node) {
    const auto number = [this](uint32_t one) { return Number(one); };
    if (IsGraphJoin(plan_, node, one_row_)) {
      const std::optional<JoinGraph> graph = JoinGraphOf(plan_, schemas_, node, uses_, one_row_);
      if (graph && graph->columns.size() <= kTableColumnsMax) {
        const JoinChoice choice = ChooseJoins(*graph, sizes_, one_row_);
        return GraphMaker(*graph, choice, one_row_, number, out_).Run();
      }
    }
    PlanNode copy = Renumbered(plan_.nodes[node], number);
    out_.nodes.push_back(std::move(copy));
    return static_cast<uint32_t>(out_.nodes.size() - 1);
  }

  const QueryPlan& plan_;
  const std::vector<Schema>& schemas_;
  const std::vector<NodeSize>& sizes_;
  const std::vector<uint32_t> uses_;
  const std::vector<bool> one_row_;
  std::vector<std::optional<uint32_t>> made_;  // by node, its number in `out_`
  QueryPlan out_;
};

}  // namespace

QueryPlan WithJoinsInOrder(const QueryPlan& plan, const std::vector<Schema>& schemas,
                           const std::vector<NodeSize>& sizes) {
  return JoinOrderer(plan, schemas, sizes).Run();
}

}  // namespace eris::engine
