#include "engine/query/planner/join_graph.h"

#include <algorithm>
#include <utility>

#include "storage/query/plans/expression_tools.h"

namespace eris::engine {
namespace {

using Numbers = std::vector<uint32_t>;  // by column of a node, its number in the graph

Numbers With(Numbers left, const Numbers& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Expression Numbered(const Expression& expression, const Numbers& numbers) {
  return *storage::Replaced(
      expression, [&](uint32_t field) { return expressions::Field(numbers[field]); },
      &expressions::Subquery);
}

bool IsPlain(const ProjectNode& project) {
  return std::all_of(project.columns.begin(), project.columns.end(), [](const Expression& column) {
    return column.kind == Expression::Kind::kField;
  });
}

class Collector {
 public:
  Collector(const QueryPlan& plan, const std::vector<Schema>& schemas,
            const std::vector<uint32_t>& uses, const std::vector<bool>& one_row)
      : plan_(plan), schemas_(schemas), uses_(uses), one_row_(one_row) {}

  std::optional<JoinGraph> Run(uint32_t root) {
    const auto& join = std::get<JoinNode>(plan_.nodes[root]);
    Part whole = Collect(join);
    graph_.output = std::move(whole.numbers);
    MakeClasses();
    const bool small = graph_.inputs.size() <= JoinProblem::kInputsMax &&
                       graph_.classes.size() <= JoinProblem::kClassesMax;
    if (graph_.inputs.size() < 2 || !small) return std::nullopt;
    // Pairs were numbered as if there were as many inputs as there can be.
    for (auto& [left, right] : graph_.text) {
      for (uint32_t* const number : {&left, &right}) {
        if (*number < kFirstPair) continue;
        *number -= kFirstPair - static_cast<uint32_t>(graph_.inputs.size());
      }
    }
    return std::move(graph_);
  }

 private:
  static constexpr uint32_t kFirstPair = kPlanNodesMax;

  struct Part {
    Numbers numbers{};
    uint32_t number = 0;  // of the input, or of the pair (JoinOrder)
  };

  bool IsPart(uint32_t node) const {
    if (uses_[node] > 1) return false;
    if (IsGraphJoin(plan_, node, one_row_)) return true;
    if (const auto* const filter = std::get_if<FilterNode>(&plan_.nodes[node])) {
      return IsPart(filter->input);
    }
    const auto* const project = std::get_if<ProjectNode>(&plan_.nodes[node]);
    return project != nullptr && IsPlain(*project) && IsPart(project->input);
  }

  Part Collect(uint32_t node) {
    if (!IsPart(node)) return AddInput(node);
    if (const auto* const join = std::get_if<JoinNode>(&plan_.nodes[node])) return Collect(*join);
    if (const auto* const filter = std::get_if<FilterNode>(&plan_.nodes[node])) {
      Part part = Collect(filter->input);
      AddConditions(filter->condition, part.numbers);
      return part;
    }
    const auto& project = std::get<ProjectNode>(plan_.nodes[node]);
    const Part input = Collect(project.input);
    Part part{.number = input.number};
    for (const Expression& column : project.columns) {
      part.numbers.push_back(input.numbers[column.number]);
    }
    return part;
  }

  Part AddInput(uint32_t node) {
    const auto& columns = schemas_[node].columns;
    const auto input = static_cast<uint32_t>(graph_.inputs.size());
    const auto first = static_cast<uint32_t>(graph_.columns.size());
    graph_.inputs.push_back({node, first, static_cast<uint32_t>(columns.size())});
    Part part{.number = input};
    for (const ColumnSchema& column : columns) {
      part.numbers.push_back(static_cast<uint32_t>(graph_.columns.size()));
      graph_.columns.push_back(column);
      graph_.input_of.push_back(input);
    }
    return part;
  }

  Part Collect(const JoinNode& join) {
    const size_t late = graph_.late.size();
    Part left = Collect(join.left);
    if (join.type != JoinType::kInner) {
      AddTest(join, left.numbers);
      return left;
    }
    // Without keys the right side is one input: it has one row.
    const Part right = join.keys.empty() ? AddInput(join.right) : Collect(join.right);
    for (size_t i = late; i < graph_.late.size(); ++i) {
      if (auto* const test = std::get_if<JoinGraph::PartnerTest>(&graph_.late[i])) {
        test->last = false;
      }
    }
    for (const JoinNode::Key& key : join.keys) {
      equal_.emplace_back(left.numbers[key.left], right.numbers[key.right]);
    }
    graph_.text.emplace_back(left.number, right.number);
    Part both{With(std::move(left.numbers), right.numbers),
              static_cast<uint32_t>(kFirstPair + graph_.text.size() - 1)};
    if (join.condition) AddConditions(*join.condition, both.numbers);
    return both;
  }

  void AddConditions(const Expression& condition, const Numbers& numbers) {
    Conditions parts;
    AddParts(Numbered(condition, numbers), graph_.columns, parts);
    for (Expression& part : parts) {
      if (CanFail(part, graph_.columns)) {
        graph_.late.emplace_back(std::move(part));
      } else if (IsEqualityOfColumns(part)) {
        equal_.emplace_back(part.arguments[0].number, part.arguments[1].number);
      } else {
        graph_.conditions.push_back(std::move(part));
      }
    }
  }
  // A column that is equal to itself is not null, which is a condition like others.
  static bool IsEqualityOfColumns(const Expression& part) {
    return part.kind == Expression::Kind::kEqual &&
           part.arguments[0].kind == Expression::Kind::kField &&
           part.arguments[1].kind == Expression::Kind::kField &&
           part.arguments[0].number != part.arguments[1].number;
  }

  void AddTest(const JoinNode& join, const Numbers& left) {
    JoinGraph::PartnerTest test{.right = join.right, .type = join.type};
    for (const JoinNode::Key& key : join.keys) test.keys.push_back({left[key.left], key.right});
    if (join.condition) {
      std::vector<ColumnSchema> both = schemas_[join.left].columns;
      const auto& right = schemas_[join.right].columns;
      both.insert(both.end(), right.begin(), right.end());
      test.can_fail = CanFail(*join.condition, both);
      Numbers numbers = left;
      for (uint32_t i = 0; i < right.size(); ++i) numbers.push_back(JoinGraph::kRightColumns + i);
      test.condition = Numbered(*join.condition, numbers);
    }
    graph_.late.emplace_back(std::move(test));
  }

  void MakeClasses() {
    std::vector<uint32_t> leader(graph_.columns.size());
    for (uint32_t i = 0; i < leader.size(); ++i) leader[i] = i;
    for (const auto& [a, b] : equal_) {
      const uint32_t from = leader[a];
      const uint32_t to = leader[b];
      std::replace(leader.begin(), leader.end(), from, to);
    }
    std::vector<std::vector<uint32_t>> classes(leader.size());
    for (uint32_t i = 0; i < leader.size(); ++i) classes[leader[i]].push_back(i);
    for (auto& one : classes) {
      if (one.size() > 1) graph_.classes.push_back(std::move(one));
    }
  }

  const QueryPlan& plan_;
  const std::vector<Schema>& schemas_;
  const std::vector<uint32_t>& uses_;
  const std::vector<bool>& one_row_;
  JoinGraph graph_;
  std::vector<std::pair<uint32_t, uint32_t>> equal_;
};

}  // namespace

InputSet JoinGraph::InputsOf(const Expression& expression) const {
  InputSet set = 0;
  storage::ForFields(expression, [&](uint32_t column) {
    if (column < kRightColumns) set |= InputSet{1} << input_of[column];
  });
  return set;
}

InputSet JoinGraph::InputsOf(const PartnerTest& test) const {
  InputSet set = test.condition ? InputsOf(*test.condition) : 0;
  for (const JoinNode::Key& key : test.keys) set |= InputSet{1} << input_of[key.left];
  return set;
}

bool IsGraphJoin(const QueryPlan& plan, uint32_t node, const std::vector<bool>& one_row) {
  const auto* const join = std::get_if<JoinNode>(&plan.nodes[node]);
  if (join == nullptr || join->type == JoinType::kLeft) return false;
  return !join->keys.empty() || one_row[join->right];
}

std::optional<JoinGraph> JoinGraphOf(const QueryPlan& plan, const std::vector<Schema>& schemas,
                                     uint32_t root, const std::vector<uint32_t>& uses,
                                     const std::vector<bool>& one_row) {
  return Collector(plan, schemas, uses, one_row).Run(root);
}

}  // namespace eris::engine
