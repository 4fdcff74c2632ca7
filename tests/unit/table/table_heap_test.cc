// Partitions of heap tables: rows are appended all or none, and seen by the snapshots taken since;
// those of the last segments change hands.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "storage/table/table_partition.h"
#include "tests/unit/storage/storage_fixture.h"
#include "tests/unit/table/table_rows.h"

namespace eris::storage {
namespace {

Schema HeapSchema() {
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
    std::vector<uint32_t> nulls(view.columns.size());
    for (uint32_t row = 0; row < view.rows; ++row) {
      if (view.kept != nullptr) {
        mask.Make(row);
        if ((view.kept[row / 64] >> row % 64 & 1) == 0) continue;
      }
      rows.push_back(ReadRow(view, row));
      for (size_t c = 0; c < nulls.size(); ++c) nulls[c] += !rows.back()[c];
    }
    if (view.rows != view.ever || view.kept != nullptr) continue;
    for (size_t c = 0; c < nulls.size(); ++c) EXPECT_EQ(view.columns[c].nulls, nulls[c]);
  }
  return rows;
}

// Their first column, ascending.
std::vector<int64_t> NumbersOf(const std::vector<const TablePartition*>& parts, uint64_t snapshot) {
  std::vector<int64_t> numbers;
  SegmentMask mask;
  EXPECT_TRUE(mask.Allocate());
  SegmentView view;
  for (const TablePartition* part : parts) {
    for (uint64_t number = 0; part->FindSegment(snapshot, number, mask, view); ++number) {
      for (uint32_t row = 0; row < view.rows; ++row) {
        if (view.kept != nullptr) {
          mask.Make(row);
          if ((view.kept[row / 64] >> row % 64 & 1) == 0) continue;
        }
        numbers.push_back(static_cast<const int64_t*>(view.columns[0].values)[row]);
      }
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

struct Heap {
  Heap() : layout(*TableLayout::Create(HeapSchema())) {
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

using End = Partition::End;

// Rows go from one to the other and back, with appends to both while they are under way.
TEST(TableHeapTest, RowsOfTheLastSegmentsChangeHands) {
  SCOPED_TRACE(SeedText());
  Heap heap;
  TreeMemory elsewhere;
  auto other = *TablePartition::Create(Range{Key::FromU64(9), Key::FromU64(10)}, elsewhere.cache,
                                       heap.layout);
  heap.partition->SetSnapshots(&heap.view);
  other->SetSnapshots(&heap.view);
  std::vector<Row> all;  // by their numbers, so that a snapshot saw the first ones
  std::vector<std::pair<uint64_t, size_t>> held;
  // That nothing but the first `count` rows is seen, each once.
  const auto seen = [&](uint64_t snapshot, size_t count) {
    const auto numbers = NumbersOf({heap.partition.get(), other.get()}, snapshot);
    if (numbers.size() != count) return false;
    for (size_t i = 0; i < count; ++i) {
      if (numbers[i] != static_cast<int64_t>(i)) return false;
    }
    return true;
  };
  const auto append = [&](TablePartition& part, size_t count) {
    const std::vector<Row> rows = heap.Make(count);
    const RowColumns columns(*heap.layout, rows);
    ASSERT_TRUE(part.Append(columns.batch(), 0, static_cast<uint32_t>(count), heap.view));
    all.insert(all.end(), rows.begin(), rows.end());
  };
  const auto take_snapshot = [&] {
    held.emplace_back(heap.view.epoch, all.size());
    heap.view.active.push_back(heap.view.epoch++);
  };
  for (int i = 0; i < 20; ++i) append(*heap.partition, 4096);
  for (int step = 0; step < 60; ++step) {
    TablePartition& from = step % 12 < 8 ? *heap.partition : *other;
    TablePartition& to = step % 12 < 8 ? *other : *heap.partition;
    if (step % 5 == 0) take_snapshot();
    const uint64_t size = from.size();
    const auto rows_max = static_cast<uint32_t>(1 + heap.random() % 12'000);
    ExchangeChunk chunk;
    ASSERT_TRUE(
        from.Lend(from.range(), step % 2 == 0 ? End::kLow : End::kHigh, rows_max, chunk).ok());
    EXPECT_EQ(chunk.rows.count, std::min<uint64_t>(rows_max, size));
    EXPECT_EQ(from.size(), size - chunk.rows.count);
    EXPECT_TRUE(chunk.covers.Empty());
    EXPECT_FALSE(from.range().Empty());
    append(from, 1 + heap.random() % 300);
    append(to, 1 + heap.random() % 300);
    for (const auto& [epoch, count] : held) ASSERT_TRUE(seen(epoch, count));
    if (step % 7 == 3) {
      from.TakeBack();
    } else {
      ASSERT_TRUE(to.Ingest(chunk).ok());
      for (const auto& [epoch, count] : held) ASSERT_TRUE(seen(epoch, count));
      append(from, 1 + heap.random() % 300);
      from.Forget(heap.view, 1);
    }
    ASSERT_TRUE(seen(0, all.size()));
    EXPECT_EQ(from.size() + to.size(), all.size());
    for (const auto& [epoch, count] : held) ASSERT_TRUE(seen(epoch, count));
    if (held.size() > 3) {
      const size_t i = heap.random() % held.size();
      held.erase(held.begin() + static_cast<ptrdiff_t>(i));
      heap.view.active.erase(heap.view.active.begin() + static_cast<ptrdiff_t>(i));
    }
    for (auto* const part : {&from, &to}) {
      part->FreeVersions(heap.view, 1000);
      part->Maintain(heap.view, 1000);
    }
  }
  // Everything leaves, and its memory with it.
  heap.view.active.clear();
  while (heap.partition->size() > 0) {
    ExchangeChunk chunk;
    ASSERT_TRUE(heap.partition->Lend(heap.partition->range(), End::kLow, 20'000, chunk).ok());
    ASSERT_TRUE(other->Ingest(chunk).ok());
    heap.partition->Forget(heap.view, 1);
  }
  const uint64_t before = heap.memory.cache.used_bytes();
  while (heap.partition->FreeVersions(heap.view, 1000)) {
  }
  while (heap.partition->Maintain(heap.view, 1000)) {
  }
  EXPECT_EQ(heap.partition->version_bytes(), 0u);
  EXPECT_LE(heap.memory.cache.used_bytes(), before);
  std::vector<Row> rows = RowsOf(*other, 0);
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return ValueOf<int64_t>(a[0]) < ValueOf<int64_t>(b[0]);
  });
  EXPECT_EQ(rows, all);
  EXPECT_EQ(other->size(), all.size());
  ExchangeChunk none;
  ASSERT_TRUE(heap.partition->Lend(heap.partition->range(), End::kLow, 10, none).ok());
  EXPECT_EQ(none.rows.count, 0u);
  heap.partition->Forget(heap.view, 1);
  heap.partition.reset();
  EXPECT_EQ(heap.memory.cache.used_bytes(), 0u);
}

TEST(TableHeapTest, RefusedLoansAndChunksChangeNothing) {
  SCOPED_TRACE(SeedText());
  Heap heap;
  TreeMemory elsewhere;
  auto other = *TablePartition::Create(Range{Key::FromU64(9), Key::FromU64(10)}, elsewhere.cache,
                                       heap.layout);
  const std::vector<Row> rows = heap.Make(4000);
  const RowColumns columns(*heap.layout, rows);
  ASSERT_TRUE(heap.partition->Append(columns.batch(), 0, 4000, heap.view));
  ExchangeChunk chunk;
  const auto lend = [&] {
    return heap.partition->Lend(heap.partition->range(), End::kLow, 3000, chunk);
  };
  heap.memory.cache.ArmFailures(1, memory::FailurePoint::Mode::kOnce);
  EXPECT_EQ(lend().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(heap.partition->size(), 4000u);
  ASSERT_TRUE(lend().ok());
  EXPECT_EQ(heap.partition->Ingest(chunk).code(), absl::StatusCode::kFailedPrecondition);
  for (uint64_t nth = 1;; ++nth) {
    elsewhere.cache.ArmFailures(nth, memory::FailurePoint::Mode::kOnce);
    const absl::Status status = other->Ingest(chunk);
    elsewhere.cache.ArmFailures(0, memory::FailurePoint::Mode::kOnce);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    ASSERT_EQ(other->size(), 0u);
    ASSERT_TRUE(RowsOf(*other, 0).empty());
  }
  heap.memory.cache.ArmFailures(1, memory::FailurePoint::Mode::kFromThen);
  heap.partition->Forget(heap.view, 1);
  heap.memory.cache.ArmFailures(0, memory::FailurePoint::Mode::kOnce);
  EXPECT_EQ(RowsOf(*heap.partition, 0), std::vector<Row>(rows.begin(), rows.begin() + 1000));
  EXPECT_EQ(RowsOf(*other, 0), std::vector<Row>(rows.begin() + 1000, rows.end()));
}

}  // namespace
}  // namespace eris::storage
