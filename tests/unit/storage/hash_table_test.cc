// Random operations on a hash table against std::unordered_map, for key sets that are hard on a
// hash; what growing, shrinking and walking promise.
#include "storage/hash/hash_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "storage/hash/hash_table_check.h"
#include "tests/unit/storage/hash_key_sets.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

using HashModel = std::unordered_map<uint64_t, uint64_t>;

class HashTableTest : public ::testing::TestWithParam<HashKeys> {
 protected:
  HashTableTest() : random_(Seed()), table_(memory_.cache, random_()) {}

  uint64_t AnyKey() { return pool_[random_() % pool_.size()]; }

  void UpsertSome(uint32_t count) {
    uint64_t keys[kHashGroupMax];
    uint64_t hashes[kHashGroupMax];
    for (uint32_t i = 0; i < count; ++i) keys[i] = AnyKey();
    for (uint32_t i = 0; i < count; ++i) hashes[i] = table_.FetchToWrite(keys[i]);
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t value = random_();
      const KeyState expected = model_.contains(keys[i]) ? KeyState::kPresent : KeyState::kAbsent;
      ASSERT_EQ(table_.UpsertHashed(hashes[i], keys[i], value), expected) << keys[i];
      model_[keys[i]] = value;
    }
  }

  void EraseSome(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t key = AnyKey();
      ASSERT_EQ(table_.Erase(key), model_.erase(key) == 1) << key;
    }
  }

  void FindSome(uint32_t count) {
    uint64_t keys[kHashGroupMax];
    uint64_t* values[kHashGroupMax];
    for (uint32_t i = 0; i < count; ++i) keys[i] = random_() % 8 == 0 ? random_() : AnyKey();
    table_.FindGroup(keys, count, values);
    for (uint32_t i = 0; i < count; ++i) {
      const auto row = model_.find(keys[i]);
      ASSERT_EQ(values[i] != nullptr, row != model_.end()) << keys[i];
      if (values[i] == nullptr) continue;
      ASSERT_EQ(*values[i], row->second);
      ASSERT_EQ(table_.Lookup(keys[i]), row->second);
    }
  }

  void CheckAll() {
    ASSERT_EQ(CheckHashTable(table_), absl::OkStatus());
    ASSERT_EQ(table_.size(), model_.size());
    for (const auto& [key, value] : model_) ASSERT_EQ(table_.Lookup(key), value) << key;
  }

  Random random_;
  TreeMemory memory_;
  HashTable table_;
  std::vector<uint64_t> pool_;
  HashModel model_;
};

TEST_P(HashTableTest, RandomOperationsMatchAMap) {
  SCOPED_TRACE(SeedText());
  pool_ = HashKeyPool(GetParam(), 20'000, random_);
  constexpr int kOperations = 12'000;
  for (int i = 0; i < kOperations; ++i) {
    const bool growing = (i / 2000) % 2 == 0;
    const auto count = static_cast<uint32_t>(1 + random_() % kHashGroupMax);
    const uint64_t dice = random_() % 100;
    if (dice < 60) {
      (random_() % 4 == 0) != growing ? UpsertSome(count) : EraseSome(count);
    } else {
      FindSome(count);
    }
    if (i % 1000 == 999) CheckAll();
    ASSERT_FALSE(HasFatalFailure()) << "at operation " << i;
  }
  table_.Clear();
  EXPECT_TRUE(table_.empty());
  EXPECT_EQ(memory_.cache.used_bytes(), 0u);
}

// All keys come, in order and shuffled, and all go: memory follows both ways.
TEST_P(HashTableTest, MemoryFollowsTheRows) {
  SCOPED_TRACE(SeedText());
  pool_ = HashKeyPool(GetParam(), 100'000, random_);
  std::unordered_set<uint64_t> keys(pool_.begin(), pool_.end());
  for (const uint64_t key : pool_) ASSERT_NE(table_.Upsert(key, ~key), KeyState::kNoMemory);
  ASSERT_EQ(table_.size(), keys.size());
  ASSERT_EQ(CheckHashTable(table_), absl::OkStatus());
  const uint64_t full_bytes = memory_.cache.used_bytes();
  EXPECT_LE(full_bytes, 4096 + keys.size() * 30);
  std::shuffle(pool_.begin(), pool_.end(), random_);
  for (size_t i = 0; i < pool_.size(); ++i) {
    ASSERT_EQ(table_.Erase(pool_[i]), keys.erase(pool_[i]) == 1);
    if (i % 10'000 == 0) {
      ASSERT_EQ(CheckHashTable(table_), absl::OkStatus());
      EXPECT_LE(memory_.cache.used_bytes(), 4096 + keys.size() * 64);
    }
  }
  EXPECT_TRUE(table_.empty());
  EXPECT_EQ(memory_.cache.used_bytes(), 0u);
}

// As a partition's rows leave when they are given away: what stays of a segment lies close
// together, in no smaller one.
TEST_P(HashTableTest, RowsThatLeaveInTheOrderOfTheirHashesAreSeldomCopied) {
  SCOPED_TRACE(SeedText());
  pool_ = HashKeyPool(GetParam(), 40'000, random_);
  for (const uint64_t key : pool_) ASSERT_NE(table_.Upsert(key, ~key), KeyState::kNoMemory);
  std::vector<uint64_t> keys(table_.size());
  std::vector<uint64_t> values(table_.size());
  HashCursor cursor;
  ASSERT_EQ(table_.Read(cursor, keys.data(), values.data(), static_cast<uint32_t>(keys.size())),
            keys.size());
  // Each copy takes a block: fewer than one for two rows are taken if the refusal is still to come.
  const uint64_t blocks_max = 64 + keys.size() / 2;
  memory_.cache.ArmFailures(blocks_max, memory::FailurePoint::Mode::kOnce);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(table_.Erase(keys[i]));
    if (i % 8'000 == 0) ASSERT_EQ(CheckHashTable(table_), absl::OkStatus());
  }
  EXPECT_EQ(memory_.cache.used_bytes(), 0u);
  bool refused = false;
  for (uint64_t i = 0; i < blocks_max && !refused; ++i) {
    void* const block = memory_.cache.Allocate(64);
    refused = block == nullptr;
    if (!refused) memory_.cache.Free(block, 64);
  }
  EXPECT_TRUE(refused);
}

// No key set fares worse than random keys do, but for chance: as many rows stand in their first
// bucket, and no segment has far more rows than another.
TEST_P(HashTableTest, KeysSpread) {
  SCOPED_TRACE(SeedText());
  pool_ = HashKeyPool(GetParam(), 200'000, random_);
  for (const uint64_t key : pool_) ASSERT_NE(table_.Upsert(key, 0), KeyState::kNoMemory);
  std::sort(pool_.begin(), pool_.end());
  pool_.erase(std::unique(pool_.begin(), pool_.end()), pool_.end());
  const HashTableChecker checker(table_);
  double at_home = 0;
  uint32_t rows_least = ~uint32_t{0};
  uint32_t rows_most = 0;
  for (const uint64_t key : pool_) {
    at_home += checker.BucketOf(key)->Find(key) != kBucketRows ? 1 : 0;
    const HashSegment& segment = *checker.SegmentOf(key);
    rows_least = std::min(rows_least, checker.RowsOf(key) << segment.depth);
    rows_most = std::max(rows_most, checker.RowsOf(key) << segment.depth);
  }
  EXPECT_GT(at_home / static_cast<double>(pool_.size()), 0.75);
  // At 1,700 rows and more in a segment, five standard deviations are 12 %.
  if (pool_.size() > 20'000) {
    EXPECT_LT(rows_most, rows_least * 1.3);
  }
}

// Walks in slices of all sizes while rows come and go: those that stay come exactly once.
TEST_P(HashTableTest, WalkSeesEachRowThatStaysOnce) {
  SCOPED_TRACE(SeedText());
  pool_ = HashKeyPool(GetParam(), 20'000, random_);
  for (int walk = 0; walk < 6; ++walk) {
    // Even walks grow the table, odd ones shrink it.
    std::unordered_set<uint64_t> staying;
    for (const uint64_t key : pool_) {
      const bool stays = random_() % 3 == 0;
      if (stays) staying.insert(key);
      if (stays || walk % 2 == 1) {
        ASSERT_NE(table_.Upsert(key, ~key), KeyState::kNoMemory);
      }
    }
    std::unordered_set<uint64_t> seen;
    std::vector<uint64_t> keys(3000);
    std::vector<uint64_t> values(3000);
    for (HashCursor cursor; !cursor.done;) {
      const auto rows_max =
          static_cast<uint32_t>(random_() % 2 == 0 ? 1 + random_() % 3000 : 1 + random_() % 40);
      const uint32_t rows = table_.Read(cursor, keys.data(), values.data(), rows_max);
      ASSERT_TRUE(rows == rows_max || cursor.done);
      for (uint32_t i = 0; i < rows; ++i) {
        ASSERT_EQ(values[i], ~keys[i]);
        ASSERT_TRUE(seen.insert(keys[i]).second) << keys[i] << " comes twice";
      }
      for (uint32_t i = 0; i < rows; ++i) {
        const uint64_t key = AnyKey();
        if (staying.contains(key)) continue;
        if (walk % 2 == 0) {
          ASSERT_NE(table_.Upsert(key, ~key), KeyState::kNoMemory);
        } else {
          table_.Erase(key);
          seen.erase(key);  // it may come again, and would then be a new row
        }
      }
    }
    for (const uint64_t key : staying) ASSERT_TRUE(seen.contains(key)) << key << " was missed";
    ASSERT_EQ(CheckHashTable(table_), absl::OkStatus());
    table_.Clear();
  }
}

INSTANTIATE_TEST_SUITE_P(AllKeys, HashTableTest, ::testing::ValuesIn(kAllHashKeys),
                         [](const auto& keys) { return HashKeysName(keys.param); });

TEST(HashTableSmallTest, EmptyTableHasNoMemoryAndNoRows) {
  TreeMemory memory;
  HashTable table(memory.cache, 1);
  uint64_t keys[] = {0, 1, kKeyMax};
  uint64_t* values[3];
  table.FindGroup(keys, 3, values);
  EXPECT_EQ(values[0], nullptr);
  EXPECT_EQ(values[2], nullptr);
  EXPECT_FALSE(table.Lookup(0).has_value());
  EXPECT_FALSE(table.Erase(0));
  HashCursor cursor;
  EXPECT_EQ(table.Read(cursor, keys, keys, 3), 0u);
  EXPECT_TRUE(cursor.done);
  EXPECT_EQ(memory.cache.used_bytes(), 0u);
  EXPECT_EQ(CheckHashTable(table), absl::OkStatus());
}

// The markers of free slots are small numbers: those keys, too, are found only when they are there.
TEST(HashTableSmallTest, NoKeyIsReserved) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    TreeMemory memory(uint64_t{4} << 20);
    HashTable table(memory.cache, seed);
    for (uint64_t key = 0; key < 40; ++key) {
      ASSERT_FALSE(table.Lookup(key).has_value());
      ASSERT_FALSE(table.Erase(key));
      ASSERT_EQ(table.Upsert(key, ~key), KeyState::kAbsent);
      ASSERT_EQ(table.Upsert(~key, key), KeyState::kAbsent);
    }
    ASSERT_EQ(CheckHashTable(table), absl::OkStatus());
    for (uint64_t key = 0; key < 40; ++key) {
      ASSERT_EQ(table.Lookup(key), ~key);
      ASSERT_TRUE(table.Erase(key));
      ASSERT_FALSE(table.Lookup(key).has_value());
      ASSERT_EQ(table.Lookup(~key), key);
    }
    ASSERT_EQ(table.size(), 40u);
  }
}

TEST(HashTableSmallTest, SeedsGiveDifferentOrders) {
  TreeMemory memory;
  std::vector<std::vector<uint64_t>> orders;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    HashTable table(memory.cache, seed);
    for (uint64_t key = 0; key < 100; ++key) ASSERT_EQ(table.Upsert(key, 0), KeyState::kAbsent);
    std::vector<uint64_t> keys(101);
    std::vector<uint64_t> values(101);
    HashCursor cursor;
    ASSERT_EQ(table.Read(cursor, keys.data(), values.data(), 101), 100u);
    orders.push_back(keys);
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
}

// Flipping one bit of the key flips each of the bits that place a row in about half of the cases.
TEST(HashMixTest, EveryBitOfTheKeyReachesEveryBitThatPlacesARow) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const HashMix mix(random());
  constexpr int kKeys = 4000;
  for (unsigned bit = 0; bit < 64; ++bit) {
    int flips[32] = {};
    for (int i = 0; i < kKeys; ++i) {
      const uint64_t key = random();
      const uint64_t difference = mix(key) ^ mix(key ^ (uint64_t{1} << bit));
      for (unsigned out = 0; out < 32; ++out) flips[out] += (difference >> (63 - out)) & 1;
    }
    for (unsigned out = 0; out < 32; ++out) {
      EXPECT_NEAR(flips[out], kKeys / 2, kKeys / 10) << "bit " << bit << " to " << 63 - out;
    }
  }
}

}  // namespace
}  // namespace eris::storage
