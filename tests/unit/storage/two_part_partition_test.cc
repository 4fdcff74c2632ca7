// Each promise of a partition of two-part keys by itself, and memory that is refused at each
// request in turn. two_part_model_test.cc holds it against a map.
#include "storage/index/two_part_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/index/index_partition.h"
#include "tests/support/extract.h"
#include "tests/unit/storage/two_part_parts.h"

namespace eris::storage {
namespace {

// --- memory refused at each request in turn ---

std::vector<PairKey> SomeKeys(uint64_t seed) {
  Random random(seed);
  std::vector<PairKey> keys;
  for (uint64_t first = 0; first < 60; ++first) {
    for (uint64_t row = 0; row < first; ++row)
      keys.emplace_back(first << 40, row * 3 + random() % 3);
  }
  for (uint64_t first = 0; first < 130; ++first) keys.emplace_back(kKeyMax - 200 + first, first);
  std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}

// Calls run(parts, n) on fresh partitions for n from 1 until it says that nothing was refused.
template <class Run>
void RefuseEach(Run run, uint64_t least) {
  uint64_t nth = 1;
  for (;; ++nth) {
    SCOPED_TRACE("request " + std::to_string(nth));
    ASSERT_LT(nth, 5000u);
    TwoPartParts parts;
    parts.Put(SomeKeys(1));
    const bool refused = run(parts, nth);
    parts.memory.cache.ArmFailures(0, FailureMode::kOnce);
    ASSERT_NO_FATAL_FAILURE(parts.Check());
    ASSERT_FALSE(testing::Test::HasFailure());
    if (!refused) break;
  }
  EXPECT_GT(nth, least);
}

TEST(TwoPartPartitionTest, AnyRequestOfABatchMayBeRefused) {
  std::vector<PairKey> keys = SomeKeys(2);
  keys.resize(300);
  for (const Operation operation :
       {Operation::kUpsert, Operation::kInsertIfAbsent, Operation::kAdd}) {
    RefuseEach(
        [&](TwoPartParts& parts, uint64_t nth) {
          return parts.Execute(0, operation, keys, 100, nth, FailureMode::kFromThen) > 0;
        },
        50);
  }
}

TEST(TwoPartPartitionTest, ARefusedSplitOrAbsorbChangesNothing) {
  for (const uint64_t cut : {uint64_t{7} << 40, uint64_t{30} << 40, kKeyMax - 150}) {
    RefuseEach(
        [&](TwoPartParts& parts, uint64_t nth) {
          parts.memory.cache.ArmFailures(nth, FailureMode::kOnce);
          const absl::Status status = parts.Split(cut);
          EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
          return !status.ok();
        },
        1);
    for (const bool into_upper : {false, true}) {
      RefuseEach(
          [&](TwoPartParts& parts, uint64_t nth) {
            EXPECT_EQ(parts.Split(cut), absl::OkStatus());
            parts.memory.cache.ArmFailures(nth, FailureMode::kOnce);
            const absl::Status status = parts.Join(0, into_upper);
            EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
            return !status.ok();
          },
          0);
    }
  }
}

TEST(TwoPartPartitionTest, ARefusedIngestChangesNothing) {
  RefuseEach(
      [](TwoPartParts& parts, uint64_t nth) {
        EXPECT_EQ(parts.Split(uint64_t{30} << 40), absl::OkStatus());
        ExchangeChunk chunk;
        EXPECT_EQ(test::Extract(*parts.all[1], 1000, chunk), absl::OkStatus());
        const PairRows moved = parts.RowsIn(chunk.covers);
        parts.memory.cache.ArmFailures(nth, FailureMode::kOnce);
        const absl::Status status = parts.all[0]->Ingest(chunk);
        EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
        if (!status.ok()) {
          for (const auto& row : moved) parts.rows.erase(row.first);
        }
        return !status.ok();
      },
      20);
}

// --- one promise each ---

TEST(TwoPartPartitionTest, RangesAreCutBetweenFirstPartsOnly) {
  TwoPartParts parts;
  parts.Put({{5, 1}, {5, 2}});
  EXPECT_TRUE(absl::IsInvalidArgument(parts.all[0]->SplitAt(Key{5, 2}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(parts.all[0]->SplitAt(Key{0, 0}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      TwoPartPartition::Create(Range{Key{1, 1}, std::nullopt}, parts.memory.cache).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      TwoPartPartition::Create(Range{Key{}, Key{1, 1}}, parts.memory.cache).status()));
  ExchangeChunk chunk;
  EXPECT_TRUE(absl::IsInvalidArgument(
      parts.all[0]->Lend(Range{Key{}, Key{5, 1}}, Exchange::End::kLow, 1, chunk)));
  parts.Check();
}

TEST(TwoPartPartitionTest, AbsorbRefusesWhatIsNotItsNeighbour) {
  TwoPartParts parts;
  auto other = parts.New(Range{Key{7, 0}, Key{9, 0}});
  auto away = parts.New(Range{Key{10, 0}, std::nullopt});
  auto index = *IndexPartition::Create(Range{Key{9, 0}, std::nullopt}, parts.memory.cache);
  TwoPartParts elsewhere;
  EXPECT_TRUE(absl::IsInvalidArgument(other->Absorb(*away)));
  EXPECT_TRUE(absl::IsInvalidArgument(other->Absorb(*other)));
  EXPECT_TRUE(absl::IsInvalidArgument(other->Absorb(*index)));
  EXPECT_TRUE(absl::IsInvalidArgument(index->Absorb(*other)));
  EXPECT_TRUE(
      absl::IsInvalidArgument(other->Absorb(*elsewhere.New(Range{Key{9, 0}, std::nullopt}))));
}

TEST(TwoPartPartitionTest, AGroupLeavesWholeHoweverLargeItIs) {
  TwoPartParts parts;
  std::vector<PairKey> keys = {{1, 1}, {1, 2}, {9, 0}};
  for (uint64_t second = 0; second < 5000; ++second) keys.emplace_back(5, second);
  parts.Put(keys);
  for (const auto& [rows, end] : {std::pair(2u, 2u), std::pair(5000u, 6u)}) {
    ExchangeChunk chunk;
    ASSERT_EQ(test::Extract(*parts.all[0], 100, chunk), absl::OkStatus());
    EXPECT_EQ(chunk.keys.size(), rows);
    EXPECT_EQ(chunk.covers.hi, Key::FromU64(end));
    for (size_t i = 0; i < chunk.keys.size(); ++i) {
      parts.rows.erase({chunk.keys[i], chunk.seconds[i]});
    }
    EXPECT_EQ(parts.all[0]->size(), parts.rows.size());
  }
  parts.Check();
}

TEST(TwoPartPartitionTest, IngestRefusesSecondPartsThatDoNotFit) {
  TwoPartParts parts;
  auto target = parts.New(Range{Key{}, Key{}});
  const auto code = [&](std::vector<uint64_t> keys, std::vector<uint64_t> seconds) {
    const std::vector<uint64_t> values(keys.size(), 1);
    return target
        ->Ingest({.covers = {},
                  .keys = std::move(keys),
                  .values = values,
                  .seconds = std::move(seconds)})
        .code();
  };
  using enum absl::StatusCode;
  EXPECT_EQ(code({1, 2}, {}), kInvalidArgument);
  EXPECT_EQ(code({1, 2}, {1}), kInvalidArgument);
  EXPECT_EQ(code({1, 1}, {5, 5}), kInvalidArgument);
  EXPECT_EQ(code({1, 1}, {5, 4}), kInvalidArgument);
  EXPECT_EQ(code({2, 1}, {4, 5}), kInvalidArgument);
  EXPECT_EQ(target->size(), 0u);
  EXPECT_EQ(code({1, 1, 2}, {4, 5, 0}), kOk);
  EXPECT_EQ(target->size(), 3u);
  auto index = *IndexPartition::Create(Range{Key{}, Key{}}, parts.memory.cache);
  const ExchangeChunk chunk{.covers = {}, .keys = {1}, .values = {1}, .seconds = {1}};
  EXPECT_EQ(index->Ingest(chunk).code(), kInvalidArgument);
}

TEST(TwoPartPartitionTest, AnErasedGroupLeavesNothing) {
  TwoPartParts parts;
  for (const uint64_t rows : {1, 2, 32, 33, 57, 1000}) {
    std::vector<PairKey> keys;
    for (uint64_t row = 0; row < rows; ++row) keys.emplace_back(7, row * row);
    parts.Put(keys);
    EXPECT_EQ(parts.all[0]->size(), rows);
    ASSERT_NO_FATAL_FAILURE(parts.Check());
    // The last one twice, and once more behind it.
    keys.push_back(keys.back());
    keys.emplace_back(7, 0);
    parts.Execute(0, Operation::kErase, keys);
    EXPECT_TRUE(parts.all[0]->tree().empty());
    EXPECT_EQ(parts.memory.cache.used_bytes(), 0u);
  }
}

TEST(TwoPartPartitionTest, SizesAreExactRightAfterASplit) {
  TwoPartParts parts;
  Random random(3);
  std::vector<PairKey> keys;
  for (uint64_t first = 0; first < 20'000; ++first) {
    for (uint64_t row = random() % 7 + (first % 997 == 0 ? 100 : 0); row > 0; --row) {
      keys.emplace_back(first * first, row);
    }
  }
  parts.Put(keys);
  for (const uint64_t cut : {uint64_t{1}, uint64_t{40'000}, uint64_t{90'000'001}}) {
    const uint64_t whole = parts.all.back()->size();
    ASSERT_EQ(parts.Split(cut), absl::OkStatus());
    const size_t upper = parts.all.size() - 1;
    EXPECT_EQ(parts.all[upper]->size(), parts.RowsIn({Key{cut, 0}, std::nullopt}).size());
    EXPECT_EQ(parts.all[upper - 1]->size() + parts.all[upper]->size(), whole);
  }
  ASSERT_NO_FATAL_FAILURE(parts.Check());
}

TEST(TwoPartPartitionTest, AbandonFreesNothing) {
  TwoPartParts parts;
  parts.Put(SomeKeys(4));
  const uint64_t used = parts.memory.cache.used_bytes();
  parts.all[0]->Abandon();
  EXPECT_EQ(parts.all[0]->size(), 0u);
  parts.all.clear();
  EXPECT_EQ(parts.memory.cache.used_bytes(), used);
}

}  // namespace
}  // namespace eris::storage
