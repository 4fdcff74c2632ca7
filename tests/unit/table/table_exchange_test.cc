// Ranges of a clustered table that change hands, as links and as copies, with snapshots held that
// see rows which have been replaced or erased since: both partitions together are the model, at
// every snapshot, and no row is in both.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/table/table_world.h"

namespace eris::storage {
namespace {

using KeyTypes = std::vector<ColumnType>;

// What is wrong with two partitions as one table; empty: nothing.
std::string Differences(TableWorld& world, TablePartition& other) {
  const auto both = [&](uint64_t snapshot, const TableModel& rows) {
    TableWorld::Scan scan{snapshot};
    while (!world.Advance(*world.partition, scan, 1u << 30)) {
    }
    for (const auto& [key, row] : scan.seen) {
      if (snapshot == 0 && !world.partition->range().ContainsU64(key.head))
        return std::string("a foreign row");
    }
    scan.number = 0;
    scan.row = 0;
    while (!world.Advance(other, scan, 1u << 30)) {
    }
    return world.Difference(scan, rows);
  };
  if (world.partition->size() + other.size() != world.model.size()) return "the size is wrong";
  std::string wrong = both(0, world.model);
  for (size_t i = 0; i < world.held.size() && wrong.empty(); ++i) {
    wrong = both(world.held[i].epoch, world.held[i].rows);
  }
  return wrong;
}

uint64_t SomeHead(TableWorld& world) {
  auto at = world.model.begin();
  std::advance(at, world.random() % world.model.size());
  return at->first.head;
}

void Fill(TableWorld& world, bool snapshots) {
  for (int i = 0; i < 6; ++i) {
    world.Put(world.RandomRows(400, 60));
    world.Erase(world.RandomRows(100, 60));
    if (snapshots && world.held.size() < 3) world.TakeSnapshot();
    if (i == 3 && snapshots) world.ReleaseSnapshot(0);
  }
}

class TableExchangeTest : public testing::TestWithParam<KeyTypes> {};

TEST_P(TableExchangeTest, LinksOfUnpreparedRangesLoseNothing) {
  SCOPED_TRACE(SeedText());
  TableWorld world(AllTypes(GetParam()), Seed());
  for (int i = 0; i < 12; ++i) {
    Fill(world, false);
    world.BeginTurn();
    while (world.partition->Maintain(world.view, 500)) {
    }
    auto upper = world.partition->SplitAt(Key::FromU64(SomeHead(world)));
    if (!upper.ok()) {  // the lowest key
      EXPECT_EQ(upper.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    auto& table = static_cast<TablePartition&>(**upper);
    ASSERT_EQ(Differences(world, table), "");
    if (world.random() % 2 == 0) {
      ASSERT_TRUE(world.partition->Absorb(table).ok());
    } else {
      ASSERT_TRUE(table.Absorb(*world.partition).ok());
      world.partition.reset(static_cast<TablePartition*>(upper->release()));
    }
    ASSERT_EQ(world.Differences(), "");
    world.Lookup(world.RandomRows(300, 60));
  }
}

TEST_P(TableExchangeTest, PreparedRangesAreLinkedOnceNoSnapshotNeedsThem) {
  SCOPED_TRACE(SeedText());
  TableWorld world(AllTypes(GetParam()), Seed());
  for (int i = 0; i < 6; ++i) {
    Fill(world, true);
    const Key cut = Key::FromU64(SomeHead(world));
    const bool low = world.random() % 2 == 0;
    const Range leaving = low ? Range{Key{}, cut} : Range{cut, std::nullopt};
    if (leaving.Empty()) continue;
    world.BeginTurn();
    const size_t rows = world.model.size();
    ASSERT_TRUE(world.partition->PrepareExtract(leaving).ok());
    for (int turns = 0;; ++turns) {
      ASSERT_LT(turns, 10'000);
      world.BeginTurn();
      const auto done =
          world.partition->WalkLeaving(1 + static_cast<uint32_t>(world.random() % 200));
      ASSERT_TRUE(done.ok());
      if (*done) break;
      if (turns % 4 == 0) world.Put(world.RandomRows(30, 60));
      if (turns % 8 == 0) world.Erase(world.RandomRows(10, 60));
      if (turns % 16 == 0) {
        ASSERT_EQ(world.Differences(), "");
      }
    }
    ASSERT_EQ(world.Differences(), "");
    world.Put(world.RandomRows(100, 60));
    world.BeginTurn();
    auto upper = world.partition->SplitAt(cut);
    if (!upper.ok() && cut != Key{}) {
      EXPECT_EQ(upper.status().code(), absl::StatusCode::kFailedPrecondition) << rows;
      while (!world.held.empty()) world.ReleaseSnapshot(0);
      world.BeginTurn();
      while (world.partition->FreeVersions(world.view, 100)) {
      }
      // Some segments' bounds are tightened at a time.
      for (int turns = 0; turns < 100 && !upper.ok(); ++turns) {
        upper = world.partition->SplitAt(cut);
      }
    }
    if (cut == Key{}) {  // all of it is prepared
      ASSERT_TRUE(*world.partition->CancelExtract(1));
      continue;
    }
    ASSERT_TRUE(upper.ok()) << upper.status();
    auto& table = static_cast<TablePartition&>(**upper);
    ASSERT_EQ(Differences(world, table), "");
    ASSERT_TRUE(world.partition->Absorb(table).ok());
    ASSERT_EQ(world.Differences(), "");
  }
}

TEST_P(TableExchangeTest, CopiesTakeAlongWhatSnapshotsNeed) {
  SCOPED_TRACE(SeedText());
  TableWorld world(AllTypes(GetParam()), Seed());
  TreeMemory elsewhere;
  for (int round = 0; round < 4; ++round) {
    Fill(world, true);
    world.BeginTurn();
    auto target = *TablePartition::Create(Range{Key{}, Key{}}, elsewhere.cache, world.layout);
    target->SetSnapshots(&world.view);
    while (!world.partition->range().Empty()) {
      ExchangeChunk chunk;
      world.BeginTurn();
      ASSERT_TRUE(
          world.partition->Extract(1 + static_cast<uint32_t>(world.random() % 300), chunk).ok());
      const absl::Status status = target->Ingest(chunk);
      ASSERT_TRUE(status.ok()) << status;
      if (world.random() % 4 == 0) {
        ASSERT_EQ(Differences(world, *target), "");
      }
    }
    ASSERT_EQ(Differences(world, *target), "");
    EXPECT_EQ(world.partition->version_bytes(), 0u);
    // And back, all at once.
    ExchangeChunk chunk;
    ASSERT_TRUE(target->Extract(1u << 20, chunk).ok());
    ASSERT_TRUE(world.partition->Ingest(chunk).ok());
    ASSERT_EQ(world.Differences(), "");
    ASSERT_TRUE(world.partition->Maintain(world.view, 1000) || true);
    world.Lookup(world.RandomRows(300, 60));
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, TableExchangeTest,
                         testing::Values(KeyTypes{ColumnType::kInt64},
                                         KeyTypes{ColumnType::kDate, ColumnType::kInt32},
                                         KeyTypes{ColumnType::kUint64, ColumnType::kInt32}));

TEST(TableExchangeTest, ChunksThatDoNotFitAreRefused) {
  TableWorld world(AllTypes({ColumnType::kInt64}), 5);
  world.Put(world.RandomRows(300, 200));
  auto target = *TablePartition::Create(Range{Key{}, Key{}}, world.memory.cache, world.layout);
  ExchangeChunk good;
  ASSERT_TRUE(world.partition->Extract(50, good).ok());
  const auto refused = [&](auto change) {
    ExchangeChunk chunk = good;
    change(chunk);
    const absl::Status status = target->Ingest(chunk);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(target->size(), 0u);
  };
  refused([](ExchangeChunk& chunk) { chunk.keys[3] = chunk.keys[4]; });
  refused([](ExchangeChunk& chunk) { chunk.keys[3] -= 1; });
  refused([](ExchangeChunk& chunk) { chunk.keys.pop_back(); });
  refused([](ExchangeChunk& chunk) { chunk.rows.births.pop_back(); });
  refused([](ExchangeChunk& chunk) { chunk.rows.columns.pop_back(); });
  refused([](ExchangeChunk& chunk) { chunk.rows.columns[1].values.pop_back(); });
  refused([](ExchangeChunk& chunk) { chunk.rows.columns[0].values.clear(); });
  refused([](ExchangeChunk& chunk) { chunk.rows.columns[0].offsets.clear(); });
  refused([](ExchangeChunk& chunk) { chunk.rows.columns[2].validity = "x"; });
  refused([](ExchangeChunk& chunk) { chunk.covers.lo = Key::FromU64(chunk.keys[1]); });
  EXPECT_TRUE(target->Ingest(good).ok());
  EXPECT_EQ(target->size(), 50u);
  ExchangeChunk far = good;
  EXPECT_FALSE(world.partition->Ingest(far).ok() && world.partition->Ingest(far).ok());
}

TEST(TableExchangeTest, ManyStraddlingRowsHaveToBePrepared) {
  TableSchema schema{.columns = {{.name = "k", .type = ColumnType::kInt64}}, .key = {0}};
  TableWorld world(schema, 1);
  std::vector<Row> rows;
  for (int64_t i = 0; i < 200'000; ++i) rows.push_back({CellOf((i * 7919) % 200'000)});
  world.Put(rows);
  const Key cut = Key::FromU64(uint64_t{1} << 63 | 100'000);
  const auto upper = world.partition->SplitAt(cut);
  EXPECT_EQ(upper.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(world.Differences(), "");
  ASSERT_TRUE(world.partition->PrepareExtract(Range{cut, std::nullopt}).ok());
  EXPECT_EQ(world.partition->PrepareExtract(Range{cut, std::nullopt}).code(),
            absl::StatusCode::kFailedPrecondition);
  while (!*world.partition->WalkLeaving(10'000)) {
  }
  const auto prepared = world.partition->SplitAt(cut);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ((*prepared)->size(), 100'000u);
}

TEST(TableExchangeTest, RowsInKeyOrderNeedNoPreparation) {
  TableSchema schema{.columns = {{.name = "k", .type = ColumnType::kInt64}}, .key = {0}};
  TableWorld world(schema, 1);
  std::vector<Row> rows;
  for (int64_t i = 0; i < 200'000; ++i) {
    rows.push_back({CellOf(i)});
    if (rows.size() < 1000) continue;
    world.Put(rows);
    rows.clear();
  }
  const auto upper = world.partition->SplitAt(Key::FromU64(uint64_t{1} << 63 | 90'000));
  ASSERT_TRUE(upper.ok()) << upper.status();
  EXPECT_EQ((*upper)->size(), 110'000u);
  EXPECT_EQ(world.partition->size(), 90'000u);
}

TEST(TableExchangeTest, OnlyEndsOfTheRangeLeave) {
  TableWorld world(AllTypes({ColumnType::kInt64}), 5);
  world.Put(world.RandomRows(300, 200));
  const Range middle{Key::FromU64(1), Key::FromU64(2)};
  EXPECT_EQ(world.partition->PrepareExtract(middle).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(world.partition->WalkLeaving(1).status().code(), absl::StatusCode::kFailedPrecondition);
  const Range high{Key::FromU64(uint64_t{1} << 63), std::nullopt};
  ASSERT_TRUE(world.partition->PrepareExtract(high).ok());
  ExchangeChunk chunk;
  EXPECT_EQ(world.partition->Extract(1, chunk).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(*world.partition->CancelExtract(1));
  EXPECT_TRUE(world.partition->Extract(1, chunk).ok());
}

}  // namespace
}  // namespace eris::storage
