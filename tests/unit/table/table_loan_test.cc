// Rows of a clustered table that change hands: lent from either end, taken over by another
// partition, forgotten or taken back, with writes, compaction and held snapshots in every state of
// a loan. All partitions together are the model, at every snapshot, and no row comes twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/table/table_world.h"

namespace eris::storage {
namespace {

using KeyTypes = std::vector<ColumnType>;
using End = Partition::End;

constexpr uint64_t kKeys = 60;

// Two owners of a table; a range that is under way belongs to neither.
class TableLoanTest : public testing::TestWithParam<KeyTypes> {
 protected:
  TableLoanTest() : world_(AllTypes(GetParam()), Seed()) {
    other_ = *TablePartition::Create(Range{Key{}, Key{}}, elsewhere_.cache, world_.layout);
    other_->SetSnapshots(&world_.view);
    for (int i = 0; i < 6; ++i) Write(200);
  }

  std::string Differences() { return world_.Differences({world_.partition.get(), other_.get()}); }

  // Rows go to whoever owns their keys.
  void Write(size_t count) {
    const std::vector<Row> rows = world_.RandomRows(count, kKeys);
    const std::vector<Row> erased = world_.RandomRows(count / 4 + 1, kKeys);
    for (TablePartition* const part : {world_.partition.get(), other_.get()}) {
      world_.PutTo(*part, OwnedBy(*part, rows));
      world_.EraseFrom(*part, OwnedBy(*part, erased));
      world_.LookupIn(*part, OwnedBy(*part, erased));
    }
  }
  std::vector<Row> OwnedBy(const TablePartition& part, const std::vector<Row>& rows) const {
    const RowColumns columns(*world_.layout, rows);
    std::vector<Row> owned;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (part.range().ContainsU64(columns.key(i).head)) owned.push_back(rows[i]);
    }
    return owned;
  }
  void Background() {
    world_.BeginTurn();
    for (TablePartition* const part : {world_.partition.get(), other_.get()}) {
      part->FreeVersions(world_.view, 1 + static_cast<uint32_t>(world_.random() % 300));
      for (int i = 0; i < 4; ++i) {
        part->Maintain(world_.view, 1 + static_cast<uint32_t>(world_.random() % 900));
      }
    }
  }
  void MaybeTakeSnapshot() {
    if (world_.random() % 3 == 0 && world_.held.size() < 4) world_.TakeSnapshot();
  }
  // What goes on while a loan is out.
  void Meanwhile() {
    ASSERT_EQ(Differences(), "");
    Write(1 + world_.random() % 200);
    Background();
    if (world_.held.size() > 2) world_.ReleaseSnapshot(world_.random() % world_.held.size());
    ASSERT_EQ(Differences(), "");
  }
  uint64_t SomeHead() {
    auto at = world_.model.begin();
    std::advance(at, world_.random() % world_.model.size());
    return at->first.head;
  }

  TableWorld world_;
  TreeMemory elsewhere_;
  std::unique_ptr<TablePartition> other_;
};

TEST_P(TableLoanTest, RangesGoThereAndBackInChunks) {
  SCOPED_TRACE(SeedText());
  bool back = false;
  for (int round = 0; round < 3; ++round, back = !back) {
    TablePartition& from = back ? *other_ : *world_.partition;
    TablePartition& to = back ? *world_.partition : *other_;
    const End end = world_.random() % 2 == 0 ? End::kLow : End::kHigh;
    for (int chunks = 0; !from.range().Empty(); ++chunks) {
      ASSERT_LT(chunks, 10'000);
      if (chunks % 4 == 1 && world_.held.size() < 4) world_.TakeSnapshot();
      Write(20);
      Range leaving = from.range();
      if (const Key cut = Key::FromU64(SomeHead());
          from.range().lo < cut && from.range().ContainsU64(cut.head)) {
        (end == End::kLow ? leaving.hi : leaving.lo) = cut;
      }
      const Range before = from.range();
      const uint64_t size = from.size();
      const auto rows_max = static_cast<uint32_t>(
          world_.random() % 16 == 0 ? ~uint32_t{0} : 1 + world_.random() % (from.size() / 8 + 20));
      ExchangeChunk chunk;
      world_.BeginTurn();
      const absl::Status lent = from.Lend(leaving, end, rows_max, chunk);
      ASSERT_TRUE(lent.ok()) << lent;
      EXPECT_FALSE(chunk.covers.Empty());
      if (end == End::kLow) {
        EXPECT_EQ(chunk.covers.lo, before.lo);
      } else {
        EXPECT_EQ(chunk.covers.hi, before.hi);
      }
      EXPECT_EQ(from.size() + chunk.keys.size(), size);
      EXPECT_EQ(chunk.rows.count, chunk.keys.size());
      const std::set<uint64_t> heads(chunk.keys.begin(), chunk.keys.end());
      EXPECT_LE(chunk.keys.size(), uint64_t{rows_max} + (chunk.seconds.empty() ? 0 : 200));
      for (const uint64_t head : heads) EXPECT_FALSE(from.range().ContainsU64(head));
      ExchangeChunk second;
      EXPECT_EQ(from.Lend(from.range(), end, 1, second).code(),
                absl::StatusCode::kFailedPrecondition);
      EXPECT_EQ(from.Ingest(chunk).code(), absl::StatusCode::kFailedPrecondition);
      MaybeTakeSnapshot();
      Meanwhile();
      if (world_.random() % 3 == 0) {  // refused
        from.TakeBack();
        EXPECT_EQ(from.range(), before);
        ASSERT_EQ(Differences(), "");
        Write(20);
        continue;
      }
      world_.BeginTurn();
      const absl::Status taken = to.Ingest(chunk);
      ASSERT_TRUE(taken.ok()) << taken;
      from.SetDeath(world_.view.epoch);
      Meanwhile();
      // Its scans wait: until Forget they would find the rows at both. Background work of the
      // source must not make a row that is younger than its death.
      MaybeTakeSnapshot();
      Background();
      world_.BeginTurn();
      EXPECT_FALSE(from.Forget(world_.view, 1));
      EXPECT_EQ(from.size() + to.size(), world_.model.size());
      ASSERT_EQ(Differences(), "");
      if (world_.random() % 8 != 0) continue;
      // At once back again.
      ASSERT_TRUE(
          to.Lend(chunk.covers, end == End::kLow ? End::kHigh : End::kLow, ~uint32_t{0}, second)
              .ok());
      EXPECT_EQ(second.covers, chunk.covers);
      ASSERT_TRUE(from.Ingest(second).ok());
      to.Forget(world_.view, 1);
      EXPECT_EQ(from.range(), before);
      ASSERT_EQ(Differences(), "");
    }
    EXPECT_EQ(from.size(), 0u);
    EXPECT_EQ(to.range(), Range{});
  }
  // Without snapshots nothing is kept of what has gone.
  while (!world_.held.empty()) world_.ReleaseSnapshot(0);
  world_.BeginTurn();
  for (TablePartition* const part : {world_.partition.get(), other_.get()}) {
    while (part->FreeVersions(world_.view, 100)) {
    }
    EXPECT_EQ(part->version_bytes(), 0u);
    EXPECT_EQ(part->CanGo(world_.view), part->range().Empty());
  }
  ASSERT_EQ(Differences(), "");
  other_.reset();
  EXPECT_EQ(elsewhere_.cache.used_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Keys, TableLoanTest,
                         testing::Values(KeyTypes{ColumnType::kInt64},
                                         KeyTypes{ColumnType::kFloat64},
                                         KeyTypes{ColumnType::kDate, ColumnType::kInt32},
                                         KeyTypes{ColumnType::kUint64, ColumnType::kInt32}));

Schema OneKey(bool two_words) {
  Schema schema{.columns = {{.name = "k", .type = ColumnType::kUint64},
                            {.name = "n", .type = ColumnType::kInt64, .nullable = true},
                            {.name = "s", .type = ColumnType::kString, .nullable = true}},
                .key = {0}};
  if (two_words) schema.key.push_back(3);
  schema.columns.push_back({.name = "t", .type = ColumnType::kInt32});
  return schema;
}

// Where a chunk is cut: whole first parts, and what is left of the range when nothing is behind.
TEST(TableLoanCutTest, ChunksAreCutBetweenFirstParts) {
  TableWorld world(OneKey(true), 1);
  std::vector<Row> rows;
  for (const uint64_t head : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40, kKeyMax - 1, kKeyMax}) {
    for (int32_t tail = -2; tail < 8; ++tail) {
      rows.push_back({CellOf(head), std::nullopt, std::to_string(tail), CellOf(tail)});
    }
  }
  world.Put(rows);
  const auto lend = [&](const Range& leaving, End from, uint32_t rows_max) {
    ExchangeChunk chunk;
    const absl::Status status = world.partition->Lend(leaving, from, rows_max, chunk);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(chunk.keys.size() % 10, 0u);
    world.partition->TakeBack();
    return std::pair(chunk.keys.size(), chunk.covers);
  };
  const auto range = [](uint64_t lo, std::optional<uint64_t> hi = std::nullopt) {
    Range result{Key::FromU64(lo), std::nullopt};
    if (hi) result.hi = Key::FromU64(*hi);
    return result;
  };
  EXPECT_EQ(lend(Range{}, End::kLow, 0), std::pair(size_t{10}, range(0, 1)));
  EXPECT_EQ(lend(Range{}, End::kLow, 1), std::pair(size_t{10}, range(0, 1)));
  EXPECT_EQ(lend(Range{}, End::kLow, 19), std::pair(size_t{10}, range(0, 1)));
  EXPECT_EQ(lend(Range{}, End::kLow, 20), std::pair(size_t{20}, range(0, 8)));
  EXPECT_EQ(lend(Range{}, End::kHigh, 1), std::pair(size_t{10}, range(kKeyMax)));
  EXPECT_EQ(lend(Range{}, End::kHigh, 25), std::pair(size_t{20}, range(kKeyMax - 1)));
  EXPECT_EQ(lend(Range{}, End::kHigh, 30), std::pair(size_t{30}, range(uint64_t{1} << 40)));
  EXPECT_EQ(lend(Range{}, End::kHigh, 49), std::pair(size_t{40}, range(7)));
  EXPECT_EQ(lend(Range{}, End::kHigh, 50), std::pair(size_t{50}, range(0)));
  EXPECT_EQ(lend(Range{}, End::kLow, ~uint32_t{0}), std::pair(size_t{50}, range(0)));
  // No more rows in what is to leave: all of it goes.
  EXPECT_EQ(lend(range(0, 7), End::kLow, 10), std::pair(size_t{10}, range(0, 7)));
  EXPECT_EQ(lend(range(8), End::kHigh, 30), std::pair(size_t{30}, range(8)));
  EXPECT_EQ(lend(range(0, 1000), End::kLow, 15), std::pair(size_t{10}, range(0, 1)));
  EXPECT_EQ(lend(range(kKeyMax), End::kHigh, 1), std::pair(size_t{10}, range(kKeyMax)));
  world.Erase({rows.begin() + 40, rows.end()});
  EXPECT_EQ(lend(range(kKeyMax), End::kHigh, 1), std::pair(size_t{0}, range(kKeyMax)));
  EXPECT_EQ(world.Differences(), "");
}

TEST(TableLoanCutTest, OnlyAnEndOfTheRangeIsLent) {
  TableWorld world(OneKey(false), 1);
  ExchangeChunk chunk;
  const Key key = Key::FromU64(uint64_t{1} << 63);
  const auto code = [&](const Range& leaving, End from) {
    return world.partition->Lend(leaving, from, 10, chunk).code();
  };
  EXPECT_EQ(code({Key::FromU64(1), Key::FromU64(2)}, End::kLow),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({key, key}, End::kLow), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({key, std::nullopt}, End::kLow), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Key{}, key}, End::kHigh), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Key{5, 1}, std::nullopt}, End::kHigh), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({key, std::nullopt}, End::kHigh), absl::StatusCode::kOk);
  EXPECT_EQ(world.partition->range(), (Range{Key{}, key}));
  world.partition->TakeBack();
  world.partition->TakeBack();  // nothing is lent
  EXPECT_FALSE(world.partition->Forget(world.view, 1));
  EXPECT_EQ(world.partition->range(), Range{});
}

TEST(TableLoanCutTest, TheMemoryOfAChunkIsUsed) {
  TableWorld world(OneKey(false), 1);
  for (uint64_t i = 0; i < 64; ++i) {
    world.Put({{CellOf(i << 50), std::nullopt, std::string(100, 'x'), CellOf(int32_t{0})}});
  }
  ExchangeChunk chunk;
  ASSERT_TRUE(world.partition->Lend(Range{}, End::kLow, 64, chunk).ok());
  world.partition->TakeBack();
  chunk.keys.reserve(5000);
  chunk.rows.columns[2].values.reserve(50'000);
  ASSERT_TRUE(world.partition->Lend(Range{}, End::kLow, 64, chunk).ok());
  EXPECT_EQ(chunk.keys.size(), 64u);
  EXPECT_EQ(chunk.rows.columns[2].values, std::string(64 * 100, 'x'));
  EXPECT_GE(chunk.keys.capacity(), 5000u);
  EXPECT_GE(chunk.rows.columns[2].values.capacity(), 50'000u);
  world.partition->TakeBack();
}

TEST(TableLoanCutTest, StringsBoundAChunk) {
  TableWorld world(OneKey(false), 1);
  for (uint64_t i = 0; i < 600; ++i) {  // 40 KB each, 24 MB
    std::string text = std::to_string(i);
    text.resize(40'000, 'x');
    world.Put({{CellOf(i << 50), std::nullopt, text, CellOf(int32_t{0})}});
  }
  for (const End from : {End::kLow, End::kHigh}) {
    ExchangeChunk chunk;
    ASSERT_TRUE(world.partition->Lend(Range{}, from, 10'000, chunk).ok());
    EXPECT_EQ(chunk.keys.size(), (16u << 20) / 40'000);
    world.partition->TakeBack();
  }
}

// Who takes over may have had the keys before, and still keeps old rows of them.
TEST(TableLoanSnapshotTest, EachSnapshotFindsRowsWhereTheyWere) {
  TableWorld world(OneKey(false), 1);
  TreeMemory elsewhere;
  auto other = *TablePartition::Create(Range{Key{}, Key{}}, elsewhere.cache, world.layout);
  other->SetSnapshots(&world.view);
  std::vector<Row> rows;
  for (uint64_t i = 0; i < 3'000; ++i) {
    rows.push_back({CellOf(i), CellOf(static_cast<int64_t>(i)), "v", CellOf(int32_t{0})});
  }
  world.Put(rows);
  const auto count = [&](const TablePartition& part, uint64_t snapshot) {
    TableWorld::Scan scan{snapshot};
    while (!world.Advance(part, scan, 1u << 30)) {
    }
    return scan.seen.size();
  };
  TablePartition* from = world.partition.get();
  TablePartition* to = other.get();
  for (int hops = 0; hops < 5; ++hops, std::swap(from, to)) {
    world.TakeSnapshot();
    world.BeginTurn();
    ExchangeChunk chunk;
    ASSERT_TRUE(from->Lend(from->range(), End::kLow, ~uint32_t{0}, chunk).ok());
    EXPECT_TRUE(from->range().Empty());
    EXPECT_FALSE(from->CanGo(world.view));
    ASSERT_TRUE(to->Ingest(chunk).ok());
    from->Forget(world.view, 1);
    EXPECT_FALSE(from->CanGo(world.view));  // a snapshot needs them
    EXPECT_GT(from->version_bytes(), 0u);
  }
  // Snapshot i was taken before hop i: in turn here and there.
  for (size_t i = 0; i < world.held.size(); ++i) {
    EXPECT_EQ(count(*world.partition, world.held[i].epoch), i % 2 == 0 ? 3'000u : 0u);
    EXPECT_EQ(count(*other, world.held[i].epoch), i % 2 == 0 ? 0u : 3'000u);
  }
  while (!world.held.empty()) world.ReleaseSnapshot(0);
  world.BeginTurn();
  while (world.partition->FreeVersions(world.view, 500)) {
  }
  EXPECT_TRUE(world.partition->CanGo(world.view));
  EXPECT_FALSE(other->CanGo(world.view));
}

TEST(TableLoanSnapshotTest, ARowThatIsForgottenWithoutMemoryIsLostForSnapshotsHereAndOnlyHere) {
  TableWorld world(OneKey(false), 1);
  TreeMemory elsewhere;
  auto other = *TablePartition::Create(Range{Key{}, Key{}}, elsewhere.cache, world.layout);
  other->SetSnapshots(&world.view);
  world.Put(
      std::vector<Row>{{CellOf(uint64_t{5}), std::nullopt, std::nullopt, CellOf(int32_t{0})}});
  world.TakeSnapshot();
  world.BeginTurn();
  ExchangeChunk chunk;
  ASSERT_TRUE(world.partition->Lend(Range{}, End::kHigh, 10, chunk).ok());
  ASSERT_TRUE(other->Ingest(chunk).ok());
  world.memory.cache.ArmFailures(1, memory::FailurePoint::Mode::kFromThen);
  world.partition->Forget(world.view, 1);
  world.memory.cache.ArmFailures(0, memory::FailurePoint::Mode::kOnce);
  EXPECT_TRUE(world.partition->Lost(world.held[0].epoch));
  EXPECT_FALSE(other->Lost(world.held[0].epoch));
  EXPECT_EQ(world.partition->size(), 0u);
  // Its scans have to be told.
  EXPECT_FALSE(world.partition->CanGo(world.view));
  world.ReleaseSnapshot(0);
  world.BeginTurn();
  EXPECT_TRUE(world.partition->CanGo(world.view));
}

}  // namespace
}  // namespace eris::storage
