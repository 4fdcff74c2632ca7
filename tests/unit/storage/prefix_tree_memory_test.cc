// Allocation failure at every request of every operation: what needs memory says no and changes
// nothing, what needs none succeeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "storage/tree/prefix_tree.h"
#include "storage/tree/tree_check.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

// Fails the first request of `operation`, then the second, and so on until it succeeds; `unchanged`
// runs after each failure. Returns how many failures that took.
template <class Operation, class Unchanged>
int FailEveryAllocation(memory::LocalCache& cache, Operation operation, Unchanged unchanged) {
  for (int nth = 1;; ++nth) {
    const uint64_t used = cache.used_bytes();
    cache.FailAllocationsFrom(static_cast<uint64_t>(nth));
    const bool succeeded = operation();
    cache.FailAllocationsFrom(0);
    if (succeeded) return nth - 1;
    EXPECT_EQ(cache.used_bytes(), used);
    unchanged();
    if (nth > 100 || ::testing::Test::HasFailure()) {
      ADD_FAILURE() << "never succeeds, or changed something";
      return nth;
    }
  }
}

class PrefixTreeMemoryTest : public ::testing::TestWithParam<Keys> {
 protected:
  PrefixTreeMemoryTest() : random_(Seed()), tree_(memory_.cache) {}

  void Fill(size_t count) {
    pool_ = KeyPool(GetParam(), count, random_);
    std::shuffle(pool_.begin(), pool_.end(), random_);
    for (const uint64_t key : pool_) {
      ASSERT_NE(tree_.Upsert(key, key / 3), UpsertResult::kNoMemory);
    }
  }

  Random random_;
  TreeMemory memory_;
  PrefixTree tree_;
  std::vector<uint64_t> pool_;
};

TEST_P(PrefixTreeMemoryTest, RefusedUpsertChangesNothing) {
  SCOPED_TRACE(SeedText());
  int failures = 0;
  Rows before;
  const std::vector<uint64_t> pool = KeyPool(GetParam(), 300, random_);
  for (size_t i = 0; i < std::min<size_t>(pool.size(), 900); ++i) {
    before = RowsOf(tree_);
    failures += FailEveryAllocation(
        memory_.cache, [&] { return tree_.Upsert(pool[i], i) != UpsertResult::kNoMemory; },
        [&] {
          EXPECT_EQ(RowsOf(tree_), before);
          EXPECT_EQ(CheckTree(tree_), absl::OkStatus());
        });
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(tree_.Lookup(pool[i]), i);
  }
  EXPECT_GT(failures, 0);
}

TEST_P(PrefixTreeMemoryTest, EraseSucceedsWithoutMemory) {
  SCOPED_TRACE(SeedText());
  Fill(8000);
  memory_.cache.FailAllocationsFrom(1);
  uint64_t left = tree_.size();
  for (size_t i = 0; i < pool_.size(); ++i) {
    left -= tree_.Erase(pool_[i]) ? 1 : 0;
    ASSERT_EQ(tree_.size(), left);
    ASSERT_FALSE(tree_.Lookup(pool_[i]).has_value());
    if (i % 500 == 0) {
      ASSERT_EQ(CheckTree(tree_), absl::OkStatus());
    }
  }
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(memory_.cache.used_bytes(), 0u);
}

// Large TreeNodes that could not shrink take keys again, and shrink once there is memory.
TEST_P(PrefixTreeMemoryTest, TreeLeftLargeByErasingIsSound) {
  SCOPED_TRACE(SeedText());
  Fill(4000);
  Model model;
  for (const uint64_t key : pool_) model[key] = key / 3;
  memory_.cache.FailAllocationsFrom(1);
  for (const uint64_t key : pool_) {
    if (random_() % 16 == 0) continue;
    tree_.Erase(key);
    model.erase(key);
  }
  ASSERT_EQ(CheckTree(tree_), absl::OkStatus());
  ASSERT_EQ(RowsOf(tree_), Rows(model.begin(), model.end()));
  memory_.cache.FailAllocationsFrom(0);
  for (int i = 0; i < 20; ++i) {
    const uint64_t cut = pool_[random_() % pool_.size()];
    PrefixTree upper(memory_.cache);
    ASSERT_TRUE(tree_.SplitAt(cut, upper));
    ASSERT_EQ(CheckTree(tree_), absl::OkStatus());
    ASSERT_EQ(CheckTree(upper), absl::OkStatus());
    ASSERT_TRUE(upper.Absorb(tree_));
    tree_.Swap(upper);
    ASSERT_EQ(RowsOf(tree_), Rows(model.begin(), model.end()));
  }
  for (const auto& [key, value] : model) ASSERT_TRUE(tree_.Erase(key));
  EXPECT_EQ(memory_.cache.used_bytes(), 0u);
}

TEST_P(PrefixTreeMemoryTest, RefusedBuildLeavesNothing) {
  SCOPED_TRACE(SeedText());
  Fill(3000);
  const Rows rows = RowsOf(tree_);
  std::vector<uint64_t> keys, values;
  for (const auto& [key, value] : rows) {
    keys.push_back(key);
    values.push_back(value);
  }
  PrefixTree built(memory_.cache);
  bool done = false;
  int failures = 0;
  for (uint64_t nth = 1; !done; nth += 1 + nth / 8) {
    const uint64_t used = memory_.cache.used_bytes();
    memory_.cache.FailAllocationsFrom(nth);
    done = built.Build(keys.data(), values.data(), keys.size());
    memory_.cache.FailAllocationsFrom(0);
    if (done) break;
    ++failures;
    ASSERT_TRUE(built.empty());
    ASSERT_EQ(memory_.cache.used_bytes(), used);
  }
  EXPECT_GT(failures, 0);
  EXPECT_EQ(CheckTree(built), absl::OkStatus());
  EXPECT_EQ(RowsOf(built), rows);
}

TEST_P(PrefixTreeMemoryTest, RefusedSplitAndAbsorbChangeNothing) {
  SCOPED_TRACE(SeedText());
  Fill(2000);
  const Rows all = RowsOf(tree_);
  const auto unchanged = [&](const PrefixTree& upper, size_t below) {
    EXPECT_EQ(tree_.size(), below);
    EXPECT_EQ(upper.size(), all.size() - below);
    EXPECT_EQ(CheckTree(tree_), absl::OkStatus());
    EXPECT_EQ(CheckTree(upper), absl::OkStatus());
    Rows rows = RowsOf(tree_);
    const Rows rest = RowsOf(upper);
    rows.insert(rows.end(), rest.begin(), rest.end());
    EXPECT_EQ(rows, all);
  };
  int failures = 0;
  for (int i = 0; i < 60; ++i) {
    const uint64_t cut = pool_[random_() % pool_.size()] + random_() % 2;
    PrefixTree upper(memory_.cache);
    const int split_failures = FailEveryAllocation(
        memory_.cache, [&] { return tree_.SplitAt(cut, upper); },
        [&] { unchanged(upper, all.size()); });
    EXPECT_LE(split_failures, static_cast<int>(kLevelsMax));
    const size_t below = tree_.size();
    unchanged(upper, below);
    const int absorb_failures = FailEveryAllocation(
        memory_.cache, [&] { return tree_.Absorb(upper); }, [&] { unchanged(upper, below); });
    EXPECT_LE(absorb_failures, static_cast<int>(kLevelsMax) + 1);
    unchanged(upper, all.size());
    failures += split_failures + absorb_failures;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(failures, 0);
}

INSTANTIATE_TEST_SUITE_P(AllKeys, PrefixTreeMemoryTest,
                         ::testing::Values(Keys::kDense, Keys::kSparse, Keys::kClustered,
                                           Keys::kOneByte, Keys::kZerosAndOnes, Keys::kExtremes,
                                           Keys::kMixed),
                         [](const auto& keys) { return KeysName(keys.param); });

// The real limit, not an injected one.
TEST(PrefixTreeLimitTest, UpsertsAreRefusedAtTheLimitAndReadsGoOn) {
  TreeMemory memory(2 * memory::kSuperblockBytes);
  PrefixTree tree(memory.cache);
  uint64_t key = 0;
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;  // odd: every key is new
  while (tree.Upsert(key, ~key) != UpsertResult::kNoMemory) key += kStep;
  ASSERT_GT(tree.size(), 10'000u);
  EXPECT_EQ(CheckTree(tree), absl::OkStatus());
  EXPECT_FALSE(tree.Lookup(key).has_value());
  EXPECT_EQ(tree.Lookup(key - kStep), ~(key - kStep));
  EXPECT_EQ(tree.Upsert(key - kStep, 1), UpsertResult::kReplaced);
  for (uint64_t gone = key - kStep; gone != 0; gone -= kStep) ASSERT_TRUE(tree.Erase(gone));
  EXPECT_EQ(tree.size(), 1u);
  EXPECT_EQ(tree.Upsert(key, 1), UpsertResult::kInserted);
}

// TreeNodes of a kind that a growing tree has nearly outgrown, or that mass erases have left, lie
// scattered over what were full spans.
TEST(PrefixTreeScatterTest, WritesGatherWhatGrowthAndErasesHaveScattered) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  TreeMemory memory;
  PrefixTree tree(memory.cache);
  std::vector<uint64_t> keys(1'000'000);
  for (uint64_t& key : keys) key = random();
  for (const uint64_t key : keys) ASSERT_NE(tree.Upsert(key, key), UpsertResult::kNoMemory);
  for (int i = 0; i < 500'000; ++i) {
    uint64_t& key = keys[random() % keys.size()];
    tree.Erase(key);
    key = random();
    ASSERT_NE(tree.Upsert(key, key), UpsertResult::kNoMemory);
  }
  memory.cache.Trim();
  const memory::ObjectAccount account = memory.manager.Account();
  for (size_t bytes = 64; bytes <= sizeof(TreeNode256); bytes += 64) {
    const memory::ClassAccount& one = account.classes[memory::SizeClassOf(bytes)];
    const uint64_t free_bytes = one.cached_blocks * bytes;
    const uint64_t all_bytes = free_bytes + one.used_blocks * bytes;
    EXPECT_LE(free_bytes, std::max<uint64_t>(all_bytes / 8, 1 << 20) + (128 << 10)) << bytes;
  }
  for (const uint64_t key : keys) ASSERT_EQ(tree.Lookup(key), key);
  EXPECT_EQ(CheckTree(tree), absl::OkStatus());
}

}  // namespace
}  // namespace eris::storage
