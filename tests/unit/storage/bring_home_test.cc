// Memory that follows its range to another NumaNode, piece by piece (storage/home_work.h): trees of
// all kinds of keys and values, changed meanwhile, and NumaNodes without memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/index/two_part_group.h"
#include "tests/unit/storage/partition_kinds.h"
#include "tests/unit/storage/two_numa_nodes.h"

namespace eris::storage {
namespace {

constexpr int64_t kPiece = 4096;
// A piece that has begun a block goes down to a leaf: seven TreeNodes and a page at most.
constexpr uint64_t kPathBytes = 7 * sizeof(TreeNode256) + sizeof(TreePage);

// What the blocks take, in pieces of so many visits.
RowBytes Measure(const auto& bring, int64_t visits) {
  RowBytes bytes;
  HomeWork work{.measured = &bytes};
  for (bool complete = false; !complete;) {
    work.bytes_left = visits * HomeWork::kVisitBytes;
    complete = bring(work);
    work.resumes = true;
  }
  return bytes;
}
// The same however it is cut into pieces, and what the account says.
void ExpectMeasured(Node& node, const auto& bring) {
  node.cache.Trim();
  const uint64_t used = node.manager.Account().used_bytes;
  for (const int64_t visits : {1, 2, 7, 100, 1'000'000'000}) {
    EXPECT_EQ(Measure(bring, visits).all, used) << visits << " visits a piece";
  }
}

// How many pieces it took.
uint32_t BringAll(const auto& bring) {
  HomeWork work;
  for (uint32_t pieces = 1;; ++pieces) {
    work.bytes_left = kPiece;
    const uint64_t moved = work.moved_bytes;
    const bool complete = bring(work);
    EXPECT_LE(work.moved_bytes - moved, kPiece + kPathBytes);
    if (complete || pieces > 1'000'000) return pieces;
  }
}

class BringHomeTest : public testing::TestWithParam<Keys> {};
INSTANTIATE_TEST_SUITE_P(AllKeys, BringHomeTest,
                         testing::Values(Keys::kDense, Keys::kSparse, Keys::kClustered,
                                         Keys::kOneByte, Keys::kZerosAndOnes, Keys::kExtremes,
                                         Keys::kMixed),
                         [](const auto& each) { return KeysName(each.param); });

TEST_P(BringHomeTest, EveryBlockOfATreeComesHome) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  Nodes nodes;
  Model model;
  {
    PrefixTree tree(nodes.source.cache);
    for (const uint64_t key : KeyPool(GetParam(), 20'000, random)) {
      const uint64_t value = random();
      ASSERT_NE(tree.Upsert(key, value), UpsertResult::kNoMemory);
      model[key] = value;
    }
    const auto bring = [&](HomeWork& work) { return tree.BringHome(work); };
    ExpectMeasured(nodes.source, bring);
    tree.Rehome(nodes.target.cache);
    const uint32_t pieces = BringAll(bring);
    nodes.target.cache.EndTurn();
    EXPECT_EQ(CheckTree(tree), absl::OkStatus());
    EXPECT_EQ(RowsOf(tree), Rows(model.begin(), model.end()));
    nodes.source.ExpectEmpty();
    if (model.size() > 1000) {
      EXPECT_GT(pieces, 1u);
    }
    // A second walk finds nothing to do.
    HomeWork again{.bytes_left = 1 << 30};
    EXPECT_TRUE(tree.BringHome(again));
    EXPECT_EQ(again.moved_bytes, 0u);
  }
  nodes.target.ExpectEmpty();
}

TEST_P(BringHomeTest, TreeMayChangeBetweenPieces) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  Nodes nodes;
  Model model;
  const std::vector<uint64_t> keys = KeyPool(GetParam(), 8'000, random);
  PrefixTree tree(nodes.source.cache);
  const auto change = [&] {
    const uint64_t key = keys[random() % keys.size()];
    if (random() % 3 == 0) {
      EXPECT_EQ(tree.Erase(key), model.erase(key) == 1);
      return;
    }
    const uint64_t value = random();
    EXPECT_NE(tree.Upsert(key, value), UpsertResult::kNoMemory);
    model[key] = value;
  };
  for (size_t i = 0; i < keys.size(); ++i) change();
  tree.Rehome(nodes.target.cache);
  // What is put in front of the walk, or behind it, comes from the new cache.
  HomeWork work;
  do {
    for (int i = 0; i < 20; ++i) change();
    work.bytes_left = kPiece;
  } while (!tree.BringHome(work));
  nodes.target.cache.EndTurn();
  EXPECT_EQ(CheckTree(tree), absl::OkStatus());
  EXPECT_EQ(RowsOf(tree), Rows(model.begin(), model.end()));
  nodes.source.ExpectEmpty();
}

TEST(BringHomeMemoryTest, WhatFindsNoMemoryStaysAndIsWhole) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  constexpr uint64_t kTwoSuperblocks = 4 << 20;
  Nodes nodes(kTwoSuperblocks);
  PrefixTree tree(nodes.source.cache);
  Model model;
  for (const uint64_t key : KeyPool(Keys::kSparse, 400'000, random)) {
    ASSERT_NE(tree.Upsert(key, ~key), UpsertResult::kNoMemory);
    model[key] = ~key;
  }
  tree.Rehome(nodes.target.cache);
  HomeWork work{.bytes_left = int64_t{1} << 40};
  EXPECT_TRUE(tree.BringHome(work));
  EXPECT_TRUE(work.refused);
  EXPECT_GT(work.moved_bytes, kTwoSuperblocks / 2);
  EXPECT_LT(work.moved_bytes, kTwoSuperblocks);
  nodes.target.cache.EndTurn();
  EXPECT_EQ(CheckTree(tree), absl::OkStatus());
  EXPECT_EQ(RowsOf(tree), Rows(model.begin(), model.end()));
  EXPECT_GT(nodes.source.manager.Account().used_bytes, 0u);
  tree.Clear();
  nodes.target.cache.EndTurn();
  nodes.source.ExpectEmpty();
}

TEST(BringHomeMemoryTest, RefusedAllocationEndsTheWalkWithNothingLost) {
  SCOPED_TRACE(SeedText());
  for (const uint64_t nth : {1, 2, 3, 10, 100}) {
    Random random(Seed() + nth);
    Nodes nodes;
    PrefixTree tree(nodes.source.cache);
    Model model;
    for (const uint64_t key : KeyPool(Keys::kMixed, 6'000, random)) {
      ASSERT_NE(tree.Upsert(key, ~key), UpsertResult::kNoMemory);
      model[key] = ~key;
    }
    tree.Rehome(nodes.target.cache);
    nodes.target.cache.FailAllocationsFrom(nth);
    HomeWork work{.bytes_left = int64_t{1} << 40};
    EXPECT_TRUE(tree.BringHome(work));
    EXPECT_TRUE(work.refused);
    nodes.target.cache.FailAllocationsFrom(0);
    EXPECT_EQ(CheckTree(tree), absl::OkStatus());
    EXPECT_EQ(RowsOf(tree), Rows(model.begin(), model.end()));
    // When there is memory again, a new walk completes it.
    HomeWork again{.bytes_left = int64_t{1} << 40};
    EXPECT_TRUE(tree.BringHome(again));
    EXPECT_FALSE(again.refused);
    nodes.target.cache.EndTurn();
    nodes.source.ExpectEmpty();
  }
}

TEST(BringHomeValuesTest, RecordsOfByteStringsComeHome) {
  Nodes nodes;
  Strings strings;
  std::vector<std::string> texts;
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 5000; ++i) {
    keys.push_back(i * 0x9e37'79b9'7f4a'7c15);
    texts.push_back(i % 500 == 0 ? std::string(300'000 + i, 'L') : TextOf(i));
  }
  const auto partition = NewOrdered(RowsKind::kBytes, MakeRange(0), nodes.source.cache);
  for (const KeyState state :
       RunBatch(*partition, Operation::kUpsert, keys, strings.Words(texts)).states) {
    ASSERT_EQ(state, KeyState::kAbsent);
  }
  ASSERT_EQ(partition->Rehome(nodes.target.cache), absl::OkStatus());
  HomeWork work;
  uint32_t pieces = 0;
  do {
    work.bytes_left = kPiece;
    ++pieces;
  } while (!partition->BringHome(work));
  EXPECT_GT(pieces, 100u);
  nodes.target.cache.EndTurn();
  nodes.source.ExpectEmpty();
  EXPECT_EQ(nodes.source.manager.Account().extent_bytes, 0u);
  test::TestBatch found{.operation = Operation::kLookup, .keys = keys, .bytes = &strings};
  found.Run(*partition);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(found.states[i], KeyState::kPresent);
    EXPECT_EQ(BytesOf(found.answers[i]), texts[i]);
  }
}

TEST(BringHomeValuesTest, GroupsOfTwoPartKeysComeHomeInPiecesToo) {
  Nodes nodes;
  PrefixTree firsts(nodes.source.cache, GroupRows);
  // Blocks, small trees, and one of many pieces between two of them.
  std::vector<std::pair<uint64_t, uint64_t>> rows_of = {
      {0, 3}, {1, 40}, {7, 20'000}, {8, 32}, {9, 33}, {1000, 5'000}, {~uint64_t{0}, 1}};
  for (const auto& [first, rows] : rows_of) {
    std::vector<uint64_t> seconds, values;
    for (uint64_t i = 0; i < rows; ++i) {
      seconds.push_back(i * 1'000'003);
      values.push_back(first ^ i);
    }
    const uint64_t word = NewGroup(nodes.source.cache, seconds.data(), values.data(), rows);
    ASSERT_NE(word, 0u);
    ASSERT_EQ(firsts.Upsert(first, word), UpsertResult::kInserted);
  }
  const auto bring = [&](HomeWork& work) { return firsts.BringHome(work, BringGroup); };
  ExpectMeasured(nodes.source, bring);
  firsts.Rehome(nodes.target.cache);
  const uint32_t pieces = BringAll(bring);
  EXPECT_GT(pieces, 25'000 * 16 / kPiece);
  EXPECT_LT(pieces, 3 * 25'000 * 24 / kPiece);
  nodes.target.cache.EndTurn();
  nodes.source.ExpectEmpty();
  for (const auto& [first, rows] : rows_of) {
    const uint64_t word = *firsts.Lookup(first);
    ASSERT_EQ(TwoPartGroup(word).Rows(), rows);
    for (uint64_t i = 0; i < rows; ++i) {
      uint64_t* const value = FindRow(nodes.target.cache, word, i * 1'000'003);
      ASSERT_NE(value, nullptr);
      ASSERT_EQ(*value, first ^ i);
    }
    FreeGroup(nodes.target.cache, word);
  }
}

TEST(BringHomeValuesTest, AGroupThatShrinksWhereTheWalkStandsHidesNoRowsOfTheNext) {
  Nodes nodes;
  PrefixTree firsts(nodes.source.cache, GroupRows);
  for (const uint64_t first : {7, 8}) {
    std::vector<uint64_t> seconds, values;
    for (uint64_t i = 0; i < 5'000; ++i) {
      seconds.push_back(i);
      values.push_back(first ^ i);
    }
    const uint64_t word = NewGroup(nodes.source.cache, seconds.data(), values.data(), 5'000);
    ASSERT_EQ(firsts.Upsert(first, word), UpsertResult::kInserted);
  }
  firsts.Rehome(nodes.target.cache);
  HomeWork work{.bytes_left = kPiece};
  ASSERT_FALSE(firsts.BringHome(work, BringGroup));
  ASSERT_EQ(work.next_key, 7u);
  ASSERT_GT(work.next_second, 0u);
  uint64_t word = *firsts.Lookup(7);
  for (uint64_t i = 10; i < 5'000; ++i) ASSERT_TRUE(EraseRow(nodes.target.cache, word, i));
  ASSERT_TRUE(TwoPartGroup(word).IsBlock());
  firsts.Reweigh(7, 10 - 5'000);
  *firsts.Find(7) = word;
  do {
    work.bytes_left = 1;  // so that it stops at every key
  } while (!firsts.BringHome(work, BringGroup));
  nodes.target.cache.EndTurn();
  nodes.source.ExpectEmpty();
  for (const uint64_t first : {7, 8}) FreeGroup(nodes.target.cache, *firsts.Lookup(first));
}

// A NumaNode was full: its cache has memory of another one, which is not in the way later.
TEST(BringHomeMemoryTest, SpilledMemoryOfTheNewOwnerStopsNothing) {
  memory::MemoryBudget budget(uint64_t{1} << 30);
  memory::NumaNodePool here(topology::NumaNode{}, /*bind=*/false, budget);
  memory::NumaNodePool there(topology::NumaNode{.id = NumaNodeId{1}}, /*bind=*/false, budget);
  const auto directory = std::make_shared<memory::CacheDirectory>();
  memory::MemoryManager near(ObjectId{1}, here, {&there}, directory);
  memory::MemoryManager far(ObjectId{1}, there, {}, directory);
  memory::LocalCache& own = *near.NewCache();
  memory::LocalCache& other = *far.NewCache();
  here.take_failures().Arm(1, memory::FailurePoint::Mode::kFromThen);
  Model model;
  {
    PrefixTree spilled(own);
    for (uint64_t i = 0; i < 2'000; ++i) {
      ASSERT_NE(spilled.Upsert(i * 0x9e37'79b9'7f4a'7c15, i), UpsertResult::kNoMemory);
    }
    EXPECT_GT(near.spilled_bytes(), 0u);
    here.take_failures().Arm(0, memory::FailurePoint::Mode::kFromThen);
    PrefixTree tree(other);
    for (uint64_t i = 0; i < 100'000; ++i) {
      const uint64_t key = i * 0x9e37'79b9'7f4a'7c15 + 1;
      ASSERT_NE(tree.Upsert(key, i), UpsertResult::kNoMemory);
      model[key] = i;
    }
    tree.Rehome(own);
    HomeWork work{.bytes_left = int64_t{1} << 40};
    EXPECT_TRUE(tree.BringHome(work));
    own.EndTurn();
    EXPECT_FALSE(work.refused);
    EXPECT_GT(work.moved_bytes, 16 * model.size());
    EXPECT_EQ(RowsOf(tree), Rows(model.begin(), model.end()));
    // Its own spilled blocks come, too, now that there is room.
    HomeWork again{.bytes_left = int64_t{1} << 40};
    EXPECT_TRUE(spilled.BringHome(again));
    EXPECT_GT(again.moved_bytes, 16 * 2'000u);
    EXPECT_FALSE(again.spilled_stays);
    // Nor does a NumaNode that is full again take what it cannot have at home.
    tree.Rehome(other);
    HomeWork back{.bytes_left = int64_t{1} << 40};
    EXPECT_TRUE(tree.BringHome(back));
    other.EndTurn();
    EXPECT_EQ(back.moved_bytes, work.moved_bytes);
    while (own.Collect()) {
    }
    own.Trim();
    near.run_failures().Arm(1, memory::FailurePoint::Mode::kFromThen);
    const uint64_t spilled_bytes = near.spilled_bytes();
    tree.Rehome(own);
    HomeWork refused{.bytes_left = int64_t{1} << 40};
    EXPECT_TRUE(tree.BringHome(refused));
    EXPECT_TRUE(refused.refused);
    EXPECT_LT(refused.moved_bytes, 64u << 10);  // what the spans at home have room for
    EXPECT_LE(near.spilled_bytes(), spilled_bytes + 2 * (2 << 20));
    EXPECT_EQ(RowsOf(tree), Rows(model.begin(), model.end()));
    here.take_failures().Arm(0, memory::FailurePoint::Mode::kFromThen);
  }
}

}  // namespace
}  // namespace eris::storage
