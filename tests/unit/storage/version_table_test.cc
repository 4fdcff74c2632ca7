// How much a call does on a table of versions: records are what is counted, not keys, and what is
// taken out at once is freed piece by piece. What snapshots see meanwhile is told by a model.
#include "storage/index/version_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

// One-part keys, numbers. value i of a key stood until the i-th write.
class VersionTableTest : public testing::Test {
 protected:
  VersionTableTest() : table_(Make()) {}
  ~VersionTableTest() override {
    table_.reset();
    EXPECT_EQ(memory_.cache.used_bytes(), abandoned_bytes_);
  }

  std::unique_ptr<VersionTable> Make() {
    return *VersionTable::Create(memory_.cache, /*two_parts=*/false, /*byte_strings=*/false);
  }
  uint64_t record_bytes() const { return memory_.cache.ClassBytes(sizeof(VersionRecord)); }

  // A write of each key by a turn at the view's epoch, over `value`.
  bool Write(const std::vector<uint64_t>& keys, uint64_t value) {
    bool all = true;
    for (size_t begin = 0; begin < keys.size(); begin += VersionTable::kGroupMax) {
      const auto count =
          static_cast<uint32_t>(std::min<size_t>(VersionTable::kGroupMax, keys.size() - begin));
      const VersionTable::KeyGroup group{count, keys.data() + begin, nullptr};
      VersionRecord* newest[VersionTable::kGroupMax];
      VersionTable::OldValue old_values[VersionTable::kGroupMax];
      bool kept[VersionTable::kGroupMax];
      table_->Find(group, newest);
      for (uint32_t i = 0; i < count; ++i) {
        const uint64_t end = newest[i] == nullptr ? 0 : newest[i]->end();
        old_values[i] = {view_.Needs(end, view_.epoch), true, value};
      }
      table_->Add(group, newest, old_values, view_, kept);
      all &= std::all_of(kept, kept + count, [](bool one) { return one; });
    }
    return all;
  }
  uint64_t BeginSnapshot() {
    view_.active.push_back(view_.epoch);
    return view_.epoch++;
  }
  void EndSnapshot(size_t i) {
    view_.active.erase(view_.active.begin() + static_cast<ptrdiff_t>(i));
  }
  // The value that the table says; ~0: the row's.
  uint64_t At(uint64_t key, uint64_t snapshot) const {
    VersionRecord* newest = nullptr;
    table_->Find({1, &key, nullptr}, &newest);
    const VersionRecord* const record = VersionTable::At(newest, snapshot);
    return record == nullptr ? ~uint64_t{0} : record->value;
  }
  uint32_t KeysIn(const Range& range) const {
    VersionTable::KeptKey keys[VersionTable::kGroupMax];
    return table_->Keys(range, ScanDirection::kForward, VersionTable::kGroupMax, keys);
  }
  static std::vector<uint64_t> Keys(uint64_t count) {
    std::vector<uint64_t> keys(count);
    for (uint64_t i = 0; i < count; ++i) keys[i] = i * 37;
    return keys;
  }
  static Range Below(uint64_t key) { return {Key{}, Key::FromU64(key)}; }
  static Range From(uint64_t key) { return {Key::FromU64(key), std::nullopt}; }

  TreeMemory memory_;
  std::unique_ptr<VersionTable> table_;
  SnapshotView view_;
  uint64_t abandoned_bytes_ = 0;
};

TEST_F(VersionTableTest, APieceOfFreeingCountsRecordsAndStopsInsideAChain) {
  constexpr uint64_t kSnapshots = 500;
  for (uint64_t i = 0; i < kSnapshots; ++i) {
    BeginSnapshot();
    ASSERT_TRUE(Write({7, 9}, i));
  }
  const uint64_t all = 2 * kSnapshots;
  EXPECT_GE(table_->bytes(), all * record_bytes());
  view_.active.clear();
  constexpr uint32_t kPiece = 10;
  uint64_t calls = 1;
  for (uint64_t before = table_->bytes(); table_->Free(view_, kPiece); ++calls) {
    // And the keys that a chain's end takes out.
    EXPECT_LE(before - table_->bytes(), kPiece * record_bytes() + 2 * 64);
    before = table_->bytes();
    ASSERT_LE(calls, 2 * all);
  }
  EXPECT_GE(calls, all / kPiece);
  EXPECT_EQ(table_->bytes(), 0u);
  EXPECT_TRUE(table_->Empty());
}

// A pass through records that all stay comes to its end by pieces that are smaller than a chain.
TEST_F(VersionTableTest, APieceGoesOnInAChainWhereTheLastOneStopped) {
  constexpr uint64_t kSnapshots = 500;
  constexpr uint32_t kPiece = 10;
  for (uint64_t i = 0; i < kSnapshots; ++i) {
    BeginSnapshot();
    ASSERT_TRUE(Write({7, 9}, i));
  }
  EndSnapshot(0);
  uint64_t calls = 1;
  while (table_->Free(view_, kPiece)) ASSERT_LE(++calls, 2 * kSnapshots / kPiece + 5);
  EXPECT_GE(calls, 2 * kSnapshots / kPiece - 5);
  for (const uint64_t snapshot : view_.active) EXPECT_EQ(At(7, snapshot), snapshot - 1);
}

TEST_F(VersionTableTest, DetachedChainsAreFreedByRecordsToo) {
  constexpr uint64_t kSnapshots = 500;
  for (uint64_t i = 0; i < kSnapshots; ++i) {
    BeginSnapshot();
    ASSERT_TRUE(Write({7, 9}, i));
  }
  table_->DetachAll();
  uint64_t before = table_->bytes();
  while (table_->FreeDetached(10)) {
    EXPECT_LE(before - table_->bytes(), 10 * record_bytes() + 2 * 64);
    before = table_->bytes();
  }
  EXPECT_EQ(table_->bytes(), 0u);
}

TEST_F(VersionTableTest, WhatIsStillNeededStaysWhateverComesBetweenThePieces) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const std::vector<uint64_t> keys = Keys(5);
  std::map<uint64_t, std::map<uint64_t, uint64_t>> held;  // snapshot -> what it shows
  std::map<uint64_t, uint64_t> rows;
  for (const uint64_t key : keys) rows[key] = 0;
  uint64_t value = 0;
  uint64_t stopped = 0;
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    const uint64_t dice = random() % 8;
    if (dice < 3) {
      const uint64_t key = keys[random() % keys.size()];
      ASSERT_TRUE(Write({key}, rows[key]));
      rows[key] = ++value;
    } else if (dice == 3 && view_.active.size() < 200) {
      held[view_.epoch] = rows;
      BeginSnapshot();
    } else if (dice == 4 && !view_.active.empty() && random() % 2 == 0) {
      const size_t gone = random() % view_.active.size();
      held.erase(view_.active[gone]);
      EndSnapshot(gone);
    } else if (dice < 7) {
      stopped += table_->Free(view_, static_cast<uint32_t>(1 + random() % 7));
    } else if (!held.empty()) {
      const auto& [snapshot, shown] = *std::next(held.begin(), random() % held.size());
      for (const auto& [key, expected] : shown) {
        const uint64_t kept = At(key, snapshot);
        EXPECT_EQ(kept == ~uint64_t{0} ? rows[key] : kept, expected) << "key " << key;
      }
    }
  }
  EXPECT_GT(stopped, 1000u);
  view_.active.clear();
  for (int i = 0; i < 100'000 && table_->Free(view_, 3); ++i) {
  }
  EXPECT_EQ(table_->bytes(), 0u);
}

// A hot key under one long snapshot and many short ones.
TEST_F(VersionTableTest, AChainDoesNotGrowWithSnapshotsThatHaveEnded) {
  const uint64_t first = BeginSnapshot();
  ASSERT_TRUE(Write({7}, 100));
  BeginSnapshot();
  ASSERT_TRUE(Write({7}, 200));
  EndSnapshot(1);
  const uint64_t bytes = table_->bytes();
  for (uint64_t i = 0; i < 1000; ++i) {
    BeginSnapshot();
    ASSERT_TRUE(Write({7}, i));
    EndSnapshot(1);
    EXPECT_EQ(table_->bytes(), bytes);
  }
  EXPECT_EQ(At(7, first), 100u);
}

TEST_F(VersionTableTest, AnEndIsDetachedAtOnceAndFreedInPieces) {
  constexpr uint64_t kKeys = 5'000;
  const std::vector<uint64_t> keys = Keys(kKeys);
  const uint64_t snapshot = BeginSnapshot();
  ASSERT_TRUE(Write(keys, 1));
  const uint64_t key_bytes = table_->bytes() / kKeys;
  uint64_t left = kKeys;
  for (const bool low : {true, false}) {
    const uint64_t cut = keys[kKeys - left / 2];
    const Range end = low ? Below(cut) : From(cut);
    const uint64_t used = memory_.cache.used_bytes();
    const uint64_t bytes = table_->bytes();
    ASSERT_TRUE(table_->Detach(end));
    // No record has been touched: but for some blocks of the tree all memory is as it was.
    EXPECT_EQ(table_->bytes(), bytes);
    EXPECT_GT(memory_.cache.used_bytes() + 4096, used);
    EXPECT_EQ(KeysIn(end), 0u);
    EXPECT_GT(KeysIn(low ? From(cut) : Below(cut)), 0u);
    uint64_t before = bytes;
    uint64_t calls = 0;
    while (table_->FreeDetached(100)) {
      EXPECT_LE(before - table_->bytes(), 100 * key_bytes);
      before = table_->bytes();
      ++calls;
    }
    uint64_t there = 0;
    for (const uint64_t key : keys) there += At(key, snapshot) == 1;
    EXPECT_EQ(table_->bytes(), there * key_bytes);
    EXPECT_GE(calls, (left - there) / 100);
    EXPECT_LT(there, left);
    left = there;
  }
  ASSERT_TRUE(table_->Detach(Range{}));
  EXPECT_TRUE(table_->Empty());
  EXPECT_GT(table_->bytes(), 0u);
  // Writes go on beside what was detached, and a pass frees that first.
  ASSERT_TRUE(Write(keys, 2));
  EXPECT_EQ(At(keys[3], snapshot), 2u);
  view_.active.clear();
  while (table_->Free(view_, 64)) {
  }
  EXPECT_EQ(table_->bytes(), 0u);
}

TEST_F(VersionTableTest, WithoutMemoryNothingIsDetached) {
  const std::vector<uint64_t> keys = Keys(3'000);
  const uint64_t snapshot = BeginSnapshot();
  ASSERT_TRUE(Write(keys, 1));
  const uint64_t bytes = table_->bytes();
  int refused = 0;
  for (uint64_t cut = 1; cut < keys.back() && refused < 3; cut += 997) {
    memory_.cache.FailAllocationsFrom(1);
    const bool detached = table_->Detach(Below(cut));
    memory_.cache.FailAllocationsFrom(0);
    if (detached) continue;
    ++refused;
    EXPECT_EQ(table_->bytes(), bytes);
    EXPECT_EQ(At(keys[cut / 37 / 2 + 1], snapshot), 1u);
  }
  EXPECT_GT(refused, 0);
  // All of it needs none of the cache's.
  memory_.cache.FailAllocationsFrom(1);
  EXPECT_TRUE(table_->Detach(Range{}));
  memory_.cache.FailAllocationsFrom(0);
  EXPECT_TRUE(table_->Empty());
}

TEST_F(VersionTableTest, WhatWasDetachedStaysInASplitAndGoesAlongWithAnAbsorb) {
  const std::vector<uint64_t> keys = Keys(2'000);
  const uint64_t snapshot = BeginSnapshot();
  ASSERT_TRUE(Write(keys, 1));
  const uint64_t all = table_->bytes();
  ASSERT_TRUE(table_->Detach(Below(keys[500])));
  const std::unique_ptr<VersionTable> upper = Make();
  ASSERT_TRUE(table_->SplitAt(keys[1000], *upper));
  EXPECT_EQ(table_->bytes() + upper->bytes(), all);
  EXPECT_EQ(upper->bytes(), all / 2);
  EXPECT_FALSE(upper->FreeDetached(1));
  ASSERT_TRUE(upper->Detach(From(keys[1500])));
  ASSERT_TRUE(table_->Absorb(keys[1000], *upper));
  EXPECT_EQ(upper->bytes(), 0u);
  EXPECT_FALSE(upper->FreeDetached(1));
  EXPECT_EQ(table_->bytes(), all);
  while (table_->FreeDetached(100)) {
  }
  EXPECT_EQ(table_->bytes(), all / 2);
  EXPECT_EQ(At(keys[499], snapshot), ~uint64_t{0});
  EXPECT_EQ(At(keys[500], snapshot), 1u);
  EXPECT_EQ(At(keys[1499], snapshot), 1u);
  EXPECT_EQ(At(keys[1500], snapshot), ~uint64_t{0});
}

// The end of a whole object: O(1), however many records there are.
TEST_F(VersionTableTest, AbandonTouchesNoRecord) {
  BeginSnapshot();
  ASSERT_TRUE(Write(Keys(2'000), 1));
  ASSERT_TRUE(table_->Detach(Below(37 * 500)));
  const uint64_t used = memory_.cache.used_bytes();
  EXPECT_GT(used, 2'000 * record_bytes());
  table_->Abandon();
  table_.reset();
  EXPECT_EQ(memory_.cache.used_bytes(), used);
  abandoned_bytes_ = used;
}

}  // namespace
}  // namespace eris::storage
