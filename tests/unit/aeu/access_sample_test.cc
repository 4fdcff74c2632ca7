#include "aeu/state/access_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/sanitized.h"

namespace eris::aeu {
namespace {

constexpr uint64_t kLast = ~uint64_t{0};

storage::BatchPart Part(const uint64_t* keys, size_t count) {
  return {.count = static_cast<uint32_t>(count), .keys = keys};
}
void Record(AccessSample& sample, uint32_t kind, const std::vector<uint64_t>& keys,
            uint64_t ns = 0) {
  const storage::BatchPart part = Part(keys.data(), keys.size());
  sample.RecordExecution(kind, sample.NoteKeys(kind, {&part, 1}), ns);
}
std::vector<uint64_t> KeysOf(const AccessSample& sample, uint64_t from = 0,
                             uint32_t count_max = ~0u) {
  std::vector<AccessSample::Access> read;
  sample.Read(from, count_max, read);
  std::vector<uint64_t> keys;
  for (const auto& one : read) keys.push_back(one.key);
  return keys;
}

TEST(AccessSampleTest, OneKeyInSoManyIsNotedWhateverTheBatches) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < AccessSample::kSampleEvery * 100; ++i) keys.push_back(i << 40 | 1);
  std::vector<uint64_t> expected;
  for (size_t i = 0; i < keys.size(); i += AccessSample::kSampleEvery) expected.push_back(keys[i]);
  for (const uint32_t batch : {1u, 7u, 32u, 33u, 1000u}) {
    AccessSample sample;
    for (size_t at = 0; at < keys.size(); at += 2 * batch) {
      // Two parts each time.
      const size_t first = std::min<size_t>(batch, keys.size() - at);
      const size_t second = std::min<size_t>(batch, keys.size() - at - first);
      const storage::BatchPart parts[] = {Part(&keys[at], first),
                                          Part(keys.data() + at + first, second)};
      sample.RecordExecution(1, sample.NoteKeys(1, parts), 10);
    }
    EXPECT_EQ(KeysOf(sample), expected) << batch;
    EXPECT_EQ(sample.keys(1), keys.size());
  }
}

TEST(AccessSampleTest, PartsOfOneKeyAreSampledAlike) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 1000; ++i) keys.push_back(kLast - i);
  AccessSample looked_at;
  AccessSample known;
  for (size_t at = 0; at < keys.size(); at += 40) {
    std::vector<storage::BatchPart> parts;
    for (size_t i = at; i < at + 40; ++i) parts.push_back(Part(&keys[i], 1));
    looked_at.RecordExecution(1, looked_at.NoteKeys(1, parts), 10);
    known.RecordExecution(1, known.NoteKeys(1, parts, parts.size()), 10);
  }
  EXPECT_EQ(KeysOf(known), KeysOf(looked_at));
  EXPECT_EQ(KeysOf(known).size(), 32u);
  EXPECT_EQ(known.keys(1), 1000u);
}

TEST(AccessSampleTest, TheLastOnesStayAndEachIsReadOnce) {
  AccessSample sample;
  std::vector<AccessSample::Access> read;
  EXPECT_EQ(sample.Read(0, 100, read), 0u);
  for (uint64_t i = 0; i < AccessSample::kRingKeys + 10; ++i) sample.RecordSlice(16, kLast - i, 1);
  uint64_t next = sample.Read(0, ~0u, read);
  EXPECT_EQ(next, AccessSample::kRingKeys + 10);
  ASSERT_EQ(read.size(), AccessSample::kRingKeys);
  EXPECT_EQ(read.front().key, kLast - 10);
  EXPECT_EQ(read.back().key, kLast - AccessSample::kRingKeys - 9);
  EXPECT_EQ(read.back().kind, 16u);
  read.clear();
  EXPECT_EQ(sample.Read(next, ~0u, read), next);
  EXPECT_TRUE(read.empty());
  sample.RecordSlice(16, 0, 1);
  next = sample.Read(next, ~0u, read);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].key, 0u);
}

TEST(AccessSampleTest, FewerThanThereAreAreSpreadOverThem) {
  AccessSample sample;
  for (uint64_t i = 0; i < 1000; ++i) sample.RecordSlice(16, i, 1);
  EXPECT_EQ(KeysOf(sample, 0, 4), (std::vector<uint64_t>{0, 250, 500, 750}));
  EXPECT_EQ(KeysOf(sample, 900, 2), (std::vector<uint64_t>{900, 950}));
  EXPECT_TRUE(KeysOf(sample, 0, 0).empty());
}

TEST(AccessSampleTest, KeysOfAddedRowsAreKeptEvenlyOverAllOfThem) {
  AccessSample sample;
  std::vector<uint64_t> kept;
  EXPECT_EQ(sample.ReadRows(1000, kept), 0u);
  // Sorted batches of random keys, every other one of a row that is not new.
  constexpr uint64_t kRows = 3'000'000;
  std::mt19937_64 random(7);
  std::vector<uint64_t> keys(1000);
  std::vector<uint32_t> positions(keys.size());
  std::vector<storage::KeyState> states(keys.size());
  std::iota(positions.begin(), positions.end(), 0u);
  for (uint64_t batch = 0; batch < 2 * kRows / keys.size(); ++batch) {
    for (uint64_t& key : keys) key = random() >> 1 << 1;
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size(); ++i) {
      states[i] = i % 2 == 0 ? storage::KeyState::kAbsent : storage::KeyState::kPresent;
      keys[i] += i % 2;
    }
    const storage::BatchPart part{.count = 1000,
                                  .keys = keys.data(),
                                  .positions = positions.data(),
                                  .states_out = states.data()};
    sample.RecordAdded({&part, 1}, keys.size() / 2);
  }
  const uint64_t each = sample.ReadRows(~0u, kept);
  EXPECT_EQ(kept.size(), sample.row_keys());
  EXPECT_GT(kept.size(), KeySketch::kKeys / 2 - 1);
  EXPECT_NEAR(static_cast<double>(each * kept.size()), kRows, kRows * 0.15);
  std::vector<double> tenths(10);
  for (const uint64_t key : kept) {
    EXPECT_EQ(key % 2, 0u);
    ++tenths[key / (kLast / 10 + 1)];
  }
  // Five standard deviations.
  const double mean = static_cast<double>(kept.size()) / 10;
  for (const double count : tenths) EXPECT_NEAR(count, mean, 5 * std::sqrt(mean));
  kept.clear();
  EXPECT_NEAR(static_cast<double>(sample.ReadRows(16, kept) * 16), kRows, kRows * 0.15);
  EXPECT_EQ(kept.size(), 16u);
}

// However many rows a turn adds, and however few.
TEST(AccessSampleTest, HugeBatchesOfNewRowsAreKeptEvenly) {
  AccessSample sample;
  constexpr uint32_t kRows = 1 << 21;
  std::vector<uint64_t> keys(kRows);
  std::vector<uint32_t> positions(kRows);
  std::iota(keys.begin(), keys.end(), uint64_t{0});
  std::iota(positions.begin(), positions.end(), 0u);
  std::vector<storage::KeyState> states(kRows, storage::KeyState::kAbsent);
  const storage::BatchPart part{.count = kRows,
                                .keys = keys.data(),
                                .positions = positions.data(),
                                .states_out = states.data()};
  sample.RecordAdded({&part, 1}, kRows);
  std::vector<uint64_t> kept;
  sample.ReadRows(~0u, kept);
  uint64_t low = 0;
  for (const uint64_t key : kept) low += key < kRows / 2;
  EXPECT_NEAR(static_cast<double>(low), static_cast<double>(kept.size()) / 2, 60);
}

TEST(AccessSampleTest, WorkOnAllRowsHasNoKey) {
  AccessSample sample;
  sample.RecordSpread(70);
  sample.RecordSpread(30);
  EXPECT_EQ(sample.spread_ns(), 100u);
  EXPECT_EQ(sample.keys(), 2u);
  EXPECT_TRUE(KeysOf(sample).empty());
}

TEST(AccessSampleTest, KindsAreCountedApart) {
  AccessSample sample;
  Record(sample, 1, std::vector<uint64_t>(10), 100);
  Record(sample, 2, std::vector<uint64_t>(5), 70);
  Record(sample, 1, std::vector<uint64_t>(1), 11);
  EXPECT_EQ(sample.keys(1), 11u);
  EXPECT_EQ(sample.execution_ns(1), 111u);
  EXPECT_EQ(sample.keys(2), 5u);
  EXPECT_EQ(sample.execution_ns(2), 70u);
  EXPECT_EQ(sample.keys(3), 0u);
}

TEST(AccessSampleTest, TimeInWhichTheThreadDidNotRunHardlyCounts) {
  AccessSample sample;
  Record(sample, 1, std::vector<uint64_t>(2000), 200'000);  // 100 ns each
  Record(sample, 1, std::vector<uint64_t>(10), 20'000'000);
  EXPECT_LT(sample.execution_ns(1), 200'000u + 110'000u);
  // What is long because it is much counts as it is, and so does what is slower than before.
  const uint64_t before = sample.execution_ns(1);
  Record(sample, 1, std::vector<uint64_t>(100'000), 30'000'000);
  EXPECT_EQ(sample.execution_ns(1), before + 30'000'000);
}

TEST(AccessSampleTest, RefusedMemoryMeansNoSamplesAndAllCounts) {
  AccessSample::AllocationFailures().Arm(1, memory::FailurePoint::Mode::kOnce);
  AccessSample sample;
  Record(sample, 1, std::vector<uint64_t>(100, 7), 100);
  AccessSample::AllocationFailures().Arm(0, memory::FailurePoint::Mode::kOnce);
  Record(sample, 1, std::vector<uint64_t>(100, 7), 100);
  EXPECT_TRUE(KeysOf(sample).empty());
  EXPECT_EQ(sample.keys(1), 200u);
  EXPECT_EQ(sample.execution_ns(1), 200u);
}

TEST(AccessSampleTest, AReaderBesideTheWriterFindsKeysThatWereWritten) {
  // Each key tells its kind; what is torn is a key beside another kind, and that is rare.
  AccessSample sample;
  constexpr uint64_t kWritten = test::kSanitized ? 300'000 : 3'000'000;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kWritten; ++i) {
      const auto kind = static_cast<uint32_t>(1 + i % 7);
      sample.RecordSlice(kind, (kLast - i) << 4 | kind, 1);
    }
  });
  uint64_t next = 0;
  uint64_t torn = 0;
  uint64_t count = 0;
  while (next < kWritten) {
    std::vector<AccessSample::Access> read;
    const uint64_t from = next;
    next = sample.Read(from, ~0u, read);
    ASSERT_LE(read.size(), std::min<uint64_t>(next - from, AccessSample::kRingKeys));
    for (const auto& one : read) {
      ASSERT_GE(one.key & 15, 1u);
      ASSERT_LE(one.key & 15, 7u);
      ASSERT_GE(one.kind, 1u);
      ASSERT_LE(one.kind, 7u);
      torn += (one.key & 15) != one.kind;
    }
    count += read.size();
  }
  writer.join();
  EXPECT_GT(count, 0u);
  EXPECT_LE(torn, count / 10 + AccessSample::kRingKeys);
}

}  // namespace
}  // namespace eris::aeu
