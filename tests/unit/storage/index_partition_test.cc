#include "storage/index/index_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/unit/storage/partition_kinds.h"

namespace eris::storage {
namespace {

struct IndexPartitionTest : testing::Test {
  TreeMemory memory;
};

std::unique_ptr<IndexPartition> MakeIndex(TreeMemory& memory, const Range& range) {
  auto partition = IndexPartition::Create(range, memory.cache);
  EXPECT_EQ(partition.status(), absl::OkStatus());
  return *std::move(partition);
}

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

TEST_F(IndexPartitionTest, RefusedWritesAnswerNoMemoryAndTheRestGoesOn) {
  auto partition = MakeIndex(memory, MakeRange(0));
  // A run that is full needs memory for the next key.
  Rows rows;
  for (uint64_t key = 1; key <= RunCapacity(1); ++key) {
    RunBatch(*partition, Operation::kUpsert, {key}, {key});
    rows.emplace_back(key, key);
  }
  memory.cache.FailAllocationsFrom(1);
  EXPECT_EQ(RunBatch(*partition, Operation::kUpsert, {uint64_t{1} << 60, 1}, {2, 3}).states,
            (States{KeyState::kNoMemory, KeyState::kPresent}));
  memory.cache.FailAllocationsFrom(0);
  rows[0].second = 3;
  EXPECT_EQ(ScanAll(*partition, MakeRange(0)), rows);
}

TEST_F(IndexPartitionTest, ScanStopsAtTheEndOfRestAndAtTheLimitOfRows) {
  auto partition = MakeIndex(memory, MakeRange(0));
  RunBatch(*partition, Operation::kUpsert, {0, 10, 20, kKeyMax - 1, kKeyMax}, {0, 1, 2, 3, 4});
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

TEST_F(IndexPartitionTest, ScanIsDoneAtTheLastKeyThereIs) {
  auto partition = MakeIndex(memory, MakeRange(0));
  RunBatch(*partition, Operation::kUpsert, {kKeyMax}, {4});
  uint64_t key;
  uint64_t value;
  ScanRows out{&key, &value, 1, 0};
  ScanCursor cursor{.rest = MakeRange(kKeyMax)};
  partition->Scan(cursor, {}, out);
  EXPECT_EQ(out.rows, 1u);
  EXPECT_TRUE(cursor.done);
  EXPECT_TRUE(cursor.rest.Empty());
}

TEST_F(IndexPartitionTest, ScanWithASpentBudgetStillMovesOn) {
  auto partition = MakeIndex(memory, MakeRange(0));
  std::vector<uint64_t> keys_in(1000);
  for (size_t i = 0; i < keys_in.size(); ++i) keys_in[i] = i * 1000;
  RunBatch(*partition, Operation::kUpsert, keys_in, keys_in);
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

TEST_F(IndexPartitionTest, SplitRefusesKeysNotInsideTheRange) {
  auto partition = MakeIndex(memory, MakeRange(100, 200));
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

TEST_F(IndexPartitionTest, AbsorbTakesBothSidesAndLeavesAnEmptyRange) {
  auto low = MakeIndex(memory, MakeRange(0, 10));
  auto middle = MakeIndex(memory, MakeRange(10, 20));
  auto high = MakeIndex(memory, MakeRange(20));
  RunBatch(*low, Operation::kUpsert, {9}, {1});
  RunBatch(*middle, Operation::kUpsert, {10, 19}, {2, 3});
  RunBatch(*high, Operation::kUpsert, {20, kKeyMax}, {4, 5});
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

TEST_F(IndexPartitionTest, AbsorbRefusesAForeignCache) {
  TreeMemory foreign;
  auto low = MakeIndex(memory, MakeRange(0, 10));
  auto high = MakeIndex(foreign, MakeRange(10));
  EXPECT_EQ(low->Absorb(*high).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(IndexPartitionTest, ExtractNeedsNoMemoryOfTheTree) {
  auto partition = MakeIndex(memory, MakeRange(0));
  std::vector<uint64_t> keys(5000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 300;
  RunBatch(*partition, Operation::kUpsert, keys, keys);
  memory.cache.FailAllocationsFrom(1);
  ExchangeChunk chunk;
  ASSERT_EQ(test::Extract(*partition, 1234, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.keys.size(), 1234u);
  EXPECT_EQ(partition->size(), keys.size() - 1234);
  EXPECT_EQ(CheckTree(partition->tree()), absl::OkStatus());
  EXPECT_EQ(ScanAll(*partition, partition->range()).front().first, keys[1234]);
}

TEST_F(IndexPartitionTest, EmptyPartitionTakesAnyChunkAndItsRange) {
  auto partition = MakeIndex(memory, MakeRange(0, 0));
  ASSERT_EQ(partition->Ingest({MakeRange(500), {500, kKeyMax}, {1, 2}}), absl::OkStatus());
  EXPECT_EQ(partition->range(), MakeRange(500));
  EXPECT_EQ(partition->size(), 2u);
}

TEST_F(IndexPartitionTest, RefusedSplitAbsorbAndIngestChangeNothing) {
  auto low = MakeIndex(memory, MakeRange(0, 1 << 20));
  std::vector<uint64_t> keys(3000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 100;
  RunBatch(*low, Operation::kUpsert, keys, keys);
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
  RunBatch(**high, Operation::kUpsert, {150'051, 150'052}, {1, 1});
  const uint64_t size = low->size();
  memory.cache.FailAllocationsFrom(1);
  const absl::Status refused = low->Absorb(**high);
  memory.cache.FailAllocationsFrom(0);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(low->size(), size);
  EXPECT_EQ((*high)->size(), rows.size() + 2 - size);
  EXPECT_EQ(CheckTree(low->tree()), absl::OkStatus());
}

TEST_F(IndexPartitionTest, ItIsLentFromItsEndsAlone) {
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
