// Partitions with versions against copies of a std::map, one for each snapshot that is held: random
// writes of all operations, snapshots that begin and end, splits, absorbs, copies of ranges to a
// neighbour, versions freed in pieces, slices of every size. All forms of rows.
#include "storage/index/versioned_partition.h"

#include <gtest/gtest.h>

#include "tests/unit/storage/versioned_pieces.h"

namespace eris::storage {
namespace {

using VersionedPartitionTest = VersionedPieces;

TEST_P(VersionedPartitionTest, SnapshotsShowTheirMomentWhateverIsDone) {
  SCOPED_TRACE(SeedText());
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) DoAnything();
  for (const uint64_t snapshot : view_.active) Check(snapshot);
  EXPECT_EQ(lost_, 0u);
  while (!view_.active.empty()) EndSnapshot(0);
  FreeAll();
  EXPECT_EQ(VersionBytes(), 0u);
  Check(0);
}

TEST_P(VersionedPartitionTest, WithoutMemoryWritesAreRefusedOrSnapshotsLostButNothingIsWrong) {
  SCOPED_TRACE(SeedText());
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    const uint64_t nth = random_() % 4 == 0 ? 1 + random_() % 6 : 0;
    memory_.cache.FailAllocationsFrom(nth);
    second_.FailAllocationsFrom(nth);
    DoAnything();
    memory_.cache.FailAllocationsFrom(0);
    second_.FailAllocationsFrom(0);
  }
  for (const uint64_t snapshot : view_.active) Check(snapshot);
  EXPECT_GT(refused_, 0u);
}

TEST_P(VersionedPartitionTest, NoSnapshotNoRecords) {
  for (uint64_t i = 0; i < 100; ++i) Upsert({i * 37, 0}, i);
  EXPECT_EQ(VersionBytes(), 0u);
  BeginSnapshot();
  EndSnapshot(0);
  for (uint64_t i = 0; i < 100; ++i) Upsert({i * 37, 0}, i + 1);
  EXPECT_EQ(VersionBytes(), 0u);
}

// The records of a range stand on one side or the other, erased rows' too, and are counted once.
TEST_P(VersionedPartitionTest, RecordsGoWithALoanThatIsKept) {
  for (uint64_t i = 0; i < 100; ++i) Upsert({i * 37, 0}, i);
  BeginSnapshot();
  for (uint64_t i = 0; i < 100; ++i) Upsert({i * 37, 0}, i + 1);
  for (uint64_t i = 0; i < 100; i += 3) Erase({i * 37, 0});
  const uint64_t all = VersionBytes();
  ExchangeChunk chunk;
  ASSERT_EQ(pieces_[0]->Lend(Range{}, Partition::End::kHigh, 20 * 17, chunk), absl::OkStatus());
  EXPECT_EQ(VersionBytes(), all);
  EXPECT_GT(chunk.versions.keys.size(), chunk.keys.size());
  pieces_[0]->TakeBack();
  Check(view_.active[0]);
  ASSERT_EQ(pieces_[0]->Lend(Range{}, Partition::End::kHigh, 20 * 17, chunk), absl::OkStatus());
  pieces_.push_back(Make({chunk.covers.lo, chunk.covers.lo}));
  ASSERT_EQ(pieces_[1]->Ingest(chunk), absl::OkStatus());
  const uint64_t moved = pieces_[1]->version_bytes();
  EXPECT_GT(moved, 0u);
  bool more = pieces_[0]->Forget(view_, 5);  // in pieces: some are left
  EXPECT_TRUE(more);
  EXPECT_GT(pieces_[0]->version_bytes(), all - moved);
  while (more) more = pieces_[0]->Forget(view_, 5);
  EXPECT_EQ(pieces_[0]->version_bytes(), all - moved);
  Check(view_.active[0]);
  EndSnapshot(0);
  FreeAll();
  EXPECT_EQ(VersionBytes(), 0u);
}

TEST_P(VersionedPartitionTest, OneRecordPerKeyAndSnapshot) {
  Upsert({37, 0}, 1);
  BeginSnapshot();
  Upsert({37, 0}, 3);
  const uint64_t one = VersionBytes();
  EXPECT_GT(one, 0u);
  for (uint64_t i = 0; i < 10; ++i) Upsert({37, 0}, 3 * i);
  EXPECT_EQ(VersionBytes(), one);
  BeginSnapshot();
  Upsert({37, 0}, 9);
  const uint64_t two = VersionBytes();
  EXPECT_GT(two, one);
  for (uint64_t i = 0; i < 10; ++i) Upsert({37, 0}, 6 * i);
  EXPECT_EQ(VersionBytes(), two);
  for (const uint64_t snapshot : view_.active) Check(snapshot);
}

TEST_P(VersionedPartitionTest, WritesThatChangeNothingLeaveNoRecord) {
  BeginSnapshot();
  Erase({74, 0});
  Write replace{{74, 0}, 5, 5};
  Execute(Operation::kReplaceIfPresent, {&replace});
  Execute(Operation::kCompareAndSet, {&replace});
  EXPECT_EQ(VersionBytes(), 0u);
}

TEST_P(VersionedPartitionTest, EndOfTheOldestFreesWhatItAloneNeeded) {
  for (uint64_t i = 0; i < 500; ++i) Upsert({i * 37, 0}, i);
  BeginSnapshot();
  for (uint64_t i = 0; i < 500; ++i) Upsert({i * 37, 0}, 3 * i);
  const uint64_t before = VersionBytes();
  BeginSnapshot();
  EXPECT_FALSE(pieces_[0]->FreeVersions(view_, 100'000));
  EXPECT_EQ(VersionBytes(), before);
  EndSnapshot(0);
  EXPECT_TRUE(pieces_[0]->FreeVersions(view_, 100));  // a bounded piece
  EXPECT_GT(VersionBytes(), 0u);
  FreeAll();
  EXPECT_EQ(VersionBytes(), 0u);
  Check(view_.active[0]);
}

TEST_P(VersionedPartitionTest, EraseWithoutMemoryWorksAndLosesTheSnapshotsBefore) {
  Upsert({37, 0}, 1);
  Upsert({74, 0}, 2);
  BeginSnapshot();
  memory_.cache.FailAllocationsFrom(1);
  EXPECT_EQ(Erase({37, 0}), KeyState::kPresent);
  memory_.cache.FailAllocationsFrom(0);
  ScanCursor cursor{.rest = Range{}, .snapshot = view_.active[0]};
  uint64_t keys[8], seconds[8], values[8];
  ScanRows out{.keys = keys, .values = values, .capacity = 8, .seconds = seconds};
  pieces_[0]->Scan(cursor, {}, out);
  EXPECT_TRUE(cursor.snapshot_lost);
  EXPECT_EQ(out.rows, 0u);
  RangeAggregate aggregate;
  cursor.snapshot_lost = false;
  pieces_[0]->Aggregate(cursor, {}, aggregate);
  EXPECT_TRUE(cursor.snapshot_lost);
  BeginSnapshot();
  Upsert({74, 0}, 3);
  Check(view_.active[1]);
  EXPECT_EQ(lost_, 0u);
}

INSTANTIATE_TEST_SUITE_P(Forms, VersionedPartitionTest,
                         testing::Values(RowsKind::kIndex, RowsKind::kBytes, RowsKind::kTwoParts),
                         RowsKindName);

}  // namespace
}  // namespace eris::storage
