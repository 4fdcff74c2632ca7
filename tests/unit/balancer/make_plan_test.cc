#include "balancer/make_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "balancer/load/imbalance.h"
#include "balancer/load/load_curve.h"
#include "balancer/one_shot.h"
#include "balancer/transfer_plan.h"
#include "tests/support/load_samples.h"
#include "tests/support/property.h"
#include "tests/support/random_samples.h"

namespace eris::balancer {
namespace {

using test::MakeSample;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kLastOfPlan = ~uint64_t{0};

PlanWorld WorldOf(uint32_t aeus, uint32_t per_numa_node) {
  PlanWorld world;
  for (uint32_t i = 0; i < aeus; ++i) world.numa_nodes.push_back(NumaNodeId{i / per_numa_node});
  return world;
}

std::vector<std::string> Texts(const BalancePlan& plan) {
  std::vector<std::string> texts;
  for (const PlannedTransfer& t : plan.transfers) {
    texts.push_back(absl::StrCat(TraitsOf(t.kind).name, " ", t.from.value, ">", t.to.value, " [",
                                 t.range.lo, ",", t.range.hi ? absl::StrCat(*t.range.hi) : "end",
                                 ")"));
  }
  return texts;
}

// What the sample's partitioning becomes.
Partitioning After(const LoadSample& sample, const BalancePlan& plan) {
  std::map<Position, AeuId> owners;
  for (const PartitionSample& p : sample.partitions) owners[p.range.lo.head] = p.owner;
  for (const PlannedTransfer& t : plan.transfers) {
    const Position hi = t.range.hi ? Position{*t.range.hi} : kEndOfKeys;
    owners.try_emplace(t.range.lo, std::prev(owners.upper_bound(t.range.lo))->second);
    if (hi < EndOfSample(sample)) {
      owners.try_emplace(hi, std::prev(owners.upper_bound(hi))->second);
    }
    for (auto at = owners.find(t.range.lo); at != owners.end() && at->first < hi; ++at) {
      EXPECT_EQ(at->second, t.from);
      at->second = t.to;
    }
  }
  Partitioning result;
  for (const auto& [start, owner] : owners) {
    result.starts.push_back(storage::Key::FromU64(static_cast<uint64_t>(start)));
    result.owners.push_back(owner);
  }
  return result;
}

TEST(MakePlanTest, LoadsBeforeAndAfterAreInTimePerTime) {
  LoadSample sample = MakeSample({{0, {600}, 10}, {100, {200}, 10}}, 200);
  sample.window_ns = 1000;
  const BalancePlan plan = MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, WorldOf(2, 1));
  EXPECT_EQ(plan.object, "o");
  EXPECT_EQ(plan.algorithm, BalanceAlgorithm::kOneShot);
  EXPECT_THAT(Texts(plan), ElementsAre("copy 0>1 [67,100)"));
  EXPECT_DOUBLE_EQ(plan.imbalance_before, 0.5);
  EXPECT_NEAR(plan.imbalance_after, 0, 0.01);
  EXPECT_DOUBLE_EQ(plan.shares[0].load_before, 0.6);
  EXPECT_DOUBLE_EQ(plan.shares[1].load_before, 0.2);
  EXPECT_NEAR(plan.shares[0].load_after, 0.4, 0.01);
  EXPECT_NEAR(plan.shares[1].load_after, 0.4, 0.01);
  EXPECT_EQ(plan.shares[0].rows_after, 7u);
  EXPECT_EQ(plan.shares[1].rows_after, 13u);
  EXPECT_EQ(plan.bytes_to_copy, 3 * 16u);
  EXPECT_EQ(plan.reason, "");
}

TEST(MakePlanTest, NothingToDoSaysWhy) {
  LoadSample sample = MakeSample({{0, {5}}, {100, {5}}}, 200);
  EXPECT_THAT(MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, WorldOf(2, 1)).reason,
              HasSubstr("more equal"));
  for (PartitionSample& p : sample.partitions) p.sub_ranges.clear();
  const BalancePlan idle =
      MakePlan("o", sample, BalanceAlgorithm::kMovingAverage, 1, WorldOf(2, 1));
  EXPECT_THAT(idle.transfers, IsEmpty());
  EXPECT_THAT(idle.reason, HasSubstr("not been accessed"));
  EXPECT_EQ(idle.shares.size(), 2u);
  for (PartitionSample& p : sample.partitions) p.size = 0;
  PlanWorld heap = WorldOf(2, 1);
  heap.by_size = true;
  EXPECT_EQ(MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, heap).reason,
            "the object has no rows");
  for (PartitionSample& p : sample.partitions) p.size = 7;
  EXPECT_THAT(MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, heap).reason,
              HasSubstr("equally many rows"));
}

TEST(MakePlanTest, HeapTablesGoByRowsWhateverIsChosen) {
  LoadSample sample = MakeSample({{0, {5}, 100}, {1, {0}, 20}, {2, {0}, 0}}, 3);
  PlanWorld world = WorldOf(4, 2);
  world.by_size = true;
  const BalancePlan plan = MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, world);
  EXPECT_EQ(plan.algorithm, BalanceAlgorithm::kSize);
  uint64_t moved = 0;
  for (const PlannedTransfer& t : plan.transfers) moved += t.rows;
  EXPECT_EQ(moved, 70u);
  EXPECT_EQ(plan.bytes_to_copy, 70 * 16u);
  for (const AeuShare& share : plan.shares) {
    EXPECT_EQ(share.rows_after, 30u);
    EXPECT_EQ(share.load_after, 30);
  }
  EXPECT_EQ(plan.imbalance_after, 0);
}

TEST(MakePlanTest, SizesOfAnIndexAreBalancedByItsRows) {
  LoadSample sample = MakeSample({{0, {0}, 300}, {100, {900}, 100}}, std::nullopt);
  sample.seen_last = 199;
  const BalancePlan plan = MakePlan("o", sample, BalanceAlgorithm::kSize, 1, WorldOf(2, 2));
  // 200 rows each: two thirds of the first hundred keys.
  EXPECT_THAT(Texts(plan), ElementsAre("link 0>1 [67,100)"));
  EXPECT_DOUBLE_EQ(plan.shares[0].load_before, 300);
}

TEST(MakePlanTest, AnAeuThatOwnsNothingGetsItsShareBesideItsNeighbour) {
  // AEUs 0..3 on two NumaNodes; 1 and 3 have nothing.
  LoadSample sample = MakeSample({{0, {8}}, {800, {8}}}, 1600);
  sample.partitions[1].owner = AeuId{2};
  EXPECT_THAT(Texts(MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, WorldOf(4, 2))),
              testing::UnorderedElementsAre("link 0>1 [400,800)", "link 2>3 [1200,1600)"));
  // Also before the first and behind the last key.
  sample.partitions[0].owner = AeuId{1};
  sample.partitions[1].range.hi.reset();
  sample.partitions[1].sub_ranges = {{800, 8}, {1600, 0}};
  EXPECT_THAT(Texts(MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, WorldOf(4, 2))),
              testing::UnorderedElementsAre("link 1>0 [0,400)", "link 2>3 [1200,end)"));
}

TEST(MakePlanTest, AnAeuWithSeveralRangesHasTheirSumAsItsLoad) {
  // 0 has both ends; 1 the middle. Balanced: nothing moves.
  LoadSample sample = MakeSample({{0, {3}}, {100, {6}}, {200, {3}}}, 300);
  sample.partitions[2].owner = AeuId{0};
  EXPECT_THAT(MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, WorldOf(2, 2)).transfers,
              IsEmpty());
  // 14 in all, 7 for each: 0 gives a half to each side of the middle, in proportion.
  sample.partitions[0].sub_ranges = {{0, 4}};
  sample.partitions[2].sub_ranges = {{200, 4}};
  const BalancePlan plan = MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, WorldOf(2, 2));
  EXPECT_THAT(Texts(plan),
              testing::UnorderedElementsAre("link 0>1 [88,100)", "link 0>1 [200,213)"));
}

TEST(MakePlanTest, APlanCoversAllKeysAndIsNeverWorse) {
  test::ExpectHolds({.cases = 3000}, [] {
    const uint32_t aeus = *rc::gen::inRange(1u, 20u);
    const LoadSample sample = *test::AnySample(aeus);
    const uint32_t k = *rc::gen::inRange(0u, 21u);
    const auto algorithm = *rc::gen::element(
        BalanceAlgorithm::kOneShot, BalanceAlgorithm::kMovingAverage, BalanceAlgorithm::kSize);
    PlanWorld world = WorldOf(aeus, 3);
    world.cuts_inside = *rc::gen::arbitrary<bool>();
    const BalancePlan plan = MakePlan("o", sample, algorithm, k, world);
    RC_ASSERT(plan.shares.size() == aeus);
    RC_ASSERT(plan.transfers.empty() == !plan.reason.empty());
    const Partitioning after = After(sample, plan);
    if (world.cuts_inside) RC_ASSERT(plan.imbalance_after <= plan.imbalance_before + 1e-6);
    if (algorithm == BalanceAlgorithm::kSize) return;
    // And what it predicts is what comes of it.
    const double predicted = plan.imbalance_after;
    RC_ASSERT(std::abs(Imbalance(test::LoadsUnder(sample, after, aeus)) - predicted) < 1e-6);
  });
}

TEST(MakePlanTest, FiveHundredAeusOnSixtyFourNumaNodes) {
  std::vector<test::Part> parts;
  for (uint64_t i = 0; i < 512; ++i) {
    parts.push_back({i << 50, std::vector<uint64_t>(64, i < 100 ? 10 : 0)});
  }
  const LoadSample sample = MakeSample(parts, std::nullopt);
  const BalancePlan plan = MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, WorldOf(512, 8));
  EXPECT_LT(plan.imbalance_after, 1e-6);
  // No more pieces than boundaries before and after.
  EXPECT_LE(plan.transfers.size(), 1022u);
  EXPECT_THAT(MakePlan("o", sample, BalanceAlgorithm::kMovingAverage, 8, WorldOf(512, 8)).transfers,
              testing::Not(IsEmpty()));
}

TEST(PlanMoveTest, PiecesOfOthersGoToTheOneWhoIsToHaveThem) {
  const LoadSample sample =
      MakeSample({{0, {1}, 10}, {100, {1}, 10}, {200, {1}, 10}}, std::nullopt);
  const auto plan = PlanMove("o", sample, {50, 250}, AeuId{1}, std::nullopt, WorldOf(3, 2));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(Texts(*plan), ElementsAre("link 0>1 [50,100)", "copy 2>1 [200,250)"));
  const auto copies =
      PlanMove("o", sample, {50, 250}, AeuId{1}, TransferKind::kCopy, WorldOf(3, 2));
  ASSERT_TRUE(copies.ok()) << copies.status();
  EXPECT_THAT(Texts(*copies), ElementsAre("copy 0>1 [50,100)", "copy 2>1 [200,250)"));
  EXPECT_GE(copies->bytes_to_copy, plan->bytes_to_copy + 5 * 16);
}

TEST(PlanMoveTest, TheEndsOfTheKeySpaceMove) {
  const LoadSample sample = MakeSample({{0, {1}}, {100, {1}}}, std::nullopt);
  EXPECT_THAT(Texts(*PlanMove("o", sample, {kLastOfPlan, std::nullopt}, AeuId{0}, std::nullopt,
                              WorldOf(2, 2))),
              ElementsAre(absl::StrCat("link 1>0 [", kLastOfPlan, ",end)")));
  EXPECT_THAT(Texts(*PlanMove("o", sample, {0, 1}, AeuId{1}, std::nullopt, WorldOf(2, 2))),
              ElementsAre("link 0>1 [0,1)"));
  EXPECT_THAT(
      Texts(*PlanMove("o", sample, {0, std::nullopt}, AeuId{1}, std::nullopt, WorldOf(2, 2))),
      ElementsAre("link 0>1 [0,100)"));
}

TEST(PlanMoveTest, WhatIsThereAlreadyStays) {
  const LoadSample sample = MakeSample({{0, {1}}, {100, {1}}}, std::nullopt);
  const auto plan = PlanMove("o", sample, {150, 160}, AeuId{1}, std::nullopt, WorldOf(2, 2));
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->transfers, IsEmpty());
  EXPECT_THAT(plan->reason, HasSubstr("where it shall be"));
}

TEST(PlanMoveTest, SaysWhyAKindCannotBe) {
  const LoadSample sample = MakeSample({{0, {1}}, {100, {1}}, {200, {1}}}, std::nullopt);
  const auto why = [&](const KeyRange& range, uint32_t to, const PlanWorld& world) {
    const auto plan = PlanMove("o", sample, range, AeuId{to}, TransferKind::kLink, world);
    return std::string(plan.status().message());
  };
  PlanWorld world = WorldOf(3, 2);
  EXPECT_EQ(why({250, 260}, 0, world),
            "to move by link, both AEUs must be on one NumaNode; AEU 2 and AEU 0 are on different "
            "ones");
  world.relinks = false;
  EXPECT_EQ(why({150, 160}, 0, world),
            "objects of this kind cannot move by link, only indexes and heap tables can");
}

// What MoveRange may be asked for without a kind: the cheapest possible kind.
TEST(PlanWorldTest, KindBetweenIsPossibleAndNoOtherPossibleKindIsCheaper) {
  for (const bool relinks : {false, true}) {
    PlanWorld world = WorldOf(4, 2);
    world.relinks = relinks;
    for (uint32_t pair = 0; pair < 16; ++pair) {
      const AeuId from{pair / 4}, to{pair % 4};
      for (const uint64_t rows : {0, 100, 1'000'000}) {
        const TransferKind chosen = world.KindBetween(from, to, rows);
        EXPECT_TRUE(world.CanMoveBetween(from, to, chosen));
        for (const TransferKind kind : kTransferKinds) {
          if (!world.CanMoveBetween(from, to, kind)) continue;
          EXPECT_LE(TraitsOf(chosen).CostUs(rows), TraitsOf(kind).CostUs(rows));
        }
        EXPECT_EQ(chosen == TransferKind::kLink, relinks && world.SameNumaNode(from, to));
      }
    }
  }
}

TEST(PlanWorldTest, FewRowsOfAnIndexAreCopiedToAnotherNumaNodeAndManyLeap) {
  PlanWorld world = WorldOf(2, 1);
  EXPECT_EQ(world.KindBetween(AeuId{0}, AeuId{1}, 1'000), TransferKind::kCopy);
  EXPECT_EQ(world.KindBetween(AeuId{0}, AeuId{1}, 100'000), TransferKind::kLeap);
  world.relinks = false;
  EXPECT_EQ(world.KindBetween(AeuId{0}, AeuId{1}, 100'000), TransferKind::kCopy);
}

TEST(PlanWorldTest, OfAHeapTableOnlyWholeSegmentsChangeHandsWithoutACopy) {
  PlanWorld world = WorldOf(4, 2);
  world.by_size = true;
  for (const AeuId to : {AeuId{1}, AeuId{2}}) {
    EXPECT_EQ(world.KindBetween(AeuId{0}, to, 65'535), TransferKind::kCopy);
    EXPECT_EQ(world.KindBetween(AeuId{0}, to, 65'536),
              to.value == 1 ? TransferKind::kLink : TransferKind::kLeap);
  }
}

// Half of the rows of AEU 0, then all of AEU 1's.
TEST(PlanMoveTest, TellsWhatIsExpectedToFollowWithItsPages) {
  const LoadSample sample =
      MakeSample({{0, {1}, 1'000'000}, {100, {1}, 1'000'000}, {200, {1}}}, std::nullopt);
  PlanWorld world = WorldOf(3, 1);
  const auto plan = [&](KeyRange range) {
    return *PlanMove("o", sample, range, AeuId{2}, std::nullopt, world);
  };
  const BalancePlan half = plan({50, 100});
  ASSERT_EQ(half.transfers.at(0).kind, TransferKind::kLeap);
  EXPECT_EQ(half.bytes_to_remap, 0u);
  EXPECT_EQ(half.bytes_to_move, half.transfers[0].bytes);
  const BalancePlan all = plan({100, 200});
  ASSERT_EQ(all.transfers.at(0).kind, TransferKind::kLeap);
  EXPECT_EQ(all.bytes_to_remap, 1'000'000 * world.row_bytes);
  EXPECT_EQ(all.bytes_to_move + all.bytes_to_copy, 0u);
  world.remapped_share = 0.75;
  EXPECT_EQ(plan({50, 100}).bytes_to_remap, half.bytes_to_move / 4 * 3);
  EXPECT_EQ(plan({50, 100}).bytes_to_move, half.bytes_to_move / 4);
}

TEST(PlanMoveTest, RefusesWhatCannotBe) {
  const LoadSample sample = MakeSample({{0, {1}}, {100, {1}}, {200, {1}}}, std::nullopt);
  const auto code = [&](const KeyRange& range, uint32_t to, std::optional<TransferKind> kind,
                        const PlanWorld& world) {
    return PlanMove("o", sample, range, AeuId{to}, kind, world).status().code();
  };
  using absl::StatusCode;
  const PlanWorld world = WorldOf(3, 2);
  EXPECT_EQ(code({5, 5}, 1, {}, world), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({5, 4}, 1, {}, world), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({5, 9, 1, 0}, 1, {}, world), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({5, 9}, 3, {}, world), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({250, 260}, 0, TransferKind::kLink, world), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code({150, 160}, 0, TransferKind::kLink, world), StatusCode::kOk);
  const auto no_kind = static_cast<TransferKind>(kTransferKindCount + 1);
  EXPECT_EQ(code({150, 160}, 0, no_kind, world), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({150, 160}, 0, TransferKind{}, world), StatusCode::kInvalidArgument);
  PlanWorld copies = world;
  copies.relinks = false;
  EXPECT_EQ(code({150, 160}, 0, TransferKind::kLink, copies), StatusCode::kFailedPrecondition);
  PlanWorld ends = copies;
  ends.cuts_inside = false;
  EXPECT_EQ(code({150, 160}, 0, {}, ends), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code({150, 200}, 0, {}, ends), StatusCode::kOk);
  EXPECT_EQ(code({100, 110}, 0, {}, ends), StatusCode::kOk);
  EXPECT_EQ(code({50, 250}, 1, {}, ends), StatusCode::kOk);
  PlanWorld heap = copies;
  heap.by_size = true;
  EXPECT_EQ(code({150, 160}, 0, {}, heap), StatusCode::kFailedPrecondition);
}

TEST(PlanPresplitTest, EvenPiecesGoToThoseWhoHaveTheLeastToDo) {
  LoadSample sample = MakeSample({{0, {50}}, {100, {5}}, {200, {9}}, {300, {0}}}, std::nullopt);
  // 3 has nothing to do, 1 little; the piece that 1 owns stays there.
  const auto plan = PlanPresplit("o", sample, {100, 150}, 2, WorldOf(4, 2));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(Texts(*plan), ElementsAre("copy 1>3 [125,150)"));
}

TEST(PlanPresplitTest, EachPieceHasAnotherAeu) {
  test::ExpectHolds({.cases = 1000}, [] {
    const uint32_t aeus = *rc::gen::inRange(1u, 12u);
    const LoadSample sample = *test::AnySample(aeus);
    const uint32_t parts = *rc::gen::inRange(1u, aeus + 1);
    const Position begin = sample.partitions.front().range.lo.head;
    const Position end = EndOfSample(sample);
    const auto any = *rc::gen::resize(1000, rc::gen::arbitrary<uint64_t>());
    const Position lo = begin + any % (end - begin);
    const Position hi =
        lo + 1 + *rc::gen::resize(1000, rc::gen::arbitrary<uint64_t>()) % (end - lo);
    KeyRange range{static_cast<uint64_t>(lo), std::nullopt};
    if (hi < end) range.hi = static_cast<uint64_t>(hi);
    if (hi >= end && end != kEndOfKeys) range.hi = static_cast<uint64_t>(end);
    const auto plan = PlanPresplit("o", sample, range, parts, WorldOf(aeus, 3));
    if (hi - lo < parts) {
      RC_ASSERT(plan.status().code() == absl::StatusCode::kInvalidArgument);
      return;
    }
    RC_ASSERT(plan.ok());
    const Partitioning after = After(sample, *plan);
    const auto owner_at = [&](Position key) {
      size_t i = after.starts.size() - 1;
      while (Position{after.starts[i].head} > key) --i;
      return after.owners[i];
    };
    std::set<AeuId> owners;
    for (uint32_t i = 0; i < parts; ++i) {
      const Position piece = lo + (hi - lo) * i / parts;
      owners.insert(owner_at(piece));
      RC_ASSERT(owner_at(piece) == owner_at(lo + (hi - lo) * (i + 1) / parts - 1));
    }
    RC_ASSERT(owners.size() == parts);
  });
}

TEST(PlanPresplitTest, RefusesWhatCannotBe) {
  const LoadSample sample = MakeSample({{0, {1}}, {100, {1}}}, std::nullopt);
  const auto code = [&](const KeyRange& range, uint32_t parts) {
    return PlanPresplit("o", sample, range, parts, WorldOf(2, 2)).status().code();
  };
  EXPECT_EQ(code({0, 10}, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0, 10}, 3), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0, 1}, 2), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({7, 7}, 1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0, 2}, 2), absl::StatusCode::kOk);
  EXPECT_EQ(code({kLastOfPlan - 1, std::nullopt}, 2), absl::StatusCode::kOk);
  PlanWorld ends = WorldOf(2, 2);
  ends.cuts_inside = false;
  EXPECT_EQ(PlanPresplit("o", sample, {20, 60}, 2, ends).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace eris::balancer
