// Partitions of heap tables: rows are appended all or none, and seen by the snapshots taken since.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/table/table_partition.h"
#include "tests/unit/storage/storage_fixture.h"
#include "tests/unit/table/table_rows.h"

namespace eris::storage {
namespace {

TableSchema Schema() {
  return {.columns = {{.name = "n", .type = ColumnType::kInt64},
                      {.name = "s", .type = ColumnType::kString, .nullable = true},
                      {.name = "d", .type = ColumnType::kDate, .nullable = true}}};
}

std::vector<Row> RowsOf(const TablePartition& partition, uint64_t snapshot) {
  std::vector<Row> rows;
  SegmentMask mask;
  EXPECT_TRUE(mask.Allocate());
  SegmentView view;
  for (uint64_t number = 0; partition.FindSegment(snapshot, number, mask, view); ++number) {
    EXPECT_EQ(view.kept, nullptr);
    std::vector<uint32_t> nulls(view.columns.size());
    for (uint32_t row = 0; row < view.rows; ++row) {
      rows.push_back(ReadRow(view, row));
      for (size_t c = 0; c < nulls.size(); ++c) nulls[c] += !rows.back()[c];
    }
    if (view.rows != view.ever) continue;
    for (size_t c = 0; c < nulls.size(); ++c) EXPECT_EQ(view.columns[c].nulls, nulls[c]);
  }
  return rows;
}

struct Heap {
  Heap() : layout(*TableLayout::Create(Schema())) {
    partition =
        *TablePartition::Create(Range{Key::FromU64(3), Key::FromU64(4)}, memory.cache, layout);
  }
  std::vector<Row> Make(size_t count) {
    std::vector<Row> rows;
    for (size_t i = 0; i < count; ++i) {
      rows.push_back({CellOf(next++), RandomCell(ColumnType::kString, true, random),
                      RandomCell(ColumnType::kDate, true, random)});
    }
    return rows;
  }
  TreeMemory memory;
  Random random{Seed()};
  int64_t next = 0;
  std::shared_ptr<const TableLayout> layout;
  std::unique_ptr<TablePartition> partition;
  SnapshotView view;
};

TEST(TableHeapTest, SnapshotsSeeWhatWasAppendedBefore) {
  SCOPED_TRACE(SeedText());
  Heap heap;
  std::vector<Row> all;
  std::vector<std::pair<uint64_t, size_t>> snapshots;
  for (const size_t size : {1u, 4096u, 100u, 4095u, 4096u, 1u, 4096u, 4096u}) {
    const std::vector<Row> rows = heap.Make(size);
    const RowColumns columns(*heap.layout, rows);
    ASSERT_TRUE(heap.partition->Append(columns.batch(), 0, static_cast<uint32_t>(size), heap.view));
    all.insert(all.end(), rows.begin(), rows.end());
    EXPECT_EQ(heap.partition->size(), all.size());
    snapshots.emplace_back(heap.view.epoch, all.size());
    heap.view.active.push_back(heap.view.epoch++);
    for (const auto& [epoch, count] : snapshots) {
      ASSERT_EQ(RowsOf(*heap.partition, epoch),
                std::vector<Row>(all.begin(), all.begin() + static_cast<ptrdiff_t>(count)));
    }
  }
  EXPECT_EQ(RowsOf(*heap.partition, 0), all);
}

TEST(TableHeapTest, PiecesOfABatchAreAppended) {
  Heap heap;
  const std::vector<Row> rows = heap.Make(1000);
  const RowColumns columns(*heap.layout, rows);
  ASSERT_TRUE(heap.partition->Append(columns.batch(), 100, 300, heap.view));
  ASSERT_TRUE(heap.partition->Append(columns.batch(), 900, 100, heap.view));
  std::vector<Row> expected(rows.begin() + 100, rows.begin() + 400);
  expected.insert(expected.end(), rows.begin() + 900, rows.end());
  EXPECT_EQ(RowsOf(*heap.partition, 0), expected);
}

TEST(TableHeapTest, RefusedRowsLeaveNothing) {
  SCOPED_TRACE(SeedText());
  Heap heap;
  std::vector<Row> all;
  for (int round = 0; round < 20; ++round) {
    const std::vector<Row> rows = heap.Make(4096);
    const RowColumns columns(*heap.layout, rows);
    for (uint64_t nth = 1;; ++nth) {
      heap.memory.cache.ArmFailures(nth, memory::FailurePoint::Mode::kOnce);
      const bool done = heap.partition->Append(columns.batch(), 0, 4096, heap.view);
      heap.memory.cache.ArmFailures(0, memory::FailurePoint::Mode::kOnce);
      if (done) break;
      ASSERT_EQ(heap.partition->size(), all.size());
      if (nth % 8 == 1) {
        ASSERT_EQ(RowsOf(*heap.partition, 0).size(), all.size());
      }
    }
    all.insert(all.end(), rows.begin(), rows.end());
  }
  EXPECT_EQ(RowsOf(*heap.partition, 0), all);
  heap.partition.reset();
  EXPECT_EQ(heap.memory.cache.used_bytes(), 0u);
}

TEST(TableHeapTest, SegmentsAreTakenOverWhole) {
  Heap heap;
  auto other = *TablePartition::Create(Range{Key::FromU64(9), Key::FromU64(10)}, heap.memory.cache,
                                       heap.layout);
  const std::vector<Row> rows = heap.Make(500);
  const RowColumns columns(*heap.layout, rows);
  ASSERT_TRUE(heap.partition->Append(columns.batch(), 0, 200, heap.view));
  ASSERT_TRUE(other->Append(columns.batch(), 200, 300, heap.view));
  ASSERT_TRUE(heap.partition->Absorb(*other).ok());
  EXPECT_EQ(RowsOf(*heap.partition, 0), rows);
  EXPECT_EQ(heap.partition->size(), 500u);
  EXPECT_EQ(other->size(), 0u);
  EXPECT_TRUE(RowsOf(*other, 0).empty());
  ExchangeChunk chunk;
  EXPECT_EQ(heap.partition->SplitAt(Key::FromU64(3)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(heap.partition->Extract(1, chunk).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace eris::storage
