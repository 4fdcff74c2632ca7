// Objects beside each other as one: their loads added, and plans for all of them.
#include "balancer/family_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <vector>

#include "balancer/load/added_loads.h"
#include "balancer/load/imbalance.h"
#include "balancer/load/load_curve.h"
#include "balancer/make_plan.h"
#include "balancer/one_shot.h"
#include "balancer/transfer_plan.h"
#include "tests/support/load_samples.h"
#include "tests/support/property.h"
#include "tests/support/random_samples.h"

namespace eris::balancer {
namespace {

using test::MakeSample;
using test::Starts;

double Sum(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}

Position WeightOf(const LoadSample& sample, size_t partition) {
  Position weight = 0;
  for (const SubRange& one : sample.partitions[partition].sub_ranges) weight += one.weight;
  return weight;
}

PlanWorld World(uint32_t aeus) {
  PlanWorld world;
  world.numa_nodes.assign(aeus, NumaNodeId{0});
  return world;
}

LoadSample WithOwners(LoadSample sample, const std::vector<uint32_t>& owners) {
  for (size_t i = 0; i < owners.size(); ++i) sample.partitions[i].owner = AeuId{owners[i]};
  return sample;
}

// Whether [lo, hi) is of that owner; with neither neighbour of the same owner it is all of a range,
// with both of them its middle.
bool LeavesFromAnEnd(const Partitioning& current, const RangeMove& move, Position end) {
  const auto owner_of = [&](Position key) {
    size_t i = 0;
    while (i + 1 < current.starts.size() && current.starts[i + 1].head <= key) ++i;
    return current.owners[i];
  };
  for (const storage::Key& start : current.starts) {
    const bool inside = start.head > move.lo && start.head < move.hi;
    if (inside && owner_of(start.head) != move.from) return false;
  }
  if (owner_of(move.lo) != move.from) return false;
  const bool before = move.lo > current.starts[0].head && owner_of(move.lo - 1) == move.from;
  const bool after = move.hi < end && owner_of(move.hi) == move.from;
  return !before || !after;
}

// Whether each transfer of the object leaves from an end of a range, and all lead to `target`.
bool LeadFromEndsTo(const Partitioning& target, const FamilyMember& member,
                    const std::vector<PlannedTransfer>& transfers) {
  const Position end = EndOfSample(member.sample);
  Partitioning current = CurrentPartitioning(member.sample);
  for (const PlannedTransfer& one : transfers) {
    if (one.object != member.object) continue;
    const Position hi = one.range.hi ? Position{*one.range.hi} : end;
    const RangeMove move{one.range.lo, hi, one.from, one.to};
    if (!member.world.cuts_inside && !LeavesFromAnEnd(current, move, end)) return false;
    current = AfterMoves(current, {&move, 1}, end);
  }
  return DifferingRanges(current, target, end).empty();
}

TEST(AddedLoadsTest, LoadsRowsAndNotedKeysAddUpWhereTheyAre) {
  LoadSample one = MakeSample({{0, {10, 0}, 5}, {100, {40}, 7}}, 200);
  LoadSample two = MakeSample({{0, {3, 5}, 1}, {100, {2, 6, 0, 0}, 2}}, 200);
  one.row_keys = {{3, 5}, {150, 2}};
  two.row_keys = {{3, 1}, {7, 4}};
  two.partitions[1].moving_weight = 9;
  const LoadSample sum = AddedLoads({one, two});
  ASSERT_EQ(sum.partitions.size(), 2u);
  EXPECT_THAT(sum.partitions[0].sub_ranges, testing::ElementsAre(SubRange{0, 13}, SubRange{50, 5}));
  EXPECT_THAT(sum.partitions[1].sub_ranges,
              testing::ElementsAre(SubRange{100, 12}, SubRange{125, 16}, SubRange{150, 20}));
  EXPECT_EQ(sum.partitions[0].size, 6u);
  EXPECT_EQ(sum.partitions[1].size, 9u);
  EXPECT_EQ(sum.partitions[1].moving_weight, 9u);
  EXPECT_THAT(sum.row_keys, testing::ElementsAre(RowKey{3, 6}, RowKey{7, 4}, RowKey{150, 2}));
}

TEST(AddedLoadsTest, LoadsOfAShorterWindowAreScaled) {
  LoadSample one = MakeSample({{0, {10}}}, 100);
  LoadSample two = MakeSample({{0, {10}}}, 100);
  one.window_ns = 2'000;
  two.window_ns = 1'000;
  one.accesses = two.accesses = 100;
  const LoadSample sum = AddedLoads({one, two});
  EXPECT_EQ(sum.window_ns, 2'000u);
  EXPECT_EQ(Sum(PartitionLoads(sum)), 30);
  // (10 + 20)^2 / (10^2 / 100 + 20^2 / 100)
  EXPECT_NEAR(sum.accesses, 180, 0.001);
}

TEST(AddedLoadsTest, OneThatHasJustBegunWaitsOnlyIfItHasLoad) {
  LoadSample old = MakeSample({{0, {10}}}, 100);
  LoadSample idle = MakeSample({{0, {}}}, 100);
  idle.one_period = true;
  EXPECT_FALSE(AddedLoads({old, idle}).one_period);
  idle.partitions[0].moving_weight = 1;
  EXPECT_TRUE(AddedLoads({old, idle}).one_period);
}

TEST(AddedLoadsTest, NothingIsLostAndLoadsStayInTheirRanges) {
  test::ExpectHolds({}, [] {
    LoadSample one = *test::AnySample(3);
    for (PartitionSample& partition : one.partitions) {
      for (SubRange& sub : partition.sub_ranges) sub.weight /= 2;  // two of them fit 64 bits
    }
    LoadSample two = one;
    for (PartitionSample& partition : two.partitions) {
      std::vector<uint64_t> weights;
      const auto count = *rc::gen::inRange<size_t>(0, 20);
      for (size_t i = 0; i < count; ++i)
        weights.push_back(*rc::gen::inRange<uint64_t>(0, 1'000'000));
      partition.sub_ranges = test::EvenSubRanges(partition.range, weights);
    }
    const LoadSample sum = AddedLoads({one, two});
    RC_ASSERT(CurrentPartitioning(sum) == CurrentPartitioning(one));
    for (size_t i = 0; i < sum.partitions.size(); ++i) {
      RC_ASSERT(WeightOf(sum, i) == WeightOf(one, i) + WeightOf(two, i));
      RC_ASSERT(sum.partitions[i].size == one.partitions[i].size + two.partitions[i].size);
      uint64_t before = 0;
      for (const SubRange& sub : sum.partitions[i].sub_ranges) {
        RC_ASSERT(sub.begin >= sum.partitions[i].range.lo.head);
        RC_ASSERT(before == 0 || sub.begin > before);
        before = sub.begin;
      }
    }
  });
}

TEST(FamilyPlanTest, EachTransferIsMadeForOneMemberAfterTheOther) {
  // One member's load is in the first range, the other's in the second: together they are even.
  const LoadSample one = MakeSample({{0, {90, 0}, 50}, {100, {10}, 50}}, 200);
  const LoadSample two = MakeSample({{0, {10}, 20}, {100, {0, 90}, 20}}, 200);
  PlanWorld table = World(2);
  table.relinks = table.cuts_inside = false;
  const FamilyPlan even({{"a", one, World(2)}, {"b", two, table}});
  EXPECT_FALSE(even.world().cuts_inside);
  EXPECT_TRUE(even.IntoLine().empty());
  EXPECT_TRUE(
      MakePlan("a", even.sample(), BalanceAlgorithm::kOneShot, 1, even.world()).transfers.empty());

  const LoadSample three = MakeSample({{0, {90, 90}, 20}, {100, {0, 0}, 20}}, 200);
  const FamilyPlan skewed({{"a", one, World(2)}, {"b", three, table}});
  BalancePlan plan = MakePlan("b", skewed.sample(), BalanceAlgorithm::kOneShot, 1, skewed.world());
  ASSERT_EQ(plan.transfers.size(), 1u);
  const double after = plan.imbalance_after;
  ASSERT_TRUE(skewed.Spread(plan).ok());
  ASSERT_EQ(plan.transfers.size(), 2u);
  EXPECT_EQ(plan.transfers[0].object, "a");
  EXPECT_EQ(plan.transfers[0].kind, TransferKind::kLink);
  EXPECT_EQ(plan.transfers[1].object, "b");
  EXPECT_EQ(plan.transfers[1].kind, TransferKind::kCopy);
  EXPECT_EQ(plan.transfers[0].range, plan.transfers[1].range);
  EXPECT_GT(plan.transfers[0].rows, plan.transfers[1].rows);
  EXPECT_EQ(plan.bytes_to_copy, plan.transfers[1].bytes);
  EXPECT_EQ(plan.imbalance_after, after);
  // The kind is that of the named one, if it can.
  EXPECT_EQ(skewed.Spread(plan, TransferKind::kLink).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FamilyPlanTest, OthersFollowTheFirst) {
  const LoadSample one = MakeSample({{0, {1}, 50}, {100, {1}, 50}}, std::nullopt);
  const LoadSample two = MakeSample({{0, {1}, 20}, {70, {1}, 20}}, std::nullopt);
  const FamilyPlan plan({{"a", one, World(2)}, {"b", two, World(2)}});
  const std::vector<PlannedTransfer> moves = plan.IntoLine();
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].object, "b");
  EXPECT_EQ(moves[0].range, (KeyRange{70, 100}));
  EXPECT_EQ(moves[0].from, AeuId{1});
  EXPECT_EQ(moves[0].to, AeuId{0});
  // On a grain the first one moves, too.
  PlanWorld coarse = World(2);
  coarse.grain = 64;
  const FamilyPlan grains({{"a", one, coarse}, {"b", two, coarse}});
  const std::vector<PlannedTransfer> both = grains.IntoLine();
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].range, (KeyRange{100, 128}));
  EXPECT_EQ(both[1].range, (KeyRange{70, 128}));
}

TEST(FamilyPlanTest, ATableFollowsIntoTheMiddleOfItsRange) {
  const auto sample = [](const std::vector<uint32_t>& owners) {
    return WithOwners(
        MakeSample({{0, {1}, 10}, {10, {1}, 10}, {20, {1}, 10}, {30, {1}, 10}, {40, {1}, 10}},
                   std::nullopt),
        owners);
  };
  PlanWorld table = World(4);
  table.relinks = table.cuts_inside = false;
  const FamilyMember index{"index", sample({0, 1, 2, 3, 0}), World(4)};
  const FamilyMember all_at_one{"table", sample({0, 0, 0, 0, 0}), table};
  const FamilyPlan family({index, all_at_one});
  const std::vector<PlannedTransfer> moves = family.IntoLine();
  // What lies behind comes back.
  ASSERT_EQ(moves.size(), 4u);
  EXPECT_EQ(moves[0].range, (KeyRange{10, std::nullopt}));
  EXPECT_EQ(moves[0].to, AeuId{1});
  EXPECT_EQ(moves[0].rows, 40u);
  EXPECT_TRUE(LeadFromEndsTo(CurrentPartitioning(index.sample), all_at_one, moves));

  BalancePlan plan = MakePlan("index", family.sample(), BalanceAlgorithm::kSize, 1, family.world());
  ASSERT_TRUE(family.ComesIntoLine(plan));
  EXPECT_EQ(plan.transfers.size(), moves.size());
  EXPECT_EQ(plan.reason, kFollowFirst);
  EXPECT_EQ(plan.imbalance_after, plan.imbalance_before);
  uint64_t bytes = 0;
  for (const PlannedTransfer& one : moves) bytes += one.bytes;
  EXPECT_EQ(plan.bytes_to_copy, bytes);
  EXPECT_FALSE(FamilyPlan({index}).ComesIntoLine(plan));
}

TEST(FamilyPlanTest, AnyMembersComeIntoLine) {
  test::ExpectHolds({}, [] {
    const auto aeus = *rc::gen::inRange<uint32_t>(2, 6);
    const LoadSample first = *test::AnySample(aeus);
    PlanWorld table = World(aeus);
    table.relinks = table.cuts_inside = false;
    std::vector<FamilyMember> members{{"first", first, World(aeus)}};
    for (const char* name : {"a", "b"}) {
      LoadSample sample = first;
      const bool one_owner = *rc::gen::arbitrary<bool>();
      for (PartitionSample& partition : sample.partitions) {
        partition.owner = AeuId{one_owner ? 0 : *rc::gen::inRange<uint32_t>(0, aeus)};
      }
      members.push_back({name, sample, table});
    }
    const std::vector<PlannedTransfer> moves = FamilyPlan(members).IntoLine();
    for (const FamilyMember& member : members) {
      RC_ASSERT(LeadFromEndsTo(CurrentPartitioning(first), member, moves));
    }
  });
}

TEST(FamilyPlanTest, PlansCutOnTheGrainAlone) {
  test::ExpectHolds({}, [] {
    const LoadSample sample = *test::AnySample(4);
    PlanWorld world = World(4);
    world.grain = uint64_t{1} << *rc::gen::inRange(0, 40);
    if (sample.partitions.front().range.lo.head != 0 || sample.partitions.back().range.hi) return;
    for (const PlannedTransfer& move :
         MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, world).transfers) {
      const auto at_start = [&](uint64_t key) {
        for (const PartitionSample& one : sample.partitions) {
          if (one.range.lo.head == key) return true;
        }
        return key % world.grain == 0;
      };
      RC_ASSERT(at_start(move.range.lo));
      RC_ASSERT(!move.range.hi || at_start(*move.range.hi));
    }
  });
}

}  // namespace
}  // namespace eris::balancer
