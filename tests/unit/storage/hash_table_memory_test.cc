// Allocation failure at every request of every operation: what needs memory says no and changes
// nothing, what needs none succeeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "storage/hash/hash_table.h"
#include "storage/hash/hash_table_check.h"
#include "tests/unit/storage/hash_key_sets.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

Rows RowsOf(const HashTable& table) {
  std::vector<uint64_t> keys(table.size() + 1);
  std::vector<uint64_t> values(table.size() + 1);
  HashCursor cursor;
  const uint32_t count =
      table.Read(cursor, keys.data(), values.data(), static_cast<uint32_t>(keys.size()));
  Rows rows;
  for (uint32_t i = 0; i < count; ++i) rows.emplace_back(keys[i], values[i]);
  std::sort(rows.begin(), rows.end());
  return rows;
}

class HashTableMemoryTest : public ::testing::TestWithParam<HashKeys> {
 protected:
  HashTableMemoryTest() : random_(Seed()), table_(memory_.cache, random_()) {}

  Random random_;
  TreeMemory memory_;
  HashTable table_;
};

TEST_P(HashTableMemoryTest, RefusedUpsertChangesNothing) {
  SCOPED_TRACE(SeedText());
  const std::vector<uint64_t> pool = HashKeyPool(GetParam(), 60'000, random_);
  int failures = 0;
  int failures_of_one_max = 0;
  for (const auto mode :
       {memory::FailurePoint::Mode::kOnce, memory::FailurePoint::Mode::kFromThen}) {
    for (size_t i = 0; i < pool.size(); ++i) {
      const uint64_t size = table_.size();
      const uint64_t used = memory_.cache.used_bytes();
      for (uint64_t nth = 1;; ++nth) {
        memory_.cache.ArmFailures(nth, mode);
        const KeyState state = table_.Upsert(pool[i], i);
        memory_.cache.ArmFailures(0, mode);
        if (state != KeyState::kNoMemory) break;
        ++failures;
        failures_of_one_max = std::max(failures_of_one_max, static_cast<int>(nth));
        ASSERT_EQ(memory_.cache.used_bytes(), used);
        ASSERT_EQ(table_.size(), size);
        ASSERT_FALSE(table_.Lookup(pool[i]).has_value());
        if (failures % 16 == 1) {
          const Rows before = RowsOf(table_);
          ASSERT_EQ(before.size(), size);
          ASSERT_EQ(CheckHashTable(table_), absl::OkStatus());
        }
        ASSERT_LT(nth, 10u) << "never succeeds";
      }
      ASSERT_EQ(table_.Lookup(pool[i]), i);
    }
    EXPECT_EQ(CheckHashTable(table_), absl::OkStatus());
    table_.Clear();
    EXPECT_EQ(memory_.cache.used_bytes(), 0u);
  }
  EXPECT_GT(failures, 0);
  // The directory and two halves, at the start and at a split; a size that proves too crowded for
  // the rows takes one more.
  EXPECT_GE(failures_of_one_max, 3);
}

TEST_P(HashTableMemoryTest, EraseSucceedsWithoutMemory) {
  SCOPED_TRACE(SeedText());
  std::vector<uint64_t> pool = HashKeyPool(GetParam(), 60'000, random_);
  for (const uint64_t key : pool) ASSERT_NE(table_.Upsert(key, key), KeyState::kNoMemory);
  std::shuffle(pool.begin(), pool.end(), random_);
  memory_.cache.FailAllocationsFrom(1);
  uint64_t left = table_.size();
  for (size_t i = 0; i < pool.size(); ++i) {
    left -= table_.Erase(pool[i]) ? 1 : 0;
    ASSERT_EQ(table_.size(), left);
    ASSERT_FALSE(table_.Lookup(pool[i]).has_value());
    if (i % 5000 == 0) {
      ASSERT_EQ(CheckHashTable(table_), absl::OkStatus());
    }
  }
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(memory_.cache.used_bytes(), 0u);
}

// Segments that could not shrink are smaller once there is memory again.
TEST_P(HashTableMemoryTest, TableLeftLargeByErasingIsSound) {
  SCOPED_TRACE(SeedText());
  std::vector<uint64_t> pool = HashKeyPool(GetParam(), 60'000, random_);
  for (const uint64_t key : pool) ASSERT_NE(table_.Upsert(key, key), KeyState::kNoMemory);
  std::shuffle(pool.begin(), pool.end(), random_);
  const size_t erased = pool.size() * 15 / 16;
  memory_.cache.FailAllocationsFrom(1);
  for (size_t i = 0; i < erased; ++i) table_.Erase(pool[i]);
  ASSERT_EQ(CheckHashTable(table_), absl::OkStatus());
  const uint64_t used = memory_.cache.used_bytes();
  memory_.cache.FailAllocationsFrom(0);
  Rows rows = RowsOf(table_);
  ASSERT_EQ(rows.size(), table_.size());
  for (size_t i = 0; i < rows.size() / 2; ++i) ASSERT_TRUE(table_.Erase(rows[i].first));
  EXPECT_LT(memory_.cache.used_bytes(), std::max<uint64_t>(used / 3, 3000));
  ASSERT_EQ(CheckHashTable(table_), absl::OkStatus());
  rows.erase(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(rows.size() / 2));
  EXPECT_EQ(RowsOf(table_), rows);
}

// Up and down twice, also while memory is refused now and then.
TEST_P(HashTableMemoryTest, TheAccountIsWhatTheBlocksTake) {
  SCOPED_TRACE(SeedText());
  const std::vector<uint64_t> pool = HashKeyPool(GetParam(), 40'000, random_);
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 0; i < pool.size(); ++i) {
      const uint64_t key = pool[random_() % pool.size()];
      memory_.cache.FailAllocationsFrom(random_() % 8 == 0 ? 1 + random_() % 3 : 0);
      if (random_() % 8 == 0 || round % 2 != 0) {
        table_.Erase(pool[i]);
        if (random_() % 4 == 0) (void)table_.Upsert(key, i);
      } else {
        (void)table_.Upsert(key, i);
      }
      if (i % 500 != 0) continue;
      ASSERT_EQ(memory_.cache.used_bytes(), HashTableChecker(table_).BlockBytes());
    }
    memory_.cache.FailAllocationsFrom(0);
    ASSERT_EQ(CheckHashTable(table_), absl::OkStatus());
  }
}

INSTANTIATE_TEST_SUITE_P(AllKeys, HashTableMemoryTest, ::testing::ValuesIn(kAllHashKeys),
                         [](const auto& keys) { return HashKeysName(keys.param); });

// The real limit, not an injected one.
TEST(HashTableLimitTest, ATableOfOneRowIsTwoSmallSegments) {
  TreeMemory memory;
  HashTable table(memory.cache, 1);
  EXPECT_EQ(memory.cache.used_bytes(), 0u);
  ASSERT_EQ(table.Upsert(7, 1), KeyState::kAbsent);
  EXPECT_EQ(memory.cache.used_bytes(), 2 * kSegmentBytes[0] + 32);  // and a directory of two
}

TEST(HashTableLimitTest, UpsertsAreRefusedAtTheLimitAndReadsGoOn) {
  TreeMemory memory(2 * memory::kSuperblockBytes);
  HashTable table(memory.cache, 7);
  uint64_t key = 0;
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;  // odd: every key is new
  while (table.Upsert(key, ~key) != KeyState::kNoMemory) key += kStep;
  ASSERT_GT(table.size(), 50'000u);
  EXPECT_EQ(CheckHashTable(table), absl::OkStatus());
  EXPECT_FALSE(table.Lookup(key).has_value());
  EXPECT_EQ(table.Lookup(key - kStep), ~(key - kStep));
  EXPECT_EQ(table.Upsert(key - kStep, 1), KeyState::kPresent);
  for (uint64_t gone = key - kStep; gone != 0; gone -= kStep) ASSERT_TRUE(table.Erase(gone));
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.Upsert(key, 1), KeyState::kAbsent);
}

// What the header promises about pauses and the directory.
TEST(HashTableLimitTest, NoStepTakesMoreThanTheHeaderSays) {
  TreeMemory memory;
  HashTable table(memory.cache, 11);
  uint64_t used = 0;
  uint64_t most = 0;
  for (uint64_t key = 0; key < 1'000'000; ++key) {
    ASSERT_EQ(table.Upsert(key, 0), KeyState::kAbsent);
    const uint64_t now = memory.cache.used_bytes();
    most = std::max(most, now > used ? now - used : 0);
    used = now;
  }
  const HashTableChecker checker(table);
  // A split leaves two segments in place of one; the directory doubles at most to its whole size.
  EXPECT_LE(most, kSegmentBytes[kSegmentSizeSplit] + (sizeof(SegmentRef) << checker.depth()));
  EXPECT_EQ(SegmentRowsMax(kSegmentSizeSplit), 3342u);
  EXPECT_LE(uint64_t{1} << checker.depth(), 8 * checker.segments());
}

}  // namespace
}  // namespace eris::storage
