// Memory that runs out at each allocation in turn: what is refused has changed nothing, and goes
// through once there is memory.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/table/table_world.h"

namespace eris::storage {
namespace {

using memory::FailurePoint;

// Calls `work`, which says whether something was refused, with the first allocation failing, then
// with the second, and so on until nothing is refused.
void FailEach(TableWorld& world, const std::function<bool()>& work,
              const std::function<std::string()>& differences) {
  for (uint64_t nth = 1;; ++nth) {
    ASSERT_LT(nth, 2000u);
    world.memory.cache.ArmFailures(nth, FailurePoint::Mode::kOnce);
    const bool refused = work();
    world.memory.cache.ArmFailures(0, FailurePoint::Mode::kOnce);
    ASSERT_EQ(differences(), "") << "allocation " << nth;
    if (!refused) return;
  }
}
void FailEach(TableWorld& world, const std::function<bool()>& work) {
  FailEach(world, work, [&] { return world.Differences(); });
}

Schema MemorySchema(bool two_words) {
  return AllTypes(two_words ? std::vector{ColumnType::kUint64, ColumnType::kInt32}
                            : std::vector{ColumnType::kInt32});
}

class TableMemoryTest : public testing::TestWithParam<bool> {};

TEST_P(TableMemoryTest, RefusedWritesChangeNothing) {
  SCOPED_TRACE(SeedText());
  TableWorld world(MemorySchema(GetParam()), Seed());
  for (int round = 0; round < 4; ++round) {
    const std::vector<Row> rows = world.RandomRows(700, 60);
    FailEach(world, [&] { return world.Put(rows) > 0; });
    world.TakeSnapshot();
    const std::vector<Row> erased = world.RandomRows(300, 60);
    FailEach(world, [&] { return world.Erase(erased) > 0; });
  }
}

TEST_P(TableMemoryTest, AnEraseAlwaysWorksAndLosesTheSnapshotsItHasNoMemoryFor) {
  SCOPED_TRACE(SeedText());
  for (const bool fails : {false, true}) {
    TableWorld world(MemorySchema(GetParam()), Seed());
    for (int round = 0; round < 4; ++round) EXPECT_EQ(world.Put(world.RandomRows(700, 60)), 0u);
    world.TakeSnapshot();
    const uint64_t held = world.held[0].epoch;
    const size_t before = world.model.size();
    if (fails) world.memory.cache.ArmFailures(1, FailurePoint::Mode::kFromThen);
    EXPECT_EQ(world.Erase(world.RandomRows(700, 60)), 0u);
    world.memory.cache.ArmFailures(0, FailurePoint::Mode::kOnce);
    EXPECT_LT(world.model.size(), before);
    EXPECT_EQ(world.Differences(), "");
    EXPECT_EQ(world.partition->Lost(held), fails);
    EXPECT_FALSE(world.partition->Lost(0));
    // A later one can be read.
    world.TakeSnapshot();
    EXPECT_FALSE(world.partition->Lost(world.held[1].epoch));
    world.Erase(world.RandomRows(100, 60));
    EXPECT_EQ(world.Differences(), "");
  }
}

TEST(TableVersionBytesTest, OldStringsCountWithTheirBytes) {
  Schema schema{.columns = {{.name = "k", .type = ColumnType::kInt64},
                            {.name = "s", .type = ColumnType::kString}},
                .key = {0}};
  TableWorld world(schema, 1);
  // Different ones, so that there is no dictionary.
  const auto rows_of = [](int64_t first, int64_t last, size_t bytes) {
    std::vector<Row> rows;
    for (int64_t i = first; i < last; ++i) {
      std::string text = std::to_string(i);
      text.resize(bytes, 'x');
      rows.push_back({CellOf(i), text});
    }
    return rows;
  };
  EXPECT_EQ(world.Put(rows_of(0, 3'000, 1'000)), 0u);
  world.TakeSnapshot();
  EXPECT_EQ(world.partition->version_bytes(), 0u);
  EXPECT_EQ(world.Erase(rows_of(0, 100, 1'000)), 0u);
  EXPECT_GT(world.partition->version_bytes(), 100u * 1'000);
  EXPECT_LT(world.partition->version_bytes(), 100u * 1'100);
  world.Put(rows_of(100, 200, 10));
  EXPECT_GT(world.partition->version_bytes(), 200u * 1'000);
  // Rows that go elsewhere are kept here.
  ExchangeChunk chunk;
  world.BeginTurn();
  ASSERT_TRUE(
      world.partition->Lend(world.partition->range(), Partition::End::kHigh, 50, chunk).ok());
  EXPECT_LT(world.partition->version_bytes(), 220u * 1'000);
  world.partition->Forget(world.view, 50);
  EXPECT_GT(world.partition->version_bytes(), 250u * 1'000);
  world.ReleaseSnapshot(0);
  world.BeginTurn();
  while (world.partition->FreeVersions(world.view, 100)) {
  }
  EXPECT_EQ(world.partition->version_bytes(), 0u);
}

// A partition whose rows have all gone is many segments still, which are not freed in one turn.
TEST(TableEndTest, APartitionGoesWhenItsDeadSegmentsHaveBeenFreedOneByOne) {
  constexpr size_t kStringBytes = 60'000;
  Schema schema{.columns = {{.name = "k", .type = ColumnType::kInt64},
                            {.name = "s", .type = ColumnType::kString}},
                .key = {0}};
  TableWorld world(schema, 1);
  std::vector<Row> rows;
  for (int64_t i = 0; i < 250; ++i) {
    std::string text = std::to_string(i);
    text.resize(kStringBytes, 'x');
    rows.push_back({CellOf(i), text});
  }
  EXPECT_EQ(world.Put(rows), 0u);
  auto target = *TablePartition::Create(Range{Key{}, Key{}}, world.memory.cache, world.layout);
  target->SetSnapshots(&world.view);
  world.BeginTurn();
  ExchangeChunk chunk;
  ASSERT_TRUE(
      world.partition->Lend(world.partition->range(), Partition::End::kLow, 1'000, chunk).ok());
  ASSERT_TRUE(target->Ingest(chunk).ok());
  const uint64_t segments = target->segment_end() - 1;
  EXPECT_GE(segments, 10u);  // of a turn's worth each
  ExchangeChunk back;
  ASSERT_TRUE(target->Lend(target->range(), Partition::End::kLow, 1'000, back).ok());
  target->Forget(world.view, 1'000);
  EXPECT_EQ(target->size(), 0u);
  EXPECT_FALSE(target->CanGo(world.view));
  uint64_t calls = 1;
  for (uint64_t before = world.memory.cache.used_bytes(); target->Maintain(world.view, 1);
       ++calls) {
    EXPECT_LE(before - world.memory.cache.used_bytes(), 2u << 20);  // one segment
    before = world.memory.cache.used_bytes();
  }
  EXPECT_GE(calls, segments - 1);
  EXPECT_TRUE(target->CanGo(world.view));
}

// The segment that compaction begins has no more memory than a turn can ask for, however many rows
// the table has.
TEST(TableCompactionTest, APieceTakesALittleMemoryHoweverLargeTheTable) {
  constexpr int64_t kRows = 20'000;
  Schema schema{.columns = {{.name = "k", .type = ColumnType::kInt64}}, .key = {0}};
  for (int i = 1; i < 30; ++i) {
    schema.columns.push_back({.name = "c" + std::to_string(i), .type = ColumnType::kInt64});
  }
  TableWorld world(schema, 1);
  std::vector<Row> erased;
  for (int64_t from = 0; from < kRows; from += 1'000) {
    std::vector<Row> rows;
    for (int64_t i = from; i < from + 1'000; ++i) {
      rows.emplace_back(30, CellOf(i));
      if (i % 3 != 0) erased.push_back(rows.back());
    }
    ASSERT_EQ(world.Put(rows), 0u);
  }
  ASSERT_EQ(world.Erase(erased), 0u);
  world.BeginTurn();
  constexpr uint64_t kTableBytes = kRows * 30 * sizeof(int64_t);
  constexpr uint64_t kPieceBytes = 1'750'000;  // a segment of 1.5 MiB, by size classes
  static_assert(kPieceBytes * 2 < kTableBytes);
  const uint64_t first = world.partition->segment_end();
  uint64_t before = world.memory.cache.used_bytes();
  for (bool more = true; more;) {
    more = world.partition->Maintain(world.view, 64);
    EXPECT_LE(world.memory.cache.used_bytes(), before + kPieceBytes);
    before = world.memory.cache.used_bytes();
  }
  EXPECT_GT(world.partition->segment_end(), first + 1);
  EXPECT_LT(before, kTableBytes);
  EXPECT_EQ(world.Differences(), "");
}

TEST_P(TableMemoryTest, RefusedBackgroundWorkChangesNothing) {
  SCOPED_TRACE(SeedText());
  TableWorld world(MemorySchema(GetParam()), Seed());
  for (int round = 0; round < 30; ++round) world.Put(world.RandomRows(700, 12));
  world.TakeSnapshot();
  uint64_t before = 0;
  const auto maintain = [&] {
    world.BeginTurn();
    const uint64_t end = world.partition->segment_end();
    while (world.partition->Maintain(world.view, 100)) {
    }
    // It says nothing; it has begun a segment once it was not refused.
    const bool refused = world.partition->segment_end() == end;
    before = end;
    return refused;
  };
  FailEach(world, maintain);
  EXPECT_LT(before, world.partition->segment_end());
}

void RefuseTransfers(bool two_words, Partition::End end) {
  TableWorld world(MemorySchema(two_words), Seed());
  for (int round = 0; round < 6; ++round) {
    world.Put(world.RandomRows(700, 60));
    if (round == 4) world.TakeSnapshot();
  }
  TreeMemory elsewhere;
  auto target = *TablePartition::Create(Range{Key{}, Key{}}, elsewhere.cache, world.layout);
  target->SetSnapshots(&world.view);
  const auto differences = [&] { return world.Differences({world.partition.get(), target.get()}); };
  const auto rows = static_cast<uint32_t>(world.partition->size() / 4);
  uint64_t refusals = 0;
  for (int chunks = 0; chunks < 3; ++chunks) {
    world.BeginTurn();
    ExchangeChunk chunk;
    const Range before = world.partition->range();
    // Lending takes nothing of the cache, nor does forgetting that must not be refused.
    world.memory.cache.ArmFailures(1, FailurePoint::Mode::kFromThen);
    ASSERT_TRUE(world.partition->Lend(before, end, rows, chunk).ok());
    world.partition->TakeBack();
    ASSERT_TRUE(world.partition->Lend(before, end, rows, chunk).ok());
    world.memory.cache.ArmFailures(0, FailurePoint::Mode::kOnce);
    for (uint64_t nth = 1;; ++nth) {
      const Range range = target->range();
      const uint64_t size = target->size();
      elsewhere.cache.ArmFailures(nth, FailurePoint::Mode::kOnce);
      const absl::Status status = target->Ingest(chunk);
      elsewhere.cache.ArmFailures(0, FailurePoint::Mode::kOnce);
      if (status.ok()) break;
      ++refusals;
      ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
      ASSERT_EQ(target->range(), range);
      ASSERT_EQ(target->size(), size);
      ASSERT_EQ(differences(), "") << "allocation " << nth;
      // Taken back, and lent again: the same rows.
      const std::vector<uint64_t> keys = chunk.keys;
      world.partition->TakeBack();
      ASSERT_EQ(world.partition->range(), before);
      ASSERT_EQ(differences(), "");
      ASSERT_TRUE(world.partition->Lend(before, end, rows, chunk).ok());
      ASSERT_EQ(chunk.keys, keys);
    }
    world.partition->Forget(world.view, 1);
    ASSERT_EQ(differences(), "");
    world.TakeSnapshot();
  }
  EXPECT_GT(refusals, 0u);
}

TEST_P(TableMemoryTest, RefusedTransfersChangeNothing) {
  SCOPED_TRACE(SeedText());
  RefuseTransfers(GetParam(), Partition::End::kLow);
  RefuseTransfers(GetParam(), Partition::End::kHigh);
}

INSTANTIATE_TEST_SUITE_P(Keys, TableMemoryTest, testing::Bool());

TEST(TableMemoryTest, AtTheLimitReadsAndErasesGoOn) {
  TableWorld world(MemorySchema(true), 3, /*limit_bytes=*/16u << 20);
  while (world.Put(world.RandomRows(700, 4000)) == 0) {
  }
  EXPECT_EQ(world.Differences(), "");
  world.Lookup(world.RandomRows(300, 4000));
  EXPECT_EQ(world.Erase(world.RandomRows(300, 4000)), 0u);
  EXPECT_EQ(world.Differences(), "");
}

}  // namespace
}  // namespace eris::storage
