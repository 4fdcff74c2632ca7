// How much of a range with versions changes hands in one chunk, and how much a call frees after it.
// A mass erase under a snapshot leaves versions without rows; rows and versions may also be mixed
// in any way. All forms of rows. What snapshots see is told by versioned_partition_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/storage/partition_kinds.h"

namespace eris::storage {
namespace {

using End = Partition::End;

constexpr uint32_t kAnyRows = ~uint32_t{0};
constexpr uint64_t kSecondParts = 3;  // rows of a first part

class VersionedExchangeTest : public testing::TestWithParam<RowsKind> {
 protected:
  VersionedExchangeTest() : source_(Make(Range{})) {}

  bool bytes() const { return GetParam() == RowsKind::kBytes; }
  bool two_parts() const { return GetParam() == RowsKind::kTwoParts; }
  uint64_t rows_of_first() const { return two_parts() ? kSecondParts : 1; }

  std::unique_ptr<OrderedPartition> Make(const Range& range) {
    return NewVersioned(GetParam(), range, memory_.cache);
  }

  // Row i: neighbours share a first part where keys have two.
  uint64_t FirstOf(uint64_t row) const { return row / rows_of_first() * 37; }

  // One batch on rows [from, to), each value a string of `length` where they are strings.
  void Execute(OrderedPartition& partition, Operation operation, uint64_t from, uint64_t to,
               uint64_t every = 1, size_t length = 20) {
    Strings strings;
    const uint64_t word = bytes() ? strings.Word(std::string(length, 'v')) : uint64_t{5};
    test::TestBatch batch{.operation = operation, .snapshots = &view_};
    for (uint64_t row = from; row < to; row += every) {
      batch.keys.push_back(FirstOf(row));
      if (two_parts()) batch.seconds.push_back(row % rows_of_first());
      batch.values.push_back(word);
    }
    batch.Run(partition);
    for (const KeyState state : batch.states) ASSERT_NE(state, KeyState::kNoMemory);
  }
  void Upsert(uint64_t from, uint64_t to, uint64_t every = 1, size_t length = 20) {
    Execute(*source_, Operation::kUpsert, from, to, every, length);
  }
  void Erase(uint64_t from, uint64_t to, uint64_t every = 1) {
    Execute(*source_, Operation::kErase, from, to, every);
  }
  void BeginSnapshot() { view_.active.push_back(view_.epoch++); }

  uint64_t CountAt(OrderedPartition& partition, uint64_t snapshot) {
    ScanCursor cursor{.rest = partition.range(), .snapshot = snapshot};
    cursor.query.count_only = true;
    RangeAggregate sum;
    while (!cursor.done) partition.Aggregate(cursor, {}, sum);
    EXPECT_FALSE(cursor.snapshot_lost);
    return sum.count;
  }

  // First parts that are in the chunk, as a row or a version.
  static uint64_t FirstPartsOf(const ExchangeChunk& chunk) {
    std::vector<uint64_t> firsts = chunk.keys;
    firsts.insert(firsts.end(), chunk.versions.keys.begin(), chunk.versions.keys.end());
    std::sort(firsts.begin(), firsts.end());
    firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
    return firsts.size();
  }

  TreeMemory memory_;
  SnapshotView view_;
  std::unique_ptr<OrderedPartition> source_;
};

// A chunk of a range that was emptied under a snapshot has few rows and would have all versions.
TEST_P(VersionedExchangeTest, AChunkHasNoMoreVersionsThanItsLimitAfterAMassErase) {
  constexpr uint64_t kRows = 6'000;
  constexpr uint32_t kLimit = 1'600;
  for (const End from : {End::kLow, End::kHigh}) {
    source_ = Make(Range{});
    view_ = {};
    Upsert(0, kRows);
    BeginSnapshot();
    Erase(0, kRows);
    const uint64_t version_bytes = source_->version_bytes();
    std::unique_ptr<OrderedPartition> target;
    uint64_t chunks = 0;
    ExchangeChunk chunk;
    while (!source_->range().Empty()) {
      const Range before = source_->range();
      ASSERT_EQ(source_->Lend(before, from, kLimit, chunk), absl::OkStatus());
      ASSERT_FALSE(chunk.covers.Empty());
      EXPECT_LE(chunk.weight(), kLimit);
      if (chunk.covers != before) {
        EXPECT_GT((chunk.weight() + rows_of_first() * kRowsPerVersion) * (kRowsPerVersion + 1),
                  uint64_t{kLimit} * kRowsPerVersion);
      }
      if (target == nullptr) target = Make({chunk.covers.lo, chunk.covers.lo});
      ASSERT_EQ(target->Ingest(chunk), absl::OkStatus());
      while (source_->Forget(view_, kLimit)) {
      }
      ++chunks;
    }
    EXPECT_GE(chunks, kRows * kRowsPerVersion / kLimit);
    EXPECT_EQ(source_->version_bytes(), 0u);
    EXPECT_EQ(target->version_bytes(), version_bytes);
    EXPECT_EQ(CountAt(*target, view_.active[0]), kRows);
    EXPECT_EQ(CountAt(*target, 0), 0u);
  }
}

// Whatever the mixture, a chunk is as large as its limit, and no larger.
TEST_P(VersionedExchangeTest, RowsAndVersionsTogetherFillAChunkToItsLimit) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    source_ = Make(Range{});
    view_ = {};
    const uint64_t rows = 1 + random() % 3'000;
    Upsert(0, rows);
    const auto writes = static_cast<int>(random() % 4);
    for (int i = 0; i < writes; ++i) {
      BeginSnapshot();
      const uint64_t a = random() % rows, b = random() % rows;
      const uint64_t every = 1 + random() % (random() % 3 == 0 ? 200 : 3);
      random() % 2 == 0 ? Erase(std::min(a, b), std::max(a, b) + 1, every)
                        : Upsert(std::min(a, b), std::max(a, b) + 1, every);
    }
    const uint64_t most_of_first = rows_of_first() * (1 + uint64_t{kRowsPerVersion} * 4);
    uint64_t left = source_->size();
    uint64_t versions = 0;
    uint64_t version_bytes = source_->version_bytes();
    while (!source_->range().Empty() && !HasFailure()) {
      const auto limit = static_cast<uint32_t>(1 + random() % (random() % 2 == 0 ? 100 : 5'000));
      const End from = random() % 2 == 0 ? End::kLow : End::kHigh;
      const Range before = source_->range();
      ExchangeChunk chunk;
      ASSERT_EQ(source_->Lend(before, from, limit, chunk), absl::OkStatus());
      EXPECT_TRUE(chunk.weight() <= limit || FirstPartsOf(chunk) == 1) << chunk.weight();
      if (chunk.covers != before) {
        // A key with a version may turn out to have no row.
        EXPECT_GT((chunk.weight() + most_of_first) * (kRowsPerVersion + 1),
                  uint64_t{limit} * kRowsPerVersion);
        EXPECT_FALSE(chunk.covers.Empty());
        EXPECT_GE(FirstPartsOf(chunk), 1u);
      }
      for (const uint64_t key : chunk.versions.keys) EXPECT_TRUE(chunk.covers.ContainsU64(key));
      if (random() % 8 == 0) {
        source_->TakeBack();
        EXPECT_EQ(source_->range(), before);
        continue;
      }
      left -= chunk.keys.size();
      versions += chunk.versions.keys.size();
      EXPECT_EQ(source_->size(), left);
      bool more = source_->Forget(view_, limit);
      // Nothing that changes the range frees what is left at once.
      if (more && random() % 4 == 0 && !source_->range().Empty()) {
        const uint64_t kept = source_->version_bytes();
        const Key middle = Key::FromU64(FirstOf(rows / 2));
        if (source_->range().Contains(middle) && middle > source_->range().lo) {
          auto upper = source_->SplitAt(middle);
          ASSERT_TRUE(upper.ok());
          EXPECT_EQ(source_->version_bytes() + (*upper)->version_bytes(), kept);
          ASSERT_TRUE(source_->Absorb(**upper).ok());
          EXPECT_EQ(source_->version_bytes(), kept);
        }
      }
      while (more) {
        const uint64_t kept = source_->version_bytes();
        more = source_->Forget(view_, limit);
        const uint64_t record = memory_.cache.ClassBytes(sizeof(VersionRecord)) + 32 + 32;
        EXPECT_LE(kept - source_->version_bytes(),
                  std::max<uint64_t>(limit / kRowsPerVersion, 1) * record);
      }
    }
    EXPECT_EQ(left, 0u);
    EXPECT_TRUE(versions > 0 || version_bytes == 0);
    EXPECT_EQ(source_->version_bytes(), 0u);
  }
}

// For byte strings alone: numbers have no length.
class VersionedStringsTest : public VersionedExchangeTest {};

TEST_P(VersionedStringsTest, AChunksStringsAreBoundedThoseOfVersionsByThemselves) {
  constexpr size_t kLength = 1'000;
  constexpr uint64_t kBytes = 10'500;
  Upsert(0, 200, 1, kLength);
  BeginSnapshot();
  Erase(0, 100);
  Upsert(100, 200, 1, kLength);
  for (const End from : {End::kLow, End::kHigh}) {
    ExchangeChunk chunk;
    ASSERT_EQ(source_->Lend(source_->range(), from, {kAnyRows, kBytes}, chunk), absl::OkStatus());
    EXPECT_LE(chunk.bytes.size(), kBytes);
    EXPECT_LE(chunk.versions.bytes.size(), kBytes);
    EXPECT_EQ(chunk.versions.keys.size(), kBytes / kLength);
    source_->TakeBack();
    // A string that is longer than that is a chunk by itself.
    ASSERT_EQ(source_->Lend(source_->range(), from, {kAnyRows, 1}, chunk), absl::OkStatus());
    EXPECT_EQ(FirstPartsOf(chunk), 1u);
    source_->TakeBack();
  }
}

// A range that takes a chunk in, is cut or absorbed while versions of it are still to be freed.
TEST_P(VersionedExchangeTest, ChangesOfTheRangeFreeNothingAtOnce) {
  constexpr uint64_t kRows = 4'500;
  const uint64_t third = FirstOf(kRows / 3), two_thirds = FirstOf(kRows / 3 * 2);
  Upsert(0, kRows);
  BeginSnapshot();
  Erase(0, kRows);
  const uint64_t all = source_->version_bytes();
  ExchangeChunk chunk;
  const Range low{Key{}, Key::FromU64(third)};
  ASSERT_EQ(source_->Lend(low, End::kLow, kAnyRows, chunk), absl::OkStatus());
  const uint64_t before = memory_.cache.used_bytes();
  EXPECT_TRUE(source_->Forget(view_, 1));
  EXPECT_GE(source_->version_bytes() + 200, all);
  auto upper = source_->SplitAt(Key::FromU64(two_thirds));
  ASSERT_TRUE(upper.ok());
  ASSERT_TRUE(source_->Absorb(**upper).ok());
  upper->reset();
  EXPECT_GE(source_->version_bytes() + 200, all);
  ASSERT_EQ(source_->Ingest(chunk), absl::OkStatus());  // it comes back, by another way
  EXPECT_GE(source_->version_bytes() + 200, all / 3 * 4);
  EXPECT_GE(memory_.cache.used_bytes() + 8192, before);
  EXPECT_EQ(CountAt(*source_, view_.active[0]), kRows);
  while (source_->Maintain(view_, 64)) {
  }
  EXPECT_EQ(source_->version_bytes(), all);
  EXPECT_EQ(CountAt(*source_, view_.active[0]), kRows);
}

// Without memory to cut them the versions of a range are lost, and freed by and by all the same.
TEST_P(VersionedExchangeTest, LostVersionsAreFreedInPieces) {
  constexpr uint64_t kRows = 3'000;
  int lost = 0;
  for (uint64_t nth = 1; nth < 30; ++nth) {
    source_ = Make(Range{});
    view_ = {};
    Upsert(0, kRows);
    BeginSnapshot();
    Upsert(0, kRows);
    const uint64_t all = source_->version_bytes();
    memory_.cache.FailAllocationsFrom(nth);
    auto upper = source_->SplitAt(Key::FromU64(FirstOf(kRows / 2) + 1));
    memory_.cache.FailAllocationsFrom(0);
    if (!upper.ok()) continue;
    EXPECT_EQ(source_->version_bytes() + (*upper)->version_bytes(), all) << "freed at once";
    ScanCursor cursor{.rest = source_->range(), .snapshot = view_.active[0]};
    RangeAggregate sum;
    cursor.query.count_only = true;
    source_->Aggregate(cursor, {}, sum);
    if (!cursor.snapshot_lost) break;
    ++lost;
    uint64_t calls = 0;
    for (; source_->FreeVersions(view_, 100); ++calls) {
    }
    EXPECT_GE(calls, kRows / 100);
    EXPECT_EQ(source_->version_bytes(), 0u);
  }
  EXPECT_GT(lost, 0);
}

INSTANTIATE_TEST_SUITE_P(Forms, VersionedExchangeTest,
                         testing::Values(RowsKind::kIndex, RowsKind::kBytes, RowsKind::kTwoParts),
                         RowsKindName);
INSTANTIATE_TEST_SUITE_P(Forms, VersionedStringsTest, testing::Values(RowsKind::kBytes),
                         RowsKindName);

}  // namespace
}  // namespace eris::storage
