#include "balancer/size_balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/support/property.h"

namespace eris::balancer {
namespace {

using testing::ElementsAre;

PlanWorld SizedWorld(uint32_t aeus, uint32_t per_numa_node) {
  PlanWorld world;
  for (uint32_t i = 0; i < aeus; ++i) world.numa_nodes.push_back(NumaNodeId{i / per_numa_node});
  return world;
}

RowMove Move(uint32_t from, uint32_t to, uint64_t rows) { return {AeuId{from}, AeuId{to}, rows}; }

TEST(SizeBalanceTest, WhoHasTooManyGivesToWhoHasTooFew) {
  EXPECT_THAT(SizeBalance(std::vector<uint64_t>{100, 0, 20}, SizedWorld(3, 3)),
              testing::UnorderedElementsAre(Move(0, 1, 40), Move(0, 2, 20)));
}

TEST(SizeBalanceTest, ARowTooManyStaysWhereTheMostAre) {
  EXPECT_TRUE(SizeBalance(std::vector<uint64_t>{5, 6, 6}, SizedWorld(3, 3)).empty());
  EXPECT_TRUE(SizeBalance(std::vector<uint64_t>{1, 0, 0}, SizedWorld(3, 3)).empty());
}

TEST(SizeBalanceTest, NothingAtAllIsBalanced) {
  EXPECT_TRUE(SizeBalance(std::vector<uint64_t>{0, 0}, SizedWorld(2, 1)).empty());
  EXPECT_TRUE(SizeBalance(std::vector<uint64_t>{9}, SizedWorld(1, 1)).empty());
}

TEST(SizeBalanceTest, InsideTheNumaNodeFirstThenTheNearest) {
  // NumaNodes {0, 1}, {2, 3}, {4, 5}; 0 to 2 is nearer than 0 to 1.
  PlanWorld world = SizedWorld(6, 2);
  world.distances.assign(6, std::vector<uint32_t>(6, 30));
  for (int a : {0, 1}) {
    for (int b : {4, 5}) world.distances[a][b] = world.distances[b][a] = 20;
  }
  EXPECT_THAT(SizeBalance(std::vector<uint64_t>{50, 0, 0, 10, 0, 0}, world),
              ElementsAre(Move(0, 1, 10), Move(0, 4, 10), Move(0, 5, 10), Move(0, 2, 10)));
}

TEST(SizeBalanceTest, EndsEvenWithTheFewestRowsMoved) {
  test::ExpectHolds({.cases = 2000}, [] {
    const auto rows = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(0, 1000)));
    const auto count = static_cast<uint32_t>(rows.size());
    std::vector<uint64_t> after = rows;
    uint64_t moved = 0;
    for (const RowMove& move : SizeBalance(rows, SizedWorld(count, *rc::gen::inRange(1u, 9u)))) {
      RC_ASSERT(move.rows > 0u && move.from != move.to);
      RC_ASSERT(after[move.from.value] >= move.rows);
      after[move.from.value] -= move.rows;
      after[move.to.value] += move.rows;
      moved += move.rows;
    }
    const auto [least, most] = std::minmax_element(after.begin(), after.end());
    RC_ASSERT(*most - *least <= 1u);
    // What is above the mean has to leave, and nothing else: rows left over stay where they can.
    const uint64_t sum = std::accumulate(rows.begin(), rows.end(), uint64_t{0});
    const uint64_t mean = sum / count;
    uint64_t above = 0;
    uint64_t larger = 0;
    for (const uint64_t one : rows) {
      above += one > mean ? one - mean : 0;
      larger += one > mean;
    }
    RC_ASSERT(moved == above - std::min(sum % count, larger));
  });
}

}  // namespace
}  // namespace eris::balancer
