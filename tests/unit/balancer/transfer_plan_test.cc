// The paper's Figure 7, then what holds for any partitioning and any target.
#include "balancer/transfer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "balancer/one_shot.h"
#include "tests/support/load_samples.h"
#include "tests/support/property.h"
#include "tests/support/random_samples.h"

namespace eris::balancer {
namespace {

using test::MakeSample;
using testing::ElementsAre;

PlanWorld TransferWorld(uint32_t aeus, uint32_t per_numa_node) {
  PlanWorld world;
  for (uint32_t i = 0; i < aeus; ++i) world.numa_nodes.push_back(NumaNodeId{i / per_numa_node});
  return world;
}

std::string Text(const PlannedTransfer& t) {
  return absl::StrCat(TraitsOf(t.kind).name, " ", t.from.value, ">", t.to.value, " [", t.range.lo,
                      ",", t.range.hi ? absl::StrCat(*t.range.hi) : "end", ")");
}
std::vector<std::string> Texts(const std::vector<PlannedTransfer>& transfers) {
  std::vector<std::string> texts;
  for (const PlannedTransfer& transfer : transfers) texts.push_back(Text(transfer));
  return texts;
}

// Applies moves one by one; says what is wrong.
class Owners {
 public:
  Owners(const Partitioning& partitioning, Position end) : end_(end) {
    for (size_t i = 0; i < partitioning.starts.size(); ++i) {
      owners_[partitioning.starts[i].head] = partitioning.owners[i];
    }
  }
  // The joined range of one owner around [lo, hi), if it has one owner.
  std::string Apply(const RangeMove& move, bool cuts_inside) {
    if (move.lo >= move.hi || move.from == move.to) return "nothing moves";
    Cut(move.lo);
    if (move.hi != end_) Cut(move.hi);
    for (auto at = owners_.find(move.lo); at != owners_.end() && at->first < move.hi; ++at) {
      if (at->second != move.from) return "not its to give";
    }
    const auto first = owners_.find(move.lo);
    const auto behind = owners_.find(move.hi);
    const bool low_end = first == owners_.begin() || std::prev(first)->second != move.from;
    const bool high_end = behind == owners_.end() || behind->second != move.from;
    if (!cuts_inside && !low_end && !high_end) return "cut out of the middle";
    for (auto at = first; at != owners_.end() && at->first < move.hi; ++at) at->second = move.to;
    return {};
  }
  AeuId At(Position key) const { return std::prev(owners_.upper_bound(key))->second; }
  bool Same(const Partitioning& other) const {
    std::map<Position, AeuId> keys = owners_;
    for (size_t i = 0; i < other.starts.size(); ++i) keys[other.starts[i].head] = other.owners[i];
    const Owners theirs(other, end_);
    return std::all_of(keys.begin(), keys.end(),
                       [&](const auto& key) { return At(key.first) == theirs.At(key.first); });
  }

 private:
  void Cut(Position key) { owners_.try_emplace(key, At(key)); }

  Position end_;
  std::map<Position, AeuId> owners_;
};

TEST(TransferPlanTest, Figure7TwoLinksAndTwoCopies) {
  // Figure 6's partitions 1 to 4 on NumaNodes {0, 1}, {2, 3}; all loads lie in the last two. What
  // One-Shot makes of the whole: P1 up to 2500, P2 up to 3000, P3 up to 3500.
  const LoadSample sample = MakeSample({{0, {0}, 100},
                                        {1000, {0}, 100},
                                        {2000, {25}, 100},
                                        {3000, {25}, 100},
                                        {4000, {25}, 100},
                                        {5000, {25}, 100},
                                        {6000, {0}, 100},
                                        {7000, {0}, 100}},
                                       8000);
  PlanWorld world = TransferWorld(8, 2);
  const std::vector<PlannedTransfer> all = PlanTransfers(sample, OneShot(sample), world);
  std::vector<std::string> left;
  std::vector<std::string> right;
  for (const PlannedTransfer& t : all) (t.from.value < 4 ? left : right).push_back(Text(t));
  // Partition 2 goes over to 1 by link, half of 4 to 3 by link; the halves of 3 go to 1 and 2 by
  // copy. Partition 2 gives all it has away: it gets something first.
  EXPECT_THAT(left, ElementsAre("link 3>2 [3000,3500)", "copy 2>1 [2500,3000)",
                                "link 1>0 [1000,2000)", "copy 2>0 [2000,2500)"));
  // The mirror image, but for where boundaries of ranges without load stay: P8 has from 5500 on.
  EXPECT_THAT(right, testing::UnorderedElementsAre("link 4>5 [4500,5000)", "copy 5>6 [5000,5500)",
                                                   "copy 5>7 [5500,6000)", "link 6>7 [6000,7000)"));
  uint64_t copied = 0;
  for (const PlannedTransfer& t : all) {
    const bool whole = t.range.lo == 1000 || t.range.lo == 6000;
    EXPECT_EQ(t.rows, whole ? 100u : 50u) << Text(t);
    EXPECT_EQ(t.bytes, t.rows * world.row_bytes);
    if (t.kind == TransferKind::kCopy) copied += t.rows;
  }
  EXPECT_EQ(copied, 200u);
}

TEST(TransferPlanTest, RangesLeaveFromTheEndsWhereTheyCannotBeCutInside) {
  // As above: AEU 2 must not get anything above before it has given its upper half away.
  const LoadSample sample = MakeSample({{0, {0}}, {1000, {0}}, {2000, {25}}, {3000, {25}}}, 4000);
  const Partitioning target = OneShot(sample);
  PlanWorld world = TransferWorld(4, 2);
  world.cuts_inside = false;
  Owners owners(CurrentPartitioning(sample), 4000);
  const std::vector<RangeMove> moves =
      OrderMoves(CurrentPartitioning(sample),
                 DifferingRanges(CurrentPartitioning(sample), target, 4000), 4000, world);
  for (const RangeMove& move : moves) ASSERT_EQ(owners.Apply(move, false), "");
  EXPECT_TRUE(owners.Same(target));
}

TEST(TransferPlanTest, SameOwnersMoveNothing) {
  const LoadSample sample = MakeSample({{0, {1}}, {10, {1}}}, std::nullopt);
  EXPECT_TRUE(PlanTransfers(sample, CurrentPartitioning(sample), TransferWorld(2, 2)).empty());
  // Nor does a range that is cut in two of one owner.
  Partitioning same{{storage::Key::FromU64(0), storage::Key::FromU64(5), storage::Key::FromU64(10)},
                    {AeuId{0}, AeuId{0}, AeuId{1}}};
  EXPECT_TRUE(PlanTransfers(sample, same, TransferWorld(2, 2)).empty());
}

TEST(TransferPlanTest, NearCopiesComeBeforeFarOnes) {
  const LoadSample sample = MakeSample({{0, {1}}, {10, {0}}, {20, {0}}}, 30);
  const Partitioning target{
      {storage::Key::FromU64(0), storage::Key::FromU64(1), storage::Key::FromU64(2),
       storage::Key::FromU64(10), storage::Key::FromU64(20)},
      {AeuId{0}, AeuId{1}, AeuId{2}, AeuId{1}, AeuId{2}}};
  PlanWorld world = TransferWorld(3, 1);
  world.distances = {{10, 30, 20}, {30, 10, 20}, {20, 20, 10}};
  EXPECT_THAT(Texts(PlanTransfers(sample, target, world)),
              ElementsAre("copy 0>2 [2,10)", "copy 0>1 [1,2)"));
}

TEST(TransferPlanTest, RowsAreExpectedWhereKeysHaveBeenSeen) {
  LoadSample sample = MakeSample({{0, {1}, 1000}}, std::nullopt);
  sample.seen_first = 0;
  sample.seen_last = 999;
  const Partitioning target{{storage::Key::FromU64(0), storage::Key::FromU64(900)},
                            {AeuId{0}, AeuId{1}}};
  const std::vector<PlannedTransfer> transfers = PlanTransfers(sample, target, TransferWorld(2, 2));
  ASSERT_EQ(transfers.size(), 1u);
  EXPECT_EQ(transfers[0].rows, 100u);
  EXPECT_EQ(transfers[0].range, (KeyRange{900, std::nullopt}));
}

TEST(TransferPlanTest, MovesInOrderLeadToTheTargetAndMoveNothingElse) {
  test::ExpectHolds({.cases = 3000}, [] {
    const uint32_t aeus = *rc::gen::inRange(1u, 12u);
    const LoadSample sample = *test::AnySample(aeus);
    const Position end = EndOfSample(sample);
    Partitioning target;
    target.starts = {sample.partitions.front().range.lo};
    for (size_t i = *rc::gen::inRange<size_t>(0, 20); i-- > 0;) {
      const auto any = *rc::gen::resize(1000, rc::gen::arbitrary<uint64_t>());
      const Position begin = target.starts.front().head;
      target.starts.push_back(
          storage::Key::FromU64(static_cast<uint64_t>(begin + any % (end - begin))));
    }
    std::sort(target.starts.begin(), target.starts.end());
    target.starts.erase(std::unique(target.starts.begin(), target.starts.end()),
                        target.starts.end());
    for (size_t i = 0; i < target.starts.size(); ++i) {
      target.owners.push_back(AeuId{*rc::gen::inRange(0u, aeus)});
    }
    const PlanWorld world = TransferWorld(aeus, *rc::gen::inRange(1u, 4u));
    const Partitioning current = CurrentPartitioning(sample);
    Owners owners(current, end);
    const Owners before(current, end);
    const Owners after(target, end);
    const std::vector<RangeMove> moves =
        OrderMoves(current, DifferingRanges(current, target, end), end, world);
    Position moved = 0;
    for (const RangeMove& move : moves) {
      RC_ASSERT(owners.Apply(move, true) == "");
      // Each key goes once, from its old owner to its new one.
      RC_ASSERT(before.At(move.lo) == move.from);
      RC_ASSERT(after.At(move.lo) == move.to);
      moved += move.hi - move.lo;
    }
    RC_ASSERT(owners.Same(target));
    Position differing = 0;
    std::vector<Position> cuts = {end};
    for (const auto& key : current.starts) cuts.push_back(key.head);
    for (const auto& key : target.starts) cuts.push_back(key.head);
    std::sort(cuts.begin(), cuts.end());
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      if (before.At(cuts[i]) != after.At(cuts[i])) differing += cuts[i + 1] - cuts[i];
    }
    RC_ASSERT(moved == differing);
  });
}

TEST(TransferPlanTest, RangesThatBalancingMovesAlwaysLeaveFromAnEnd) {
  test::ExpectHolds({.cases = 3000}, [] {
    const LoadSample sample = *test::AnySample();
    const Position end = EndOfSample(sample);
    PlanWorld world = TransferWorld(static_cast<uint32_t>(sample.partitions.size()), 2);
    world.cuts_inside = false;
    const Partitioning current = CurrentPartitioning(sample);
    const Partitioning target = OneShot(sample);
    Owners owners(current, end);
    for (const RangeMove& move :
         OrderMoves(current, DifferingRanges(current, target, end), end, world)) {
      RC_ASSERT(owners.Apply(move, false) == "");
    }
    RC_ASSERT(owners.Same(target));
  });
}

TEST(TransferPlanTest, WhatCannotLeaveFromAnEndIsLeftOut) {
  test::ExpectHolds({.cases = 1000}, [] {
    const LoadSample sample = *test::AnySample(6);
    const Position end = EndOfSample(sample);
    PlanWorld world = TransferWorld(6, 2);
    world.cuts_inside = false;
    const Partitioning current = CurrentPartitioning(sample);
    Owners owners(current, end);
    for (const RangeMove& move :
         OrderMoves(current, DifferingRanges(current, OneShot(sample), end), end, world)) {
      RC_ASSERT(owners.Apply(move, false) == "");
    }
  });
}

}  // namespace
}  // namespace eris::balancer
