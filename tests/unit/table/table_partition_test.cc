// A partition of a clustered table against a map: keys of one and of two words, batches around the
// sizes of pieces and segments, snapshots taken and released at any time, scans under way, and
// compaction between any two steps.
#include "storage/table/table_partition.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/table/table_world.h"

namespace eris::storage {
namespace {

using KeyTypes = std::vector<ColumnType>;

class TablePartitionTest : public testing::TestWithParam<KeyTypes> {};

// One step of the random walk.
void Step(TableWorld& world) {
  constexpr size_t kSizes[] = {1, 2, 3, 63, 64, 65, 255, 256, 257, 700};
  Random& random = world.random;
  constexpr uint64_t kValues[] = {0, 400, 20, 7, 4};  // of each key column: keys come again
  const uint64_t keys = kValues[world.layout->schema().key.size()];
  const size_t size = kSizes[random() % std::size(kSizes)];
  switch (random() % 12) {
    case 0:
    case 1:
    case 2:
    case 3:
      EXPECT_EQ(world.Put(world.RandomRows(size, keys)), 0u);
      break;
    case 4:
      EXPECT_EQ(world.Erase(world.RandomRows(size / 2 + 1, keys)), 0u);
      break;
    case 5:
      world.Lookup(world.RandomRows(size, keys), random() % 8 != 0);
      break;
    case 6:
      if (world.held.size() < 4) world.TakeSnapshot();
      break;
    case 7:
      if (!world.held.empty()) world.ReleaseSnapshot(random() % world.held.size());
      break;
    case 8:
      if (!world.held.empty()) {
        world.scans.push_back({world.held[random() % world.held.size()].epoch});
      }
      break;
    case 9:
      for (size_t i = 0; i < world.scans.size();) {
        TableWorld::Scan& scan = world.scans[i];
        if (!world.Advance(scan, 1 + random() % 500)) {
          ++i;
          continue;
        }
        for (const TableWorld::Held& held : world.held) {
          if (held.epoch != scan.epoch) continue;
          EXPECT_EQ(world.Difference(scan, held.rows), "");
        }
        world.scans.erase(world.scans.begin() + static_cast<ptrdiff_t>(i));
      }
      break;
    case 10:
      world.BeginTurn();
      world.partition->FreeVersions(world.view, 1 + random() % 300);
      break;
    case 11:
      EXPECT_EQ(world.Differences(), "");
      break;
  }
  world.BeginTurn();
  if (random() % 2 == 0) world.partition->Maintain(world.view, 1 + random() % 600);
}

TEST_P(TablePartitionTest, IsAMapAtEachSnapshot) {
  SCOPED_TRACE(SeedText());
  TableWorld world(AllTypes(GetParam()), Seed());
  for (int i = 0; i < 600 && !testing::Test::HasFailure(); ++i) Step(world);
  EXPECT_EQ(world.Differences(), "");
  EXPECT_GT(world.partition->segment_end(), 4u);  // there was something to compact
  // Without snapshots nothing is kept for any.
  while (!world.held.empty()) world.ReleaseSnapshot(0);
  world.BeginTurn();
  while (world.partition->FreeVersions(world.view, 100)) {
  }
  EXPECT_EQ(world.partition->version_bytes(), 0u);
  EXPECT_EQ(world.Differences(), "");
  world.partition.reset();
  EXPECT_EQ(world.memory.cache.used_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, TablePartitionTest,
    testing::Values(KeyTypes{ColumnType::kInt32}, KeyTypes{ColumnType::kInt64},
                    KeyTypes{ColumnType::kFloat64}, KeyTypes{ColumnType::kDate, ColumnType::kInt32},
                    KeyTypes{ColumnType::kUint64, ColumnType::kInt32},
                    KeyTypes{ColumnType::kInt32, ColumnType::kDecimal, ColumnType::kDate}));

TEST(TablePartitionTest, SegmentsFillToTheirLastRow) {
  Schema schema{.columns = {{.name = "k", .type = ColumnType::kInt64}}, .key = {0}};
  TableWorld world(schema, 1);
  int64_t next = 0;
  for (const size_t size : {63, 1, 1, 1982, 1, 1, 63486, 1, 1, 65536, 131073}) {
    std::vector<Row> rows;
    for (size_t i = 0; i < size; ++i) rows.push_back({CellOf(next++)});
    EXPECT_EQ(world.Put(rows), 0u);
    EXPECT_EQ(world.Differences(), "");
  }
  std::vector<uint32_t> sizes;
  SegmentMask mask;
  EXPECT_TRUE(mask.Allocate());
  SegmentView view;
  for (uint64_t number = 0; world.partition->FindSegment(0, number, mask, view); ++number) {
    sizes.push_back(view.rows);
    EXPECT_EQ(view.kept, nullptr);
  }
  EXPECT_EQ(sizes, (std::vector<uint32_t>{65536, 65536, 65536, 65536, 2}));
}

TEST(TablePartitionTest, AMaskIsMadeBlockByBlockAndKeptWhileItsSnapshotIsHeld) {
  Schema schema{.columns = {{.name = "k", .type = ColumnType::kInt64}}, .key = {0}};
  TableWorld world(schema, 1);
  const auto rows_of = [](int64_t first, int64_t last, int64_t step) {
    std::vector<Row> rows;
    for (int64_t i = first; i < last; i += step) rows.push_back({CellOf(i)});
    return rows;
  };
  EXPECT_EQ(world.Put(rows_of(0, 10'000, 1)), 0u);
  world.TakeSnapshot();
  const uint64_t snapshot = world.held[0].epoch;
  world.TakeSnapshot();
  EXPECT_EQ(world.Erase(rows_of(0, 10'000, 3)), 0u);
  SegmentMask mask;
  ASSERT_TRUE(mask.Allocate());
  SegmentView view;
  uint64_t number = 0;
  const auto find = [&](uint64_t at) {
    number = 0;
    ASSERT_TRUE(world.partition->FindSegment(at, number, mask, view));
    ASSERT_EQ(view.kept, mask.words());
  };
  const auto seen = [&] {
    uint32_t count = 0;
    for (uint32_t row = 0; row < view.rows; ++row) {
      mask.Make(row);
      count += view.kept[row / 64] >> row % 64 & 1;
    }
    return count;
  };
  find(snapshot);
  mask.Make(kBlockRows);
  EXPECT_EQ(mask.made(), 2u);
  // Deaths and births after the snapshot change nothing of it.
  EXPECT_EQ(world.Erase(rows_of(1, 10'000, 3)), 0u);
  EXPECT_EQ(world.Put(rows_of(20'000, 25'000, 1)), 0u);
  find(snapshot);
  EXPECT_EQ(mask.made(), 2u);
  EXPECT_EQ(seen(), 10'000u);
  EXPECT_EQ(mask.made(), 31u);
  find(snapshot);
  EXPECT_EQ(mask.made(), 31u);
  // Another snapshot, and what is there now.
  find(world.held[1].epoch);
  EXPECT_EQ(mask.made(), 0u);
  find(0);
  EXPECT_EQ(seen(), 10'000u / 3 + 5'000);
  find(0);
  EXPECT_EQ(mask.made(), 0u);
  // Rows that go elsewhere are old ones here.
  ExchangeChunk chunk;
  world.BeginTurn();
  ASSERT_TRUE(
      world.partition->Lend(world.partition->range(), Partition::End::kLow, 1'000, chunk).ok());
  world.partition->Forget(world.view, 1'000);
  find(snapshot);
  EXPECT_EQ(mask.made(), 0u);
  EXPECT_EQ(seen(), 10'000u);
}

}  // namespace
}  // namespace eris::storage
