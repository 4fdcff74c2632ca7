#include "engine/query/planner/join_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/seed.h"

namespace eris::engine {
namespace {

using testing::ElementsAre;
using testing::Pair;

JoinProblem::Class ClassOf(std::vector<double> distinct) {
  JoinProblem::Class one{.inputs = 0, .distinct = std::move(distinct)};
  for (size_t i = 0; i < one.distinct.size(); ++i) {
    if (one.distinct[i] > 0) one.inputs |= InputSet{1} << i;
  }
  return one;
}

// lineitem, orders, customer: the first order joins the large ones first.
JoinProblem Sales() {
  JoinProblem problem;
  problem.inputs = {{.rows = 60'000}, {.rows = 15'000}, {.rows = 15}};
  problem.classes = {ClassOf({15'000, 15'000, 0}), ClassOf({0, 1500, 1500})};
  return problem;
}

TEST(JoinSearchTest, RowsOfAJoinAreThoseOfTheLargerSidePerValue) {
  const JoinCost cost = CostOf(Sales(), {{0, 1}, {3, 2}});
  EXPECT_DOUBLE_EQ(cost.rows, 600);
  // Handed out: 60,000 and 600; in tables: 15,000 and 15.
  EXPECT_DOUBLE_EQ(cost.cost, 60'000 + 600 + 15'000 + 15);
}

TEST(JoinSearchTest, SmallJoinsComeFirst) {
  EXPECT_THAT(BestOrder(Sales(), {{0, 1}, {3, 2}}), ElementsAre(Pair(1, 2), Pair(0, 3)));
}

TEST(JoinSearchTest, TheTextsOrderStaysIfNothingIsMuchCheaper) {
  JoinProblem problem;
  problem.inputs = {{.rows = 100}, {.rows = 101}, {.rows = 100}};
  problem.classes = {ClassOf({100, 100, 100})};
  const JoinOrder text = {{1, 2}, {0, 3}};
  EXPECT_EQ(BestOrder(problem, text), text);
}

TEST(JoinSearchTest, BushyOrdersAreFound) {
  // Two pairs that join to a few rows each, in a chain whose middle is large.
  JoinProblem problem;
  problem.inputs = {{.rows = 10}, {.rows = 10'000}, {.rows = 10'000}, {.rows = 10}};
  problem.classes = {ClassOf({10'000, 10'000, 0, 0}), ClassOf({0, 100, 100, 0}),
                     ClassOf({0, 0, 10'000, 10'000})};
  EXPECT_THAT(BestOrder(problem, {{0, 1}, {4, 2}, {5, 3}}),
              ElementsAre(Pair(0, 1), Pair(2, 3), Pair(4, 5)));
}

TEST(JoinSearchTest, AUniqueKeyOfTwoColumnsFindsOneRow) {
  JoinProblem problem;
  problem.inputs = {{.rows = 60'000}, {.rows = 8000}};
  problem.classes = {ClassOf({2000, 2000}), ClassOf({100, 100})};
  EXPECT_DOUBLE_EQ(CostOf(problem, {{0, 1}}).rows, 2400);
  problem.unique = {{.classes = 3, .values = 8000, .input = 1}};
  EXPECT_DOUBLE_EQ(CostOf(problem, {{0, 1}}).rows, 60'000);
}

TEST(JoinSearchTest, FiltersCountOnceTheirInputsAreTogether) {
  JoinProblem problem = Sales();
  problem.filters = {{.inputs = 0b101, .share = 0.1}};
  EXPECT_DOUBLE_EQ(CostOf(problem, {{0, 1}}).rows, 60'000);
  EXPECT_DOUBLE_EQ(CostOf(problem, {{0, 1}, {3, 2}}).rows, 60);
}

TEST(JoinSearchTest, OnlyOneRowIsJoinedWithoutAColumnInCommon) {
  JoinProblem problem = Sales();
  problem.classes.pop_back();
  problem.inputs[2] = {.rows = 1, .one_row = true};
  const JoinOrder text = {{0, 2}, {3, 1}};
  EXPECT_DOUBLE_EQ(CostOf(problem, text).rows, 60'000);
  EXPECT_THAT(BestOrder(problem, text), ElementsAre(Pair(1, 2), Pair(0, 3)));
}

// A chain, a star or any tree, with some more classes.
JoinProblem RandomProblem(std::mt19937_64& random, uint32_t inputs) {
  JoinProblem problem;
  const auto number = [&](uint64_t most) { return static_cast<double>(1 + random() % most); };
  for (uint32_t i = 0; i < inputs; ++i) {
    problem.inputs.push_back({.rows = number(100'000)});
    if (i == 0) continue;
    std::vector<double> distinct(inputs, 0);
    distinct[i] = number(1000);
    distinct[random() % i] = number(1000);
    if (random() % 3 == 0) distinct[random() % inputs] = number(1000);
    problem.classes.push_back(ClassOf(std::move(distinct)));
  }
  return problem;
}
// The inputs in their order: each is joined with one before it.
JoinOrder TextOrder(uint32_t inputs) {
  JoinOrder order = {{0, 1}};
  for (uint32_t i = 2; i < inputs; ++i) order.emplace_back(inputs + i - 2, i);
  return order;
}
// The inputs below each number; empty: the order joins something twice, or without a class.
std::vector<InputSet> SetsOf(const JoinProblem& problem, const JoinOrder& order) {
  std::vector<InputSet> sets;
  for (size_t i = 0; i < problem.inputs.size(); ++i) sets.push_back(InputSet{1} << i);
  for (const auto& [left, right] : order) {
    if (std::max(left, right) >= sets.size()) return {};
    const auto common = [&, a = sets[left], b = sets[right]](const JoinProblem::Class& one) {
      return (one.inputs & a) != 0 && (one.inputs & b) != 0;
    };
    if ((sets[left] & sets[right]) != 0) return {};
    if (std::none_of(problem.classes.begin(), problem.classes.end(), common)) return {};
    sets.push_back(sets[left] | sets[right]);
  }
  return sets;
}

TEST(JoinSearchTest, OrdersJoinEachInputOnce) {
  for (uint64_t seed = test::Seed(); seed < test::Seed() + 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto inputs = static_cast<uint32_t>(2 + random() % (2 * kAllOrdersInputsMax));
    const JoinProblem problem = RandomProblem(random, inputs);
    const JoinOrder text = TextOrder(inputs);
    const JoinOrder order = BestOrder(problem, text);
    ASSERT_EQ(order.size(), inputs - 1) << test::SeedText(seed);
    const std::vector<InputSet> sets = SetsOf(problem, order);
    ASSERT_FALSE(sets.empty()) << test::SeedText(seed);
    ASSERT_EQ(sets.back(), (InputSet{1} << inputs) - 1) << test::SeedText(seed);
    ASSERT_LE(CostOf(problem, order).cost, CostOf(problem, text).cost) << test::SeedText(seed);
  }
}

// All orders of up to four inputs, one by one.
double LeastCost(const JoinProblem& problem, std::vector<uint32_t> parts, JoinOrder& order) {
  if (parts.size() == 1) return CostOf(problem, order).cost;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t k = i + 1; k < parts.size(); ++k) {
      order.emplace_back(parts[i], parts[k]);
      if (!SetsOf(problem, order).empty()) {
        std::vector<uint32_t> rest = parts;
        rest.erase(rest.begin() + static_cast<int64_t>(k));
        rest[i] = static_cast<uint32_t>(problem.inputs.size() + order.size() - 1);
        least = std::min(least, LeastCost(problem, rest, order));
      }
      order.pop_back();
    }
  }
  return least;
}

TEST(JoinSearchTest, NoOrderIsMuchCheaper) {
  for (uint64_t seed = test::Seed(); seed < test::Seed() + 40; ++seed) {
    std::mt19937_64 random(seed);
    const auto inputs = static_cast<uint32_t>(2 + random() % 4);
    JoinProblem problem = RandomProblem(random, inputs);
    // With one number of values per class, and no set of less than a row, the rows of a set are the
    // same in any order.
    for (JoinProblem::Input& input : problem.inputs) input.rows += 2500;
    for (JoinProblem::Class& one : problem.classes) {
      for (double& values : one.distinct) values = values > 0 ? 50 : 0;
    }
    std::vector<uint32_t> parts(inputs);
    for (uint32_t i = 0; i < inputs; ++i) parts[i] = i;
    JoinOrder none;
    const double least = LeastCost(problem, parts, none);
    const double found = CostOf(problem, BestOrder(problem, TextOrder(inputs))).cost;
    ASSERT_LE(kWorthwhileCost * found, least * (1 + 1e-9)) << test::SeedText(seed);
  }
}

}  // namespace
}  // namespace eris::engine
