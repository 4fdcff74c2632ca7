#include "storage/index/index_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "storage/tree/tree_check.h"
#include "tests/support/extract.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

Range MakeRange(uint64_t lo, std::optional<uint64_t> hi = std::nullopt) {
  return Range::FromPublic({lo, hi});
}

std::unique_ptr<IndexPartition> Make(TreeMemory& memory, const Range& range) {
  auto partition = IndexPartition::Create(range, memory.cache);
  EXPECT_EQ(partition.status(), absl::OkStatus());
  return *std::move(partition);
}

// Runs one operation as a batch of a single part whose answers go to mixed-up positions.
struct Executed {
  Executed(OrderedPartition& partition, Operation operation, std::vector<uint64_t> keys_in,
           std::vector<uint64_t> values_in = {})
      : values(keys_in.size(), 0xdead), states(keys_in.size(), KeyState::kPending) {
    std::vector<uint32_t> positions;
    for (size_t i = keys_in.size(); i-- > 0;) positions.push_back(static_cast<uint32_t>(i));
    BatchPart part;
    part.count = static_cast<uint32_t>(keys_in.size());
    part.keys = keys_in.data();
    part.values_in = values_in.data();
    part.positions = positions.data();
    part.values_out = operation == Operation::kLookup ? values.data() : nullptr;
    part.states_out = states.data();
    partition.Execute(Batch{operation, {&part, 1}});
    std::reverse(values.begin(), values.end());  // back to the keys' order
    std::reverse(states.begin(), states.end());
  }
  std::vector<uint64_t> values;
  std::vector<KeyState> states;
};

using States = std::vector<KeyState>;

Rows ScanAll(OrderedPartition& partition, const Range& range, uint32_t capacity = 100) {
  Rows rows;
  ScanCursor cursor{.rest = range};
  while (!cursor.done) {
    std::vector<uint64_t> keys(capacity);
    std::vector<uint64_t> values(capacity);
    ScanRows out{keys.data(), values.data(), capacity, 0};
    partition.Scan(cursor, {}, out);
    for (uint32_t i = 0; i < out.rows; ++i) rows.emplace_back(keys[i], values[i]);
  }
  return rows;
}

TEST(IndexPartitionTest, AnswersGoToTheKeysPositions) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(0));
  EXPECT_EQ(Executed(*partition, Operation::kUpsert, {5, 0, kKeyMax}, {50, 1, 2}).states,
            (States{KeyState::kAbsent, KeyState::kAbsent, KeyState::kAbsent}));
  const Executed lookup(*partition, Operation::kLookup, {kKeyMax, 6, 5, 0});
  EXPECT_EQ(lookup.states, (States{KeyState::kPresent, KeyState::kAbsent, KeyState::kPresent,
                                   KeyState::kPresent}));
  EXPECT_EQ(lookup.values, (std::vector<uint64_t>{2, 0xdead, 50, 1}));
  EXPECT_EQ(Executed(*partition, Operation::kErase, {5, 5, 6}).states,
            (States{KeyState::kPresent, KeyState::kAbsent, KeyState::kAbsent}));
  EXPECT_EQ(partition->size(), 2u);
}

TEST(IndexPartitionTest, LaterWritesOfAKeyInABatchWin) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(0));
  EXPECT_EQ(Executed(*partition, Operation::kUpsert, {9, 1, 9}, {1, 2, 3}).states,
            (States{KeyState::kAbsent, KeyState::kAbsent, KeyState::kPresent}));
  EXPECT_EQ(Executed(*partition, Operation::kUpsert, {9, 2, 9}, {4, 5, 6}).states,
            (States{KeyState::kPresent, KeyState::kAbsent, KeyState::kPresent}));
  EXPECT_EQ(Executed(*partition, Operation::kLookup, {9}).values[0], 6u);
}

TEST(IndexPartitionTest, RefusedWritesAnswerNoMemoryAndTheRestGoesOn) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(0));
  // A run that is full needs memory for the next key.
  Rows rows;
  for (uint64_t key = 1; key <= RunCapacity(1); ++key) {
    Executed(*partition, Operation::kUpsert, {key}, {key});
    rows.emplace_back(key, key);
  }
  memory.cache.FailAllocationsFrom(1);
  EXPECT_EQ(Executed(*partition, Operation::kUpsert, {uint64_t{1} << 60, 1}, {2, 3}).states,
            (States{KeyState::kNoMemory, KeyState::kPresent}));
  memory.cache.FailAllocationsFrom(0);
  rows[0].second = 3;
  EXPECT_EQ(ScanAll(*partition, MakeRange(0)), rows);
}

TEST(IndexPartitionTest, ScanStopsAtTheEndOfRestAndAtTheLimitOfRows) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(0));
  Executed(*partition, Operation::kUpsert, {0, 10, 20, kKeyMax - 1, kKeyMax}, {0, 1, 2, 3, 4});
  EXPECT_EQ(ScanAll(*partition, MakeRange(0, 20)), (Rows{{0, 0}, {10, 1}}));
  EXPECT_EQ(ScanAll(*partition, MakeRange(0, 21)), (Rows{{0, 0}, {10, 1}, {20, 2}}));
  EXPECT_EQ(ScanAll(*partition, MakeRange(21)), (Rows{{kKeyMax - 1, 3}, {kKeyMax, 4}}));
  EXPECT_EQ(ScanAll(*partition, MakeRange(0, kKeyMax)).size(), 4u);
  EXPECT_TRUE(ScanAll(*partition, MakeRange(11, 11)).empty());

  uint64_t keys[8];
  uint64_t values[8];
  ScanRows out{keys, values, 8, 0};
  ScanCursor cursor{.rest = MakeRange(0), .rows_left = 2};
  partition->Scan(cursor, {}, out);
  EXPECT_TRUE(cursor.done);
  EXPECT_EQ(out.rows, 2u);
  EXPECT_EQ(cursor.rest, MakeRange(11));  // what a next scan would ask for
}

TEST(IndexPartitionTest, ScanIsDoneAtTheLastKeyThereIs) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(0));
  Executed(*partition, Operation::kUpsert, {kKeyMax}, {4});
  uint64_t key;
  uint64_t value;
  ScanRows out{&key, &value, 1, 0};
  ScanCursor cursor{.rest = MakeRange(kKeyMax)};
  partition->Scan(cursor, {}, out);
  EXPECT_EQ(out.rows, 1u);
  EXPECT_TRUE(cursor.done);
  EXPECT_TRUE(cursor.rest.Empty());
}

TEST(IndexPartitionTest, ScanWithASpentBudgetStillMovesOn) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(0));
  std::vector<uint64_t> keys_in(1000);
  for (size_t i = 0; i < keys_in.size(); ++i) keys_in[i] = i * 1000;
  Executed(*partition, Operation::kUpsert, keys_in, keys_in);
  std::vector<uint64_t> keys(1000);
  std::vector<uint64_t> values(1000);
  ScanCursor cursor{.rest = MakeRange(0)};
  Rows rows;
  int slices = 0;
  while (!cursor.done) {
    ScanRows out{keys.data(), values.data(), 1000, 0};
    partition->Scan(cursor, {.deadline_ns = 1}, out);
    ASSERT_GT(out.rows, 0u);
    EXPECT_FALSE(out.Full());
    for (uint32_t i = 0; i < out.rows; ++i) rows.emplace_back(keys[i], values[i]);
    ++slices;
  }
  EXPECT_GT(slices, 1);
  EXPECT_EQ(rows.size(), 1000u);
}

TEST(IndexPartitionTest, SplitRefusesKeysNotInsideTheRange) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(100, 200));
  for (const uint64_t key : {uint64_t{0}, uint64_t{100}, uint64_t{200}, kKeyMax}) {
    EXPECT_EQ(partition->SplitAt(Key::FromU64(key)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << key;
  }
  EXPECT_EQ(partition->SplitAt(Key{150, 1}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(partition->range(), MakeRange(100, 200));
  EXPECT_EQ(partition->SplitAt(Key::FromU64(199)).status(), absl::OkStatus());
  EXPECT_EQ(partition->range(), MakeRange(100, 199));
}

TEST(IndexPartitionTest, AbsorbTakesBothSidesAndLeavesAnEmptyRange) {
  TreeMemory memory;
  auto low = Make(memory, MakeRange(0, 10));
  auto middle = Make(memory, MakeRange(10, 20));
  auto high = Make(memory, MakeRange(20));
  Executed(*low, Operation::kUpsert, {9}, {1});
  Executed(*middle, Operation::kUpsert, {10, 19}, {2, 3});
  Executed(*high, Operation::kUpsert, {20, kKeyMax}, {4, 5});
  EXPECT_EQ(low->Absorb(*high).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(low->Absorb(*low).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(middle->Absorb(*high), absl::OkStatus());
  ASSERT_EQ(middle->Absorb(*low), absl::OkStatus());
  EXPECT_EQ(middle->range(), MakeRange(0));
  EXPECT_EQ(ScanAll(*middle, MakeRange(0)),
            (Rows{{9, 1}, {10, 2}, {19, 3}, {20, 4}, {kKeyMax, 5}}));
  EXPECT_TRUE(low->range().Empty());
  EXPECT_TRUE(high->range().Empty());
  EXPECT_EQ(low->size() + high->size(), 0u);
}

TEST(IndexPartitionTest, AbsorbRefusesAForeignCache) {
  TreeMemory memory;
  TreeMemory foreign;
  auto low = Make(memory, MakeRange(0, 10));
  auto high = Make(foreign, MakeRange(10));
  EXPECT_EQ(low->Absorb(*high).code(), absl::StatusCode::kInvalidArgument);
}

TEST(IndexPartitionTest, ExtractCutsTheLowEndAndTheLastChunkTakesTheRest) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(5));
  Executed(*partition, Operation::kUpsert, {7, 100, 2000, kKeyMax}, {1, 2, 3, 4});
  ExchangeChunk chunk;
  ASSERT_EQ(test::Extract(*partition, 2, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.covers, MakeRange(5, 101));
  EXPECT_EQ(chunk.keys, (std::vector<uint64_t>{7, 100}));
  EXPECT_EQ(chunk.values, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(partition->range(), MakeRange(101));
  EXPECT_EQ(partition->size(), 2u);

  ASSERT_EQ(test::Extract(*partition, 0, chunk), absl::OkStatus());
  EXPECT_TRUE(chunk.covers.Empty());
  EXPECT_EQ(partition->range(), MakeRange(101));

  ASSERT_EQ(test::Extract(*partition, 2, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.covers, MakeRange(101));
  EXPECT_EQ(chunk.keys, (std::vector<uint64_t>{2000, kKeyMax}));
  EXPECT_TRUE(partition->range().Empty());
  EXPECT_EQ(memory.cache.used_bytes(), 0u);
}

TEST(IndexPartitionTest, ExtractNeedsNoMemoryOfTheTree) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(0));
  std::vector<uint64_t> keys(5000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 300;
  Executed(*partition, Operation::kUpsert, keys, keys);
  memory.cache.FailAllocationsFrom(1);
  ExchangeChunk chunk;
  ASSERT_EQ(test::Extract(*partition, 1234, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.keys.size(), 1234u);
  EXPECT_EQ(partition->size(), keys.size() - 1234);
  EXPECT_EQ(CheckTree(partition->tree()), absl::OkStatus());
  EXPECT_EQ(ScanAll(*partition, partition->range()).front().first, keys[1234]);
}

TEST(IndexPartitionTest, IngestRefusesWhatDoesNotFitAndChangesNothing) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(100, 200));
  Executed(*partition, Operation::kUpsert, {150}, {1});
  const ExchangeChunk bad[] = {
      {MakeRange(300, 400), {300}, {1}},          // not adjacent
      {MakeRange(200, 300), {210, 205}, {1, 2}},  // descending
      {MakeRange(200, 300), {210, 210}, {1, 2}},  // twice
      {MakeRange(200, 300), {210, 300}, {1, 2}},  // outside
      {MakeRange(200, 300), {210}, {1, 2}},       // unequal columns
      {Range{Key{200, 7}, std::nullopt}, {210}, {1}},
  };
  for (const ExchangeChunk& chunk : bad) {
    EXPECT_EQ(partition->Ingest(chunk).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(partition->range(), MakeRange(100, 200));
  EXPECT_EQ(partition->size(), 1u);
  ASSERT_EQ(partition->Ingest({MakeRange(200, 300), {210}, {2}}), absl::OkStatus());
  ASSERT_EQ(partition->Ingest({MakeRange(0, 100), {0, 99}, {3, 4}}), absl::OkStatus());
  EXPECT_EQ(partition->range(), MakeRange(0, 300));
  EXPECT_EQ(ScanAll(*partition, MakeRange(0, 300)), (Rows{{0, 3}, {99, 4}, {150, 1}, {210, 2}}));
}

TEST(IndexPartitionTest, EmptyPartitionTakesAnyChunkAndItsRange) {
  TreeMemory memory;
  auto partition = Make(memory, MakeRange(0, 0));
  ASSERT_EQ(partition->Ingest({MakeRange(500), {500, kKeyMax}, {1, 2}}), absl::OkStatus());
  EXPECT_EQ(partition->range(), MakeRange(500));
  EXPECT_EQ(partition->size(), 2u);
}

TEST(IndexPartitionTest, RefusedSplitAbsorbAndIngestChangeNothing) {
  TreeMemory memory;
  auto low = Make(memory, MakeRange(0, 1 << 20));
  std::vector<uint64_t> keys(3000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 100;
  Executed(*low, Operation::kUpsert, keys, keys);
  const Rows rows = ScanAll(*low, low->range());
  const ExchangeChunk chunk{MakeRange(1 << 20), {1 << 20, 1 << 21, 1 << 30}, {1, 2, 3}};
  for (uint64_t nth = 1; nth <= 3; ++nth) {
    memory.cache.FailAllocationsFrom(nth);
    EXPECT_EQ(low->Ingest(chunk).code(), absl::StatusCode::kResourceExhausted);
    memory.cache.FailAllocationsFrom(0);
  }
  memory.cache.FailAllocationsFrom(1);
  EXPECT_EQ(low->SplitAt(Key::FromU64(150'050)).status().code(),
            absl::StatusCode::kResourceExhausted);
  memory.cache.FailAllocationsFrom(0);
  EXPECT_EQ(low->range(), MakeRange(0, 1 << 20));
  EXPECT_EQ(ScanAll(*low, low->range()), rows);

  auto high = low->SplitAt(Key::FromU64(150'050));
  ASSERT_EQ(high.status(), absl::OkStatus());
  Executed(**high, Operation::kUpsert, {150'051, 150'052}, {1, 1});
  const uint64_t size = low->size();
  memory.cache.FailAllocationsFrom(1);
  const absl::Status refused = low->Absorb(**high);
  memory.cache.FailAllocationsFrom(0);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(low->size(), size);
  EXPECT_EQ((*high)->size(), rows.size() + 2 - size);
  EXPECT_EQ(CheckTree(low->tree()), absl::OkStatus());
}

TEST(IndexPartitionTest, CreateRefusesBoundariesLongerThanEightBytes) {
  TreeMemory memory;
  EXPECT_EQ(IndexPartition::Create(Range{Key{1, 1}, std::nullopt}, memory.cache).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(IndexPartition::Create(Range{Key{1, 0}, Key{2, 3}}, memory.cache).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(IndexPartitionTest, ItIsLentFromItsEndsAlone) {
  TreeMemory memory;
  auto partition = *IndexPartition::Create(Range::FromPublic({100, 200}), memory.cache);
  ExchangeChunk chunk;
  for (const KeyRange bad : {KeyRange{120, 150}, KeyRange{90, 200}, KeyRange{100, 100}}) {
    EXPECT_EQ(partition->Lend(Range::FromPublic(bad), Exchange::End::kLow, 1, chunk).code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(partition->range(), Range::FromPublic({100, 200}));
}

}  // namespace
}  // namespace eris::storage
