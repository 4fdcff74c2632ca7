#include "engine/query/planner/join_choice.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "storage/query/plans/expression_tools.h"

namespace eris::engine {
namespace {

// What an `or` over several inputs keeps: what it says of each of them alone has been asked there.
constexpr double kOrOfInputsShare = 0.5;

// Places of semi and anti joins that are tried: planning must not take longer than a query.
constexpr uint32_t kSearchesMax = 200;

class Chooser {
 public:
  Chooser(const JoinGraph& graph, const std::vector<NodeSize>& sizes,
          const std::vector<bool>& one_row)
      : graph_(graph), sizes_(sizes) {
    for (size_t i = 0; i < graph.classes.size(); ++i) {
      for (const uint32_t column : graph.classes[i]) class_of_[column] = i;
    }
    FillColumns();
    FillInputs(one_row);
    for (const std::vector<uint32_t>& one : graph.classes) AddClass(one);
    for (const JoinGraph::Input& input : graph.inputs) AddUniqueKeys(input);
    for (const Expression& condition : graph.conditions) AddCondition(condition);
  }

  JoinChoice Run() {
    JoinChoice choice;
    std::vector<size_t> free;  // the tests that have a choice
    for (size_t i = 0; i < graph_.late.size(); ++i) {
      choice.places.emplace_back();
      const auto* const test = std::get_if<JoinGraph::PartnerTest>(&graph_.late[i]);
      if (test == nullptr || test->can_fail) continue;
      choice.places.back() = TextPlace(*test);
      if (choice.places.back().kind == TestPlace::Kind::kAtEnd) free.push_back(i);
    }
    double cost = Search(choice);
    uint32_t searches = 0;
    for (const size_t i : free) {
      const auto& test = std::get<JoinGraph::PartnerTest>(graph_.late[i]);
      for (uint32_t input = 0; input < graph_.inputs.size(); ++input) {
        std::optional<TestPlace> place = PlaceAt(test, input);
        if (!place) continue;
        if (++searches > kSearchesMax) return choice;
        JoinChoice other = choice;
        other.places[i] = *std::move(place);
        const double other_cost = Search(other);
        if (other_cost >= kWorthwhileCost * cost) continue;
        cost = other_cost;
        choice = std::move(other);
      }
    }
    return choice;
  }

 private:
  // What is known of the graph's columns, as if they were those of one node.
  void FillColumns() {
    for (const JoinGraph::Input& input : graph_.inputs) {
      const NodeSize& size = sizes_[input.node];
      all_.object_rows = std::max(all_.object_rows, size.object_rows);
      all_.distinct.insert(all_.distinct.end(), size.distinct.begin(), size.distinct.end());
    }
  }
  void FillInputs(const std::vector<bool>& one_row) {
    for (const JoinGraph::Input& input : graph_.inputs) {
      problem_.inputs.push_back(
          {.rows = sizes_[input.node].rows, .one_row = bool{one_row[input.node]}});
    }
  }
  // The values of its column that is a unique key contain those of all others, as a rule.
  void AddClass(const std::vector<uint32_t>& columns) {
    double domain = 0;
    for (const uint32_t column : columns) {
      domain = std::max(domain, all_.distinct[column].value_or(0));
    }
    JoinProblem::Class one{.inputs = 0, .distinct = std::vector<double>(graph_.inputs.size(), 0)};
    for (const uint32_t column : columns) {
      const uint32_t input = graph_.input_of[column];
      const NodeSize& size = sizes_[graph_.inputs[input].node];
      std::optional<double>& known = all_.distinct[column];
      if (!known && domain > 0) known = std::min(domain, size.object_rows);
      if (!known) known = size.object_rows * kDistinctShare;
      double& values = one.distinct[input];
      values = (one.inputs >> input & 1) != 0 ? std::min(values, *known) : *known;
      one.inputs |= InputSet{1} << input;
    }
    problem_.classes.push_back(std::move(one));
  }
  void AddUniqueKeys(const JoinGraph::Input& input) {
    for (const NodeSize::UniqueKey& key : sizes_[input.node].unique) {
      JoinProblem::UniqueKey one{.values = key.values};
      one.input = graph_.input_of[input.first];
      bool known = !key.columns.empty();
      for (const uint32_t column : key.columns) {
        const auto found = class_of_.find(input.first + column);
        known &= found != class_of_.end();
        if (found != class_of_.end()) one.classes |= uint64_t{1} << found->second;
      }
      if (known) problem_.unique.push_back(one);
    }
  }
  void AddCondition(const Expression& condition) {
    const InputSet inputs = graph_.InputsOf(condition);
    double share = ShareOf(condition, all_);
    if (!std::has_single_bit(inputs)) {
      if (condition.kind == Expression::Kind::kOr) share = std::max(share, kOrOfInputsShare);
      problem_.filters.push_back({inputs, share});
    } else {
      problem_.inputs[static_cast<size_t>(std::countr_zero(inputs))].rows *= share;
    }
  }

  // Where the plan has a test, as far as orders of joins go.
  TestPlace TextPlace(const JoinGraph::PartnerTest& test) const {
    TestPlace place{.keys = test.keys};
    const InputSet inputs = graph_.InputsOf(test);
    if (test.last || inputs == 0) return place;
    place.kind = TestPlace::Kind::kEarly;
    if (!std::has_single_bit(inputs)) return place;
    place.kind = TestPlace::Kind::kInput;
    place.input = static_cast<uint32_t>(std::countr_zero(inputs));
    return place;
  }
  // The test at an input that has all of its columns, or ones that are equal. nullopt: it has not.
  std::optional<TestPlace> PlaceAt(const JoinGraph::PartnerTest& test, uint32_t input) const {
    if (test.keys.empty()) return std::nullopt;
    const InputSet of_condition = test.condition ? graph_.InputsOf(*test.condition) : 0;
    if ((of_condition & ~(InputSet{1} << input)) != 0) return std::nullopt;
    TestPlace place{.kind = TestPlace::Kind::kInput, .input = input, .keys = test.keys};
    for (JoinNode::Key& key : place.keys) {
      const std::optional<uint32_t> column = ColumnAt(key.left, input);
      if (!column) return std::nullopt;
      key.left = *column;
    }
    return place;
  }
  std::optional<uint32_t> ColumnAt(uint32_t column, uint32_t input) const {
    if (graph_.input_of[column] == input) return column;
    const auto found = class_of_.find(column);
    if (found == class_of_.end()) return std::nullopt;
    for (const uint32_t other : graph_.classes[found->second]) {
      if (graph_.input_of[other] == input) return other;
    }
    return std::nullopt;
  }

  // The best order with the tests in their places; its cost.
  double Search(JoinChoice& choice) const {
    JoinProblem problem = problem_;
    double cost = 0;
    std::vector<double> at_end;
    for (size_t i = 0; i < graph_.late.size(); ++i) {
      const auto* const test = std::get_if<JoinGraph::PartnerTest>(&graph_.late[i]);
      if (test == nullptr) continue;
      const TestPlace& place = choice.places[i];
      const double share = ShareOfTest(*test);
      if (place.kind == TestPlace::Kind::kInput) {
        cost += problem.inputs[place.input].rows;
        problem.inputs[place.input].rows *= share;
      } else if (place.kind == TestPlace::Kind::kEarly) {
        problem.filters.push_back({graph_.InputsOf(*test), share});
      } else {
        at_end.push_back(share);
      }
    }
    choice.order = BestOrder(problem, graph_.text);
    JoinCost joins = CostOf(problem, choice.order);
    for (const double share : at_end) {
      cost += joins.rows;
      joins.rows *= share;
    }
    return cost + joins.cost;
  }
  double ShareOfTest(const JoinGraph::PartnerTest& test) const {
    double share = PartnerShare(test.keys, all_, sizes_[test.right]);
    if (test.condition) {
      const bool differs = test.condition->kind == Expression::Kind::kNotEqual;
      share *= differs ? 1 - kEqualShare : kOtherShare;
    }
    return test.type == JoinType::kSemi ? share : std::max(kEqualShare, 1 - share);
  }

  const JoinGraph& graph_;
  const std::vector<NodeSize>& sizes_;
  NodeSize all_;
  std::map<uint32_t, size_t> class_of_;  // by column
  JoinProblem problem_;
};

}  // namespace

JoinChoice ChooseJoins(const JoinGraph& graph, const std::vector<NodeSize>& sizes,
                       const std::vector<bool>& one_row) {
  return Chooser(graph, sizes, one_row).Run();
}

}  // namespace eris::engine
