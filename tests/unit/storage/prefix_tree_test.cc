// Facts of single operations, then random operations on one tree against std::map, over key
// distributions that are hard on a prefix tree.
#include "storage/tree/prefix_tree.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "storage/tree/tree_check.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

struct PrefixTreeTest : testing::Test {
  TreeMemory memory;
  PrefixTree tree{memory.cache};
};

TEST_F(PrefixTreeTest, EmptyTreeHasNoKey) {
  EXPECT_EQ(tree.size(), 0u);
  EXPECT_FALSE(tree.Lookup(0).has_value());
  EXPECT_FALSE(tree.Erase(0));
  EXPECT_TRUE(RowsOf(tree).empty());
}

TEST_F(PrefixTreeTest, ReplacingAValueNeedsNoMemory) {
  for (const uint64_t key : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40, kKeyMax}) {
    ASSERT_EQ(tree.Upsert(key, 1), UpsertResult::kInserted);
  }
  memory.cache.FailAllocationsFrom(1);
  for (const uint64_t key : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40, kKeyMax}) {
    EXPECT_EQ(tree.Upsert(key, 2), UpsertResult::kReplaced);
    EXPECT_EQ(tree.Lookup(key), 2u);
  }
  // Nor does a new key while there is room in its run.
  uint64_t key = 1 << 20;
  while (tree.Upsert(key, 1) == UpsertResult::kInserted) ++key;
  EXPECT_EQ(tree.Upsert(key, 1), UpsertResult::kNoMemory);
  EXPECT_LT(tree.size(), 4u + RunCapacity(2));
  EXPECT_EQ(tree.Upsert(kKeyMax, 3), UpsertResult::kReplaced);
}

TEST_F(PrefixTreeTest, DenseKeysCostLittleOverEightBytes) {
  constexpr uint64_t kKeys = 1 << 18;
  for (uint64_t key = 0; key < kKeys; ++key) {
    ASSERT_EQ(tree.Upsert(key, key), UpsertResult::kInserted);
  }
  EXPECT_LT(static_cast<double>(memory.cache.used_bytes()) / kKeys, 9.5);
}

double BytesPerKey(const TreeMemory& memory, uint64_t keys) {
  return static_cast<double>(memory.cache.used_bytes()) / static_cast<double>(keys);
}

TEST_F(PrefixTreeTest, SparseKeysCostAtMostTwentyBytesAtAnySize) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  // Over a whole digit, since runs split at the same time everywhere.
  for (uint64_t keys = 100'000; keys <= 3'000'000; keys += keys / 3) {
    while (tree.size() < keys) ASSERT_NE(tree.Upsert(random(), 1), UpsertResult::kNoMemory);
    EXPECT_LT(BytesPerKey(memory, keys), 20.5) << keys;
  }
}

TEST_F(PrefixTreeTest, SparseKeysInOrderLeaveFullRunsBehind) {
  constexpr uint64_t kKeys = 200'000;
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(tree.Upsert(i * 0x3b9aca07, i), UpsertResult::kInserted);
  }
  EXPECT_LT(BytesPerKey(memory, kKeys), 18.5);
}

// Neither runs nor pages suit them all, but none costs much more than its data.
TEST(PrefixTreesTest, KeysAtEqualDistancesCostLittle) {
  for (const uint64_t distance : {2, 3, 4, 7, 16, 100, 256, 257, 65536}) {
    TreeMemory memory;
    PrefixTree tree(memory.cache);
    constexpr uint64_t kKeys = 100'000;
    for (uint64_t i = 0; i < kKeys; ++i) {
      const uint64_t key = i * 0x9e3779b1 % kKeys * distance;  // not in order
      ASSERT_EQ(tree.Upsert(key, i), UpsertResult::kInserted);
    }
    EXPECT_LT(BytesPerKey(memory, kKeys), 24) << distance;
    EXPECT_EQ(CheckTree(tree), absl::OkStatus()) << distance;
  }
}

// A split that leaves one key on one side, again and again.
TEST_F(PrefixTreeTest, KeysThatSplitUnevenlyAreFound) {
  Model model;
  for (uint64_t base = 0; base < 40; ++base) {
    for (unsigned bit = 0; bit < 56; ++bit) {
      for (uint64_t low = 0; low < 3; ++low) {
        const uint64_t key = (base << 56 | uint64_t{1} << bit) + low;
        ASSERT_NE(tree.Upsert(key, key), UpsertResult::kNoMemory);
        model[key] = key;
      }
    }
  }
  EXPECT_EQ(CheckTree(tree), absl::OkStatus());
  EXPECT_EQ(RowsOf(tree), Rows(model.begin(), model.end()));
  for (const auto& [key, value] : model) ASSERT_EQ(tree.Lookup(key), value);
}

TEST(PrefixTreesTest, BuiltTreeIsDenseAndTakesChanges) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  for (const Keys kind : {Keys::kDense, Keys::kSparse, Keys::kClustered, Keys::kOneByte,
                          Keys::kZerosAndOnes, Keys::kExtremes, Keys::kMixed}) {
    Model model;
    for (const uint64_t key : KeyPool(kind, 30'000, random)) model[key] = ~key;
    std::vector<uint64_t> keys, values;
    for (const auto& [key, value] : model) {
      keys.push_back(key);
      values.push_back(value);
    }
    TreeMemory memory;
    PrefixTree tree(memory.cache);
    ASSERT_TRUE(tree.Build(keys.data(), values.data(), keys.size()));
    ASSERT_EQ(CheckTree(tree), absl::OkStatus()) << KeysName(kind);
    ASSERT_EQ(RowsOf(tree), Rows(model.begin(), model.end()));
    if (kind == Keys::kSparse) {
      EXPECT_LT(BytesPerKey(memory, keys.size()), 22);  // the highest digits' few TreeNodes count
    }
    if (kind == Keys::kDense) {
      EXPECT_LT(BytesPerKey(memory, keys.size()), 9.5);
    }
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t key = random() % 2 == 0 ? keys[random() % keys.size()] : random();
      if (random() % 2 == 0) {
        ASSERT_EQ(tree.Erase(key), model.erase(key) == 1);
      } else {
        const bool replaced = !model.insert_or_assign(key, 5).second;
        ASSERT_EQ(tree.Upsert(key, 5),
                  replaced ? UpsertResult::kReplaced : UpsertResult::kInserted);
      }
    }
    ASSERT_EQ(CheckTree(tree), absl::OkStatus()) << KeysName(kind);
    EXPECT_EQ(RowsOf(tree), Rows(model.begin(), model.end()));
  }
}

TEST(PrefixTreesTest, ErasedTreeReturnsAllMemory) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  for (const Keys kind : {Keys::kDense, Keys::kSparse, Keys::kClustered, Keys::kMixed}) {
    TreeMemory memory;
    PrefixTree tree(memory.cache);
    std::vector<uint64_t> keys = KeyPool(kind, 20'000, random);
    for (const uint64_t key : keys) ASSERT_NE(tree.Upsert(key, 1), UpsertResult::kNoMemory);
    const uint64_t full_bytes = memory.cache.used_bytes();
    std::shuffle(keys.begin(), keys.end(), random);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (i == keys.size() * 15 / 16) {
        EXPECT_LT(memory.cache.used_bytes(), full_bytes / 2) << "TreeNodes do not shrink";
      }
      tree.Erase(keys[i]);
    }
    EXPECT_EQ(tree.size(), 0u);
    EXPECT_EQ(memory.cache.used_bytes(), 0u);
  }
}

TEST_F(PrefixTreeTest, ClearReturnsAllMemoryAndTheTreeIsUsableAgain) {
  for (uint64_t i = 0; i < 10'000; ++i) {
    ASSERT_EQ(tree.Upsert(i * i * 77, i), UpsertResult::kInserted);
  }
  tree.Clear();
  EXPECT_EQ(memory.cache.used_bytes(), 0u);
  EXPECT_EQ(tree.Upsert(5, 6), UpsertResult::kInserted);
  EXPECT_EQ(tree.Lookup(5), 6u);
}

TEST_F(PrefixTreeTest, AbandonForgetsTheRowsAndLeavesTheMemoryToTheCache) {
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(tree.Upsert(i, i), UpsertResult::kInserted);
  const uint64_t used = memory.cache.used_bytes();
  tree.Abandon();
  EXPECT_TRUE(tree.empty());
  EXPECT_EQ(memory.cache.used_bytes(), used);
}

TEST_F(PrefixTreeTest, ScanStopsAtTheLastKeyAskedFor) {
  for (const uint64_t key : {uint64_t{0}, uint64_t{10}, uint64_t{20}, uint64_t{1} << 50, kKeyMax}) {
    ASSERT_EQ(tree.Upsert(key, key), UpsertResult::kInserted);
  }
  uint64_t keys[8];
  uint64_t values[8];
  EXPECT_EQ(TreeScanner(tree, 0).Read(9, keys, values, 8), 1u);
  EXPECT_EQ(TreeScanner(tree, 1).Read(20, keys, values, 8), 2u);
  EXPECT_EQ(TreeScanner(tree, 21).Read(kKeyMax - 1, keys, values, 8), 1u);
  EXPECT_EQ(TreeScanner(tree, kKeyMax).Read(kKeyMax, keys, values, 8), 1u);
  EXPECT_EQ(keys[0], kKeyMax);
}

class PrefixTreeModelTest : public ::testing::TestWithParam<Keys> {
 protected:
  PrefixTreeModelTest() : random_(Seed()), tree_(memory_.cache) {}

  // A key of the pool, seldom one beside it or a wholly new one.
  uint64_t AnyKey() {
    const uint64_t key = pool_[random_() % pool_.size()];
    const uint64_t dice = random_() % 64;
    return dice == 0 ? random_() : dice == 1 ? key + 1 : dice == 2 ? key - 1 : key;
  }

  void UpsertOne() {
    const uint64_t key = AnyKey();
    const uint64_t value = random_();
    const UpsertResult expected =
        model_.contains(key) ? UpsertResult::kReplaced : UpsertResult::kInserted;
    ASSERT_EQ(tree_.Upsert(key, value), expected) << key;
    model_[key] = value;
  }

  void LookupOne() {
    const uint64_t key = AnyKey();
    const auto row = model_.find(key);
    ASSERT_EQ(tree_.Lookup(key), row == model_.end() ? std::nullopt : std::optional(row->second))
        << key;
  }

  void FindSome() {
    uint64_t keys[kFindGroupMax];
    uint64_t* values[kFindGroupMax];
    const uint32_t count = static_cast<uint32_t>(random_() % (kFindGroupMax + 1));
    for (uint32_t i = 0; i < count; ++i) keys[i] = AnyKey();
    tree_.FindGroup(keys, count, values);
    for (uint32_t i = 0; i < count; ++i) {
      const auto row = model_.find(keys[i]);
      ASSERT_EQ(values[i] != nullptr, row != model_.end()) << keys[i];
      if (values[i] != nullptr) {
        ASSERT_EQ(*values[i], row->second) << keys[i];
      }
    }
  }

  void ScanSome() {
    const uint64_t from = AnyKey();
    const uint64_t last = random_() % 4 == 0 ? AnyKey() : kKeyMax;
    uint64_t keys[64];
    uint64_t values[64];
    const uint32_t rows_max = static_cast<uint32_t>(1 + random_() % 64);
    TreeScanner scanner(tree_, from);
    auto row = model_.lower_bound(from);
    for (int run = 0; run < 2; ++run) {  // the second run resumes
      const uint32_t rows = scanner.Read(last, keys, values, rows_max);
      for (uint32_t i = 0; i < rows; ++i, ++row) {
        ASSERT_TRUE(row != model_.end() && row->first <= last);
        ASSERT_EQ(keys[i], row->first);
        ASSERT_EQ(values[i], row->second);
      }
      if (rows < rows_max) {
        ASSERT_TRUE(row == model_.end() || row->first > last);
        return;
      }
    }
  }

  // Cuts the tree, verifies the sizes and both halves, and joins them from either side.
  void SplitAndAbsorb() {
    const uint64_t key = AnyKey();
    PrefixTree upper(memory_.cache);
    ASSERT_TRUE(tree_.SplitAt(key, upper));
    const auto middle = model_.lower_bound(key);
    const uint64_t below = static_cast<uint64_t>(std::distance(model_.begin(), middle));
    ASSERT_EQ(tree_.size(), below);
    ASSERT_EQ(upper.size(), model_.size() - below);
    ASSERT_EQ(CheckTree(tree_), absl::OkStatus());
    ASSERT_EQ(CheckTree(upper), absl::OkStatus());
    ASSERT_EQ(RowsOf(tree_), Rows(model_.begin(), middle));
    ASSERT_EQ(RowsOf(upper), Rows(middle, model_.end()));
    if (random_() % 2 == 0) {
      ASSERT_TRUE(tree_.Absorb(upper));
    } else {
      ASSERT_TRUE(upper.Absorb(tree_));
      tree_.Swap(upper);
    }
    ASSERT_TRUE(upper.empty());
  }

  void CheckAll() {
    ASSERT_EQ(tree_.size(), model_.size());
    ASSERT_EQ(CheckTree(tree_), absl::OkStatus());
    ASSERT_EQ(RowsOf(tree_), Rows(model_.begin(), model_.end()));
  }

  Random random_;
  TreeMemory memory_;
  PrefixTree tree_;
  Model model_;
  std::vector<uint64_t> pool_;
};

TEST_P(PrefixTreeModelTest, RandomOperationsMatchAMap) {
  SCOPED_TRACE(SeedText());
  constexpr int kOperations = 400'000;
  constexpr int kPhase = 40'000;  // writes mostly insert in even phases, mostly erase in odd ones
  pool_ = KeyPool(GetParam(), 12'000, random_);
  for (int op = 0; op < kOperations; ++op) {
    const uint64_t upsert_weight = (op / kPhase) % 2 == 0 ? 60 : 15;
    const uint64_t dice = random_() % 100;
    if (dice < upsert_weight) {
      UpsertOne();
    } else if (dice < 75) {
      const uint64_t key = AnyKey();
      ASSERT_EQ(tree_.Erase(key), model_.erase(key) == 1) << key;
    } else if (dice < 95) {
      LookupOne();
    } else if (dice < 98) {
      FindSome();
    } else {
      ScanSome();
    }
    if (op % 4000 == 0) SplitAndAbsorb();
    if (op % 4000 == 0) CheckAll();
    if (HasFatalFailure()) FAIL() << "at operation " << op;
  }
  CheckAll();
  for (const uint64_t key : pool_) tree_.Erase(key);
  for (const auto& [key, value] : model_) tree_.Erase(key);
  EXPECT_EQ(memory_.cache.used_bytes(), 0u);
}

// Every place to cut a tree of all kinds of TreeNodes.
TEST_P(PrefixTreeModelTest, SplitAtEveryBoundaryMatchesAMap) {
  SCOPED_TRACE(SeedText());
  pool_ = KeyPool(GetParam(), 600, random_);
  for (const uint64_t key : pool_) {
    ASSERT_NE(tree_.Upsert(key, ~key), UpsertResult::kNoMemory);
    model_[key] = ~key;
  }
  std::vector<uint64_t> cuts = {0, kKeyMax};
  for (const auto& [key, value] : model_) cuts.insert(cuts.end(), {key, key + 1});
  std::shuffle(cuts.begin(), cuts.end(), random_);
  cuts.resize(std::min<size_t>(cuts.size(), 600));
  for (const uint64_t cut : cuts) {
    PrefixTree upper(memory_.cache);
    ASSERT_TRUE(tree_.SplitAt(cut, upper));
    const auto middle = model_.lower_bound(cut);
    ASSERT_EQ(RowsOf(tree_), Rows(model_.begin(), middle)) << cut;
    ASSERT_EQ(RowsOf(upper), Rows(middle, model_.end())) << cut;
    ASSERT_EQ(CheckTree(tree_), absl::OkStatus()) << cut;
    ASSERT_EQ(CheckTree(upper), absl::OkStatus()) << cut;
    ASSERT_TRUE(tree_.Absorb(upper));
    ASSERT_EQ(CheckTree(tree_), absl::OkStatus()) << cut;
    ASSERT_EQ(tree_.size(), model_.size());
  }
  CheckAll();
}

INSTANTIATE_TEST_SUITE_P(AllKeys, PrefixTreeModelTest,
                         ::testing::Values(Keys::kDense, Keys::kSparse, Keys::kClustered,
                                           Keys::kOneByte, Keys::kZerosAndOnes, Keys::kExtremes,
                                           Keys::kMixed),
                         [](const auto& keys) { return KeysName(keys.param); });

}  // namespace
}  // namespace eris::storage
