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
  TableSchema schema{.columns = {{.name = "k", .type = ColumnType::kInt64}}, .key = {0}};
  TableWorld world(schema, 1);
  int64_t next = 0;
  for (const size_t size : {63, 1, 1, 1982, 1, 1, 63486, 1, 1, 65536, 131073}) {
    std::vector<Row> rows;
    for (size_t i = 0; i < size; ++i) rows.push_back({CellOf(next++)});
    EXPECT_EQ(world.Put(rows), 0u);
    EXPECT_EQ(world.Differences(), "");
  }
  std::vector<uint32_t> sizes;
  std::vector<uint64_t> mask(kSegmentRows / 64);
  SegmentView view;
  for (uint64_t number = 0; world.partition->FindSegment(0, number, mask.data(), view); ++number) {
    sizes.push_back(view.rows);
    EXPECT_EQ(view.kept, nullptr);
  }
  EXPECT_EQ(sizes, (std::vector<uint32_t>{65536, 65536, 65536, 65536, 2}));
}

}  // namespace
}  // namespace eris::storage
