// What an index and a hash of one-part keys have in common: batches and their answers, and chunks
// that leave and come.
#include "storage/partition.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/unit/storage/partition_kinds.h"

namespace eris::storage {
namespace {

class PartitionTest : public testing::TestWithParam<RowsKind> {
 protected:
  std::unique_ptr<Partition> Make(const Range& range) {
    return NewPartition(GetParam(), range, memory_.cache);
  }
  TreeMemory memory_;
};

TEST_P(PartitionTest, AnswersGoToTheKeysPositions) {
  auto partition = Make(MakeRange(0));
  EXPECT_EQ(RunBatch(*partition, Operation::kUpsert, {5, 0, kKeyMax}, {50, 1, 2}).states,
            (States{KeyState::kAbsent, KeyState::kAbsent, KeyState::kAbsent}));
  const test::TestBatch lookup = RunBatch(*partition, Operation::kLookup, {kKeyMax, 6, 5, 0});
  EXPECT_EQ(lookup.states, (States{KeyState::kPresent, KeyState::kAbsent, KeyState::kPresent,
                                   KeyState::kPresent}));
  EXPECT_EQ(lookup.answers, (std::vector<uint64_t>{2, test::TestBatch::kUnanswered, 50, 1}));
  EXPECT_EQ(RunBatch(*partition, Operation::kErase, {5, 5, 6}).states,
            (States{KeyState::kPresent, KeyState::kAbsent, KeyState::kAbsent}));
  EXPECT_EQ(partition->size(), 2u);
}

TEST_P(PartitionTest, LaterWritesOfAKeyInABatchWin) {
  auto partition = Make(MakeRange(0));
  EXPECT_EQ(RunBatch(*partition, Operation::kUpsert, {9, 1, 9}, {1, 2, 3}).states,
            (States{KeyState::kAbsent, KeyState::kAbsent, KeyState::kPresent}));
  EXPECT_EQ(RunBatch(*partition, Operation::kUpsert, {9, 2, 9}, {4, 5, 6}).states,
            (States{KeyState::kPresent, KeyState::kAbsent, KeyState::kPresent}));
  EXPECT_EQ(RunBatch(*partition, Operation::kLookup, {9}).answers[0], 6u);
}

TEST_P(PartitionTest, ExtractCutsTheLowEndAndTheLastChunkTakesTheRest) {
  auto partition = Make(MakeRange(5));
  RunBatch(*partition, Operation::kUpsert, {2000, 7, kKeyMax, 100}, {3, 1, 4, 2});
  ExchangeChunk chunk;
  ASSERT_EQ(ExtractRows(*partition, 2, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.covers, MakeRange(5, 101));
  EXPECT_EQ(chunk.keys, (std::vector<uint64_t>{7, 100}));
  EXPECT_EQ(chunk.values, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(partition->range(), MakeRange(101));
  EXPECT_EQ(partition->size(), 2u);

  ASSERT_EQ(ExtractRows(*partition, 0, chunk), absl::OkStatus());
  EXPECT_TRUE(chunk.covers.Empty());
  EXPECT_EQ(partition->range(), MakeRange(101));

  ASSERT_EQ(ExtractRows(*partition, 2, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.covers, MakeRange(101));
  EXPECT_EQ(chunk.keys, (std::vector<uint64_t>{2000, kKeyMax}));
  EXPECT_TRUE(partition->range().Empty());
  EXPECT_EQ(memory_.cache.used_bytes(), 0u);
  if (GetParam() != RowsKind::kHash) return;
  ASSERT_EQ(ExtractRows(*partition, 2, chunk), absl::OkStatus());
  EXPECT_TRUE(chunk.covers.Empty());
}

TEST_P(PartitionTest, IngestRefusesWhatDoesNotFitAndChangesNothing) {
  auto partition = Make(MakeRange(100, 200));
  RunBatch(*partition, Operation::kUpsert, {150}, {1});
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
  EXPECT_EQ(RowsOf(*partition), (Rows{{0, 3}, {99, 4}, {150, 1}, {210, 2}}));
}

TEST_P(PartitionTest, CreateRefusesBoundariesLongerThanEightBytes) {
  for (const Range& range : {Range{Key{1, 1}, std::nullopt}, Range{Key{1, 0}, Key{2, 3}}}) {
    const absl::Status status = GetParam() == RowsKind::kHash
                                    ? HashPartition::Create(range, memory_.cache, 0).status()
                                    : IndexPartition::Create(range, memory_.cache).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PartitionTest, testing::Values(RowsKind::kIndex, RowsKind::kHash),
                         RowsKindName);

}  // namespace
}  // namespace eris::storage
