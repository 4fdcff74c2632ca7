#include "aeu/partition_load.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace eris::aeu {
namespace {

uint64_t Sum(const PartitionLoad& load) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < PartitionLoad::kBuckets; ++i) sum += load.bucket(i);
  return sum;
}

storage::Range From(uint64_t lo) { return {storage::Key::FromU64(lo), std::nullopt}; }

// Every key is counted: so many times that one of each run of samples falls on it.
void Touch(PartitionLoad& load, uint64_t key, uint32_t times = 1) {
  const std::vector<uint64_t> keys(PartitionLoad::kSampleEvery * times, key);
  load.Record(keys.data(), static_cast<uint32_t>(keys.size()));
}

TEST(PartitionLoadTest, OneKeyInSoManyIsCountedWhateverTheBatches) {
  const std::vector<uint64_t> keys(PartitionLoad::kSampleEvery * 100, 5);
  for (const uint32_t batch : {1u, 7u, 32u, 33u, 1000u}) {
    PartitionLoad load(From(0));
    for (uint32_t at = 0; at < keys.size(); at += batch) {
      load.Record(keys.data() + at,
                  std::min<uint32_t>(batch, static_cast<uint32_t>(keys.size()) - at));
    }
    EXPECT_EQ(Sum(load), 100u) << batch;
  }
}

TEST(PartitionLoadTest, BucketsAreOneKeyWideUntilAKeyLiesBeyondThem) {
  PartitionLoad load(From(1000));
  Touch(load, 1000, 3);
  Touch(load, 1063, 2);
  EXPECT_EQ(load.width_log2(), 0u);
  EXPECT_EQ(load.bucket(0), 3u);
  EXPECT_EQ(load.bucket(63), 2u);
  Touch(load, 1064);
  EXPECT_EQ(load.width_log2(), 1u);
  EXPECT_EQ(load.bucket(0), 3u);
  EXPECT_EQ(load.bucket(31), 2u);
  EXPECT_EQ(load.bucket(32), 1u);
  EXPECT_EQ(Sum(load), 6u);
}

TEST(PartitionLoadTest, FoldingKeepsEveryCountInItsRange) {
  PartitionLoad load(From(0));
  for (uint64_t key = 0; key < 64; ++key) Touch(load, key);
  Touch(load, 64 * 16 - 1);
  EXPECT_EQ(load.width_log2(), 4u);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(load.bucket(i), 16u) << i;
  EXPECT_EQ(load.bucket(63), 1u);
  EXPECT_EQ(Sum(load), 65u);
}

TEST(PartitionLoadTest, TheFarthestKeyThereIsFindsABucket) {
  PartitionLoad load(From(0));
  Touch(load, 0);
  Touch(load, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(load.width_log2(), 58u);
  EXPECT_EQ(load.bucket(0), 1u);
  EXPECT_EQ(load.bucket(63), 1u);
}

TEST(PartitionLoadTest, ExecutionAddsUpAndSizeIsReplaced) {
  PartitionLoad load(From(0));
  load.RecordExecution(10, 100);
  load.RecordExecution(5, 20);
  load.SetSize(7);
  load.SetSize(6);
  EXPECT_EQ(load.keys(), 15u);
  EXPECT_EQ(load.execution_ns(), 120u);
  EXPECT_EQ(load.rows(), 6u);
}

}  // namespace
}  // namespace eris::aeu
