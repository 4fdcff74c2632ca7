// Whole segments of heap tables that change hands: what leaves and what stays, under snapshots,
// appends and want of memory; and their memory, which follows to another NumaNode piece by piece.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/table/table_partition.h"
#include "tests/unit/storage/storage_fixture.h"
#include "tests/unit/storage/two_numa_nodes.h"
#include "tests/unit/table/table_rows.h"

namespace eris::storage {
namespace {

// A number, few different strings, many different ones, and some that are null.
Schema SegmentSchema() {
  return {.columns = {{.name = "n", .type = ColumnType::kInt64},
                      {.name = "few", .type = ColumnType::kString},
                      {.name = "many", .type = ColumnType::kString, .nullable = true},
                      {.name = "f", .type = ColumnType::kFloat64, .nullable = true}}};
}

constexpr uint32_t kPiece = 4096;

class TableSegmentsTest : public testing::Test {
 protected:
  explicit TableSegmentsTest(uint64_t target_bytes = uint64_t{1} << 30) : nodes_(target_bytes) {
    source_ =
        *TablePartition::Create({Key::FromU64(0), Key::FromU64(1)}, nodes_.source.cache, layout_);
    target_ =
        *TablePartition::Create({Key::FromU64(1), Key::FromU64(2)}, nodes_.target.cache, layout_);
    source_->SetSnapshots(&view_);
    target_->SetSnapshots(&view_);
  }
  bool Append(TablePartition& part, uint32_t count) {
    std::vector<Row> rows;
    for (uint32_t i = 0; i < count; ++i) {
      rows.push_back({CellOf(next_ + i), "a string of " + std::to_string(random_() % 30),
                      random_() % 5 == 0
                          ? Cell()
                          : std::string(random_() % 40, 'x') + std::to_string(next_ + i),
                      RandomCell(ColumnType::kFloat64, true, random_)});
    }
    const RowColumns columns(*layout_, rows);
    if (!part.Append(columns.batch(), 0, count, view_)) return false;
    next_ += count;
    all_.insert(all_.end(), rows.begin(), rows.end());
    return true;
  }
  // The first segment grows to 65,536 rows, each of the next ones has room for as many.
  void Fill(TablePartition& part, uint32_t pieces) {
    for (uint32_t i = 0; i < pieces; ++i) ASSERT_TRUE(Append(part, kPiece));
  }
  // Every row that was appended, in one of the two, and once.
  void ExpectAllRows(uint64_t snapshot = 0) {
    std::vector<Row> found;
    SegmentMask mask;
    ASSERT_TRUE(mask.Allocate());
    for (const TablePartition* part : {source_.get(), target_.get()}) {
      uint64_t rows = 0;
      SegmentView segment;
      for (uint64_t number = 0; part->FindSegment(snapshot, number, mask, segment); ++number) {
        ASSERT_LT(number, part->segment_end());
        for (uint32_t row = 0; row < segment.rows; ++row) {
          if (segment.kept != nullptr) mask.Make(row);
          if (segment.kept != nullptr && (segment.kept[row / 64] >> row % 64 & 1) == 0) continue;
          found.push_back(ReadRow(segment, row));
          ++rows;
          for (size_t c = 0; c < found.back().size(); ++c) {
            ASSERT_TRUE(WithinBounds(segment.columns[c], found.back()[c]));
          }
        }
      }
      ASSERT_EQ(part->size(), rows);
    }
    const auto number = [](const Row& row) { return ValueOf<int64_t>(row[0]); };
    std::sort(found.begin(), found.end(),
              [&](const Row& a, const Row& b) { return number(a) < number(b); });
    ASSERT_EQ(found.size(), all_.size());
    ASSERT_TRUE(found == all_);
  }

  SegmentsOut Cut(uint64_t rows_max) {
    SegmentsOut out;
    const uint64_t size = source_->size();
    const absl::Status status = source_->CutSegments(rows_max, view_, out);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_LE(out.rows, rows_max);
    EXPECT_EQ(source_->size() + out.rows, size);
    return out;
  }
  absl::Status Refused(uint64_t rows_max) {
    SegmentsOut out;
    const uint64_t size = source_->size();
    absl::Status status = source_->CutSegments(rows_max, view_, out);
    EXPECT_TRUE(out.segments.empty());
    EXPECT_EQ(source_->size(), size);
    return status;
  }
  static uint64_t UsedBytes(const Node& node) {
    const memory::ObjectAccount account = node.manager.Account();
    return account.used_bytes + account.extent_bytes;
  }
  static RowBytes Measure(TablePartition& part, int64_t visits) {
    RowBytes bytes;
    HomeWork work{.measured = &bytes};
    do {
      work.bytes_left = visits * HomeWork::kVisitBytes;
    } while (!part.BringHome(work));
    return bytes;
  }

  Nodes nodes_;
  Random random_{Seed()};
  int64_t next_ = 0;
  std::vector<Row> all_;
  SnapshotView view_;
  std::shared_ptr<const TableLayout> layout_ = *TableLayout::Create(SegmentSchema());
  std::unique_ptr<TablePartition> source_, target_;
};

TEST_F(TableSegmentsTest, SegmentsLeaveFromTheEndAndFit) {
  SCOPED_TRACE(SeedText());
  Fill(*source_, 40);
  ExpectAllRows();
  for (const uint64_t rows_max : {100'000, 70'000, 5'000, 200'000}) {
    SegmentsOut out = Cut(rows_max);
    EXPECT_GT(out.rows, 0u);
    const uint64_t before = target_->size();
    const uint64_t rows = out.rows;
    ASSERT_TRUE(target_->TakeSegments(out).ok());
    EXPECT_TRUE(out.segments.empty());
    EXPECT_EQ(target_->size(), before + rows);
    source_->SegmentsAreGone();
    ExpectAllRows();
    // Both go on.
    ASSERT_TRUE(Append(*source_, 300));
    ASSERT_TRUE(Append(*target_, 900));
    ExpectAllRows();
  }
  EXPECT_EQ(Refused(1).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TableSegmentsTest, NoneLeavesWhileASnapshotIsHeld) {
  SCOPED_TRACE(SeedText());
  Fill(*source_, 4);
  view_.active.push_back(view_.epoch++);
  const absl::Status status = Refused(1 << 20);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_NE(status.message().find("snapshot"), std::string::npos);
  view_.active.clear();
  SegmentsOut out = Cut(1 << 20);
  ASSERT_TRUE(target_->TakeSegments(out).ok());
  // A later one sees them where they are now, and none that is appended after it.
  const uint64_t seen = all_.size();
  view_.active.push_back(view_.epoch++);
  ASSERT_TRUE(Append(*target_, 100));
  std::vector<Row> now = all_;
  all_.resize(seen);
  uint64_t rows = 0;
  SegmentMask mask;
  ASSERT_TRUE(mask.Allocate());
  SegmentView segment;
  for (uint64_t number = 0; target_->FindSegment(view_.active[0], number, mask, segment); ++number)
    rows += segment.rows;
  EXPECT_EQ(rows, seen);
  all_ = now;
  ExpectAllRows();
}

// Rows of a copy that have died, with records while a snapshot sees them.
TEST_F(TableSegmentsTest, DeadRowsGoAlongAndTheirRecordsDoNot) {
  SCOPED_TRACE(SeedText());
  Fill(*source_, 3);
  view_.active.push_back(view_.epoch++);
  ExchangeChunk chunk;
  ASSERT_TRUE(source_->Lend(source_->range(), Partition::End::kHigh, 1'000, chunk).ok());
  SegmentsOut none;
  EXPECT_EQ(source_->CutSegments(1 << 20, view_, none).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(target_->Ingest(chunk).ok());
  source_->Forget(view_, 1);
  ExpectAllRows();
  // The snapshot has gone, but what it needed is not freed.
  view_.active.clear();
  view_.epoch++;
  SegmentsOut some;
  const absl::Status status = source_->CutSegments(1 << 20, view_, some);
  const uint64_t left_with_records = source_->size();
  if (status.ok()) {
    ASSERT_TRUE(target_->TakeSegments(some).ok());
    source_->SegmentsAreGone();
  }
  EXPECT_GT(left_with_records, 0u);
  while (source_->FreeVersions(view_, 100)) {
  }
  SegmentsOut rest = Cut(1 << 20);
  EXPECT_EQ(source_->size(), 0u);
  ASSERT_TRUE(target_->TakeSegments(rest).ok());
  source_->SegmentsAreGone();
  ExpectAllRows();
}

TEST_F(TableSegmentsTest, WhatTheTargetRefusesComesBack) {
  SCOPED_TRACE(SeedText());
  Fill(*source_, 30);
  SegmentsOut out = Cut(90'000);
  const uint64_t rows = out.rows;
  nodes_.target.cache.FailAllocationsFrom(1);
  EXPECT_EQ(target_->TakeSegments(out).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(out.rows, rows);
  EXPECT_EQ(target_->size(), 0u);
  nodes_.target.cache.FailAllocationsFrom(0);
  Fill(*source_, 3);
  source_->TakeSegmentsBack(out);
  EXPECT_TRUE(out.segments.empty());
  ExpectAllRows();
}

// As many as the list has room for are out, and others come meanwhile.
TEST_F(TableSegmentsTest, TheirReturnNeedsNoMemory) {
  constexpr uint32_t kOut = 8;
  for (uint32_t i = 0; i < kOut; ++i) {
    ASSERT_TRUE(Append(*source_, 1));
    SegmentsOut all = Cut(kOut);
    all.open = nullptr;  // the next row begins another segment
    source_->TakeSegmentsBack(all);
  }
  SegmentsOut out = Cut(kOut);
  ASSERT_EQ(out.segments.size(), kOut);
  ASSERT_TRUE(Append(*source_, 1));
  nodes_.source.cache.FailAllocationsFrom(1);
  source_->TakeSegmentsBack(out);
  nodes_.source.cache.FailAllocationsFrom(0);
  ExpectAllRows();
}

// The open segment has memory for rows to come, so it goes last, and rows go on into it there.
TEST_F(TableSegmentsTest, TheOpenSegmentGoesLast) {
  SCOPED_TRACE(SeedText());
  Fill(*source_, 40);  // 65,536, 65,536 and 32,768 rows, of which the last are open
  SegmentsOut out = Cut(90'000);
  EXPECT_EQ(out.rows, 65'536u);
  EXPECT_EQ(out.open, nullptr);
  ASSERT_TRUE(target_->TakeSegments(out).ok());
  source_->SegmentsAreGone();
  out = Cut(100'000);
  EXPECT_EQ(out.segments.size(), 2u);
  ASSERT_NE(out.open, nullptr);
  source_->TakeSegmentsBack(out);
  const uint64_t end = source_->segment_end();
  ASSERT_TRUE(Append(*source_, 100));
  EXPECT_EQ(source_->segment_end(), end) << "appended to what came back";
  out = Cut(100'000);
  ASSERT_TRUE(target_->TakeSegments(out).ok());
  source_->SegmentsAreGone();
  const uint64_t end_there = target_->segment_end();
  ASSERT_TRUE(Append(*target_, 100));
  EXPECT_EQ(target_->segment_end(), end_there);
  ExpectAllRows();
}

TEST_F(TableSegmentsTest, TheirMemoryFollowsPieceByPiece) {
  SCOPED_TRACE(SeedText());
  Fill(*source_, 40);
  for (const int64_t visits : {1, 7, 1'000'000'000}) {
    const RowBytes measured = Measure(*source_, visits);
    EXPECT_EQ(measured.all, UsedBytes(nodes_.source)) << visits;
    EXPECT_EQ(measured.remote, 0u);
  }
  const RowBytes all = Measure(*source_, 1'000);
  SegmentsOut out = Cut(1 << 20);
  ASSERT_TRUE(target_->TakeSegments(out).ok());
  source_->SegmentsAreGone();
  const RowBytes left = Measure(*source_, 1'000);
  const RowBytes taken = Measure(*target_, 1'000);
  EXPECT_EQ(taken.remote, all.all - left.all);
  // Everything goes on meanwhile.
  HomeWork work;
  uint32_t pieces = 0;
  for (bool complete = false; !complete; ++pieces) {
    work.bytes_left = 10'000;
    complete = target_->BringHome(work);
    nodes_.target.cache.EndTurn();
    if (pieces % 8 == 0) {
      ASSERT_TRUE(Append(*target_, 1 + random_() % 500));
      ExpectAllRows();
    }
  }
  EXPECT_GT(pieces, 8u);
  EXPECT_FALSE(work.refused);
  EXPECT_GE(work.moved_bytes, taken.remote * 3 / 4) << "without what rounds arrays up";
  EXPECT_EQ(Measure(*target_, 1'000).remote, 0u);
  ExpectAllRows();
  while (nodes_.source.cache.Collect()) {
  }
  EXPECT_EQ(Measure(*source_, 1'000).all, UsedBytes(nodes_.source));
  HomeWork again{.bytes_left = 1 << 30};
  EXPECT_TRUE(target_->BringHome(again));
  EXPECT_EQ(again.moved_bytes, 0u);
}

class FullTargetTest : public TableSegmentsTest {
 protected:
  FullTargetTest() : TableSegmentsTest(4 << 20) {}
};

TEST_F(FullTargetTest, WhatFindsNoMemoryStaysAndIsServed) {
  SCOPED_TRACE(SeedText());
  Fill(*source_, 30);
  SegmentsOut out = Cut(1 << 20);
  ASSERT_TRUE(target_->TakeSegments(out).ok());
  source_->SegmentsAreGone();
  HomeWork work{.bytes_left = int64_t{1} << 40};
  EXPECT_TRUE(target_->BringHome(work));
  EXPECT_TRUE(work.refused);
  EXPECT_GT(work.moved_bytes, 0u);
  EXPECT_GT(Measure(*target_, 1'000).remote, 0u);
  ExpectAllRows();
  target_.reset();
  source_.reset();
  nodes_.target.cache.EndTurn();
  nodes_.source.ExpectEmpty();
  nodes_.target.ExpectEmpty();
}

}  // namespace
}  // namespace eris::storage
