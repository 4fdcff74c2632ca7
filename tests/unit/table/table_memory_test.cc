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
