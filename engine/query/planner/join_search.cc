#include "engine/query/planner/join_search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

namespace eris::engine {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Some inputs, joined.
struct JoinedSet {
  InputSet inputs = 0;
  double rows = 0;
};

class JoinRules {
 public:
  explicit JoinRules(const JoinProblem& problem) : problem_(problem) {}

  JoinedSet InputOf(uint32_t input) const {
    return {InputSet{1} << input, std::max(1.0, problem_.inputs[input].rows)};
  }
  bool IsAllowed(InputSet left, InputSet right) const {
    const bool connected = std::any_of(
        problem_.classes.begin(), problem_.classes.end(),
        [&](const auto& one) { return (one.inputs & left) != 0 && (one.inputs & right) != 0; });
    return connected || IsOneRow(left) || IsOneRow(right);
  }
  // |L| * |R| / the values that their common columns have, and what filters leave of it.
  JoinedSet Joined(const JoinedSet& left, const JoinedSet& right) const {
    JoinedSet both{left.inputs | right.inputs, left.rows * right.rows};
    double values = 1;
    uint64_t common = 0;
    std::vector<double> of_class(problem_.classes.size(), 1);
    for (size_t i = 0; i < problem_.classes.size(); ++i) {
      const JoinProblem::Class& one = problem_.classes[i];
      if ((one.inputs & left.inputs) == 0 || (one.inputs & right.inputs) == 0) continue;
      common |= uint64_t{1} << i;
      of_class[i] = std::max(Distinct(one, left.inputs), Distinct(one, right.inputs));
      values *= of_class[i];
    }
    both.rows /= std::max(1.0, values / Correlation(both.inputs, common, of_class));
    for (const JoinProblem::Filter& filter : problem_.filters) {
      if ((filter.inputs & ~both.inputs) != 0) continue;
      const bool before =
          (filter.inputs & ~left.inputs) == 0 || (filter.inputs & ~right.inputs) == 0;
      if (!before) both.rows *= filter.share;
    }
    both.rows = std::max(1.0, both.rows);
    return both;
  }
  static double Cost(const JoinedSet& left, const JoinedSet& right, const JoinedSet& both) {
    return both.rows + std::min(left.rows, right.rows);
  }

 private:
  bool IsOneRow(InputSet inputs) const {
    return std::has_single_bit(inputs) &&
           problem_.inputs[static_cast<size_t>(std::countr_zero(inputs))].one_row;
  }
  // The least of any input's: only values that all have are left.
  static double Distinct(const JoinProblem::Class& one, InputSet inputs) {
    double least = kNever;
    for (InputSet rest = inputs & one.inputs; rest != 0; rest &= rest - 1) {
      least = std::min(least, one.distinct[static_cast<size_t>(std::countr_zero(rest))]);
    }
    return std::max(1.0, least);
  }
  // How many times more combinations of values the columns of a unique key could have than the key
  // has; of the key where that is most.
  double Correlation(InputSet inputs, uint64_t common, const std::vector<double>& of_class) const {
    double most = 1;
    for (const JoinProblem::UniqueKey& key : problem_.unique) {
      if ((key.classes & ~common) != 0 || (inputs >> key.input & 1) == 0) continue;
      double values = 1;
      for (uint64_t rest = key.classes; rest != 0; rest &= rest - 1) {
        values *= of_class[static_cast<size_t>(std::countr_zero(rest))];
      }
      most = std::max(most, values / std::max(1.0, key.values));
    }
    return most;
  }

  const JoinProblem& problem_;
};

// All orders, also bushy ones: the best one of each set of inputs from those of its parts.
class AllOrders {
 public:
  explicit AllOrders(const JoinProblem& problem)
      : rules_(problem), inputs_(problem.inputs.size()), best_(size_t{1} << inputs_) {}

  std::optional<JoinOrder> Run() {
    for (uint32_t input = 0; input < inputs_; ++input) {
      best_[size_t{1} << input] = {.set = rules_.InputOf(input), .cost = 0};
    }
    for (InputSet inputs = 1; inputs < best_.size(); ++inputs) {
      if (!std::has_single_bit(inputs)) Find(inputs);
    }
    if (best_.back().cost == kNever) return std::nullopt;
    JoinOrder order;
    Add(best_.size() - 1, order);
    return order;
  }

 private:
  struct Best {
    JoinedSet set{};
    double cost = kNever;
    InputSet left = 0;
  };

  void Find(InputSet inputs) {
    Best& best = best_[inputs];
    const InputSet lowest = inputs & -inputs;
    for (InputSet left = (inputs - 1) & inputs; left != 0; left = (left - 1) & inputs) {
      if ((left & lowest) == 0) continue;  // its counterpart has been looked at
      const Best& one = best_[left];
      const Best& other = best_[inputs & ~left];
      if (one.cost == kNever || other.cost == kNever) continue;
      if (!rules_.IsAllowed(left, inputs & ~left)) continue;
      // The rows of a set are the same in any order: those of the first one that is found.
      if (best.set.inputs == 0) best.set = rules_.Joined(one.set, other.set);
      const double cost = one.cost + other.cost + JoinRules::Cost(one.set, other.set, best.set);
      if (cost < best.cost) {
        best.cost = cost;
        best.left = left;
      }
    }
  }
  uint32_t Add(InputSet inputs, JoinOrder& order) const {
    if (std::has_single_bit(inputs)) return static_cast<uint32_t>(std::countr_zero(inputs));
    const InputSet left = best_[inputs].left;
    const uint32_t first = Add(left, order);
    const uint32_t second = Add(inputs & ~left, order);
    order.emplace_back(first, second);
    return static_cast<uint32_t>(inputs_ + order.size() - 1);
  }

  const JoinRules rules_;
  const size_t inputs_;
  std::vector<Best> best_;  // by set
};

// Always the join with the fewest rows. nullopt: it came to where none is allowed.
std::optional<JoinOrder> GreedyOrder(const JoinProblem& problem) {
  const JoinRules rules(problem);
  std::vector<std::pair<uint32_t, JoinedSet>> parts;  // with their numbers
  for (uint32_t i = 0; i < problem.inputs.size(); ++i) parts.emplace_back(i, rules.InputOf(i));
  JoinOrder order;
  while (parts.size() > 1) {
    size_t left = 0;
    size_t right = 0;
    JoinedSet best{.rows = kNever};
    for (size_t i = 0; i < parts.size(); ++i) {
      for (size_t k = i + 1; k < parts.size(); ++k) {
        if (!rules.IsAllowed(parts[i].second.inputs, parts[k].second.inputs)) continue;
        const JoinedSet both = rules.Joined(parts[i].second, parts[k].second);
        if (both.rows >= best.rows) continue;
        best = both;
        left = i;
        right = k;
      }
    }
    if (best.inputs == 0) return std::nullopt;
    order.emplace_back(parts[left].first, parts[right].first);
    parts[left] = {static_cast<uint32_t>(problem.inputs.size() + order.size() - 1), best};
    parts.erase(parts.begin() + static_cast<int64_t>(right));
  }
  return order;
}

}  // namespace

JoinCost CostOf(const JoinProblem& problem, const JoinOrder& order) {
  const JoinRules rules(problem);
  std::vector<JoinedSet> sets;
  for (uint32_t i = 0; i < problem.inputs.size(); ++i) sets.push_back(rules.InputOf(i));
  JoinCost total{.rows = sets.back().rows};
  for (const auto& [left, right] : order) {
    const JoinedSet both = rules.Joined(sets[left], sets[right]);
    total.cost += JoinRules::Cost(sets[left], sets[right], both);
    total.rows = both.rows;
    sets.push_back(both);
  }
  return total;
}

JoinOrder BestOrder(const JoinProblem& problem, const JoinOrder& text) {
  const std::optional<JoinOrder> found = problem.inputs.size() <= kAllOrdersInputsMax
                                             ? AllOrders(problem).Run()
                                             : GreedyOrder(problem);
  if (!found) return text;
  const double limit = kWorthwhileCost * CostOf(problem, text).cost;
  return CostOf(problem, *found).cost < limit ? *found : text;
}

}  // namespace eris::engine
