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

TableSchema Schema(bool two_words) {
  return AllTypes(two_words ? std::vector{ColumnType::kUint64, ColumnType::kInt32}
                            : std::vector{ColumnType::kInt32});
}

class TableMemoryTest : public testing::TestWithParam<bool> {};

TEST_P(TableMemoryTest, RefusedWritesChangeNothing) {
  SCOPED_TRACE(SeedText());
  TableWorld world(Schema(GetParam()), Seed());
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
    TableWorld world(Schema(GetParam()), Seed());
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
    // A later one can be read; the loss goes where the rows go.
    world.TakeSnapshot();
    EXPECT_FALSE(world.partition->Lost(world.held[1].epoch));
    world.Erase(world.RandomRows(100, 60));
    EXPECT_EQ(world.Differences(), "");
    auto target = *TablePartition::Create(Range{Key{}, Key{}}, world.memory.cache, world.layout);
    ExchangeChunk chunk;
    world.BeginTurn();
    ASSERT_TRUE(world.partition->Extract(10, chunk).ok());
    ASSERT_TRUE(target->Ingest(chunk).ok());
    EXPECT_EQ(target->Lost(held), fails);
  }
}

TEST(TableVersionBytesTest, OldStringsCountWithTheirBytes) {
  TableSchema schema{.columns = {{.name = "k", .type = ColumnType::kInt64},
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
  ExchangeChunk chunk;
  world.BeginTurn();
  ASSERT_TRUE(world.partition->Extract(50, chunk).ok());
  EXPECT_LT(world.partition->version_bytes(), 200u * 1'000);
  world.ReleaseSnapshot(0);
  world.BeginTurn();
  while (world.partition->FreeVersions(world.view, 100)) {
  }
  EXPECT_EQ(world.partition->version_bytes(), 0u);
}

TEST_P(TableMemoryTest, RefusedBackgroundWorkChangesNothing) {
  SCOPED_TRACE(SeedText());
  TableWorld world(Schema(GetParam()), Seed());
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

TEST_P(TableMemoryTest, RefusedTransfersChangeNothing) {
  SCOPED_TRACE(SeedText());
  TableWorld world(Schema(GetParam()), Seed());
  for (int round = 0; round < 6; ++round) {
    world.Put(world.RandomRows(700, 60));
    if (round == 4) world.TakeSnapshot();
  }
  auto middle = world.model.begin();
  std::advance(middle, world.model.size() / 2);
  const Key cut = Key::FromU64(middle->first.head);

  // As copies.
  auto target = *TablePartition::Create(Range{Key{}, Key{}}, world.memory.cache, world.layout);
  target->SetSnapshots(&world.view);
  ExchangeChunk chunk;
  world.BeginTurn();
  FailEach(
      world, [&] { return !world.partition->Extract(200, chunk).ok(); }, [] { return ""; });
  const auto is_empty = [&] { return target->size() == 0 ? "" : "rows that were refused"; };
  for (uint64_t nth = 1;; ++nth) {
    world.memory.cache.ArmFailures(nth, FailurePoint::Mode::kOnce);
    const absl::Status status = target->Ingest(chunk);
    world.memory.cache.ArmFailures(0, FailurePoint::Mode::kOnce);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    ASSERT_STREQ(is_empty(), "");
    SegmentMask mask;
    ASSERT_TRUE(mask.Allocate());
    uint64_t number = 0;
    SegmentView segment;
    ASSERT_FALSE(target->FindSegment(0, number, mask, segment));
  }
  // Their cache is the same: back as a link.
  FailEach(
      world, [&] { return !world.partition->Absorb(*target).ok(); }, [] { return ""; });
  ASSERT_EQ(world.Differences(), "");

  // As links.
  while (!world.held.empty()) world.ReleaseSnapshot(0);
  world.BeginTurn();
  while (world.partition->FreeVersions(world.view, 100)) {
  }
  std::unique_ptr<Partition> upper;
  FailEach(
      world,
      [&] {
        auto split = world.partition->SplitAt(cut);
        if (split.ok()) upper = *std::move(split);
        return upper == nullptr;
      },
      [&] { return upper == nullptr ? world.Differences() : ""; });
  FailEach(
      world, [&] { return !world.partition->Absorb(*upper).ok(); }, [] { return ""; });
  ASSERT_EQ(world.Differences(), "");
  ASSERT_TRUE(world.partition->PrepareExtract(Range{Key{}, cut}).ok());
  FailEach(world, [&] { return !world.partition->WalkLeaving(1u << 20).ok(); });
  EXPECT_TRUE(world.partition->SplitAt(cut).ok());
}

INSTANTIATE_TEST_SUITE_P(Keys, TableMemoryTest, testing::Bool());

TEST(TableMemoryTest, AtTheLimitReadsAndErasesGoOn) {
  TableWorld world(Schema(true), 3, /*limit_bytes=*/16u << 20);
  while (world.Put(world.RandomRows(700, 4000)) == 0) {
  }
  EXPECT_EQ(world.Differences(), "");
  world.Lookup(world.RandomRows(300, 4000));
  EXPECT_EQ(world.Erase(world.RandomRows(300, 4000)), 0u);
  EXPECT_EQ(world.Differences(), "");
}

}  // namespace
}  // namespace eris::storage
