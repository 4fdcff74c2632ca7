#include "engine/objects/transfer_pacing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/seed.h"

namespace eris::engine {
namespace {

constexpr uint32_t kPauseUs = 200;

// What a chunk costs: so much per row, and something for the turn.
uint64_t CostNs(uint32_t rows, uint64_t row_ns) { return 2'000 + rows * row_ns; }

TEST(ChunkSizeTest, StartsSmallAndAtMostDoubles) {
  ChunkSize size;
  EXPECT_EQ(size.rows(), ChunkSize::kRowsMin);
  for (uint32_t before = size.rows(); before < ChunkSize::kRowsMax;) {
    size.Learn(size.rows(), 16 * size.rows(), 1, 1'000'000);
    EXPECT_EQ(size.rows(), 2 * before);
    before = size.rows();
  }
  size.Learn(size.rows(), 16 * size.rows(), 1, 1'000'000);
  EXPECT_EQ(size.rows(), ChunkSize::kRowsMax);
}

TEST(ChunkSizeTest, ComesNearTheAimAndStaysBelowThePause) {
  for (const uint64_t row_ns : {5, 40, 170, 1'000}) {
    ChunkSize size;
    for (int i = 0; i < 30; ++i)
      size.Learn(size.rows(), 16 * size.rows(), CostNs(size.rows(), row_ns), kPauseUs);
    const uint64_t cost_ns = CostNs(size.rows(), row_ns);
    EXPECT_LE(cost_ns, kPauseUs * 1'000) << row_ns << " ns a row";
    EXPECT_GE(cost_ns, kPauseUs * 1'000 / 2) << row_ns << " ns a row";
  }
}

TEST(ChunkSizeTest, RowsThatGetDearerMakeOneChunkTooLongAtMost) {
  ChunkSize size;
  for (int i = 0; i < 30; ++i)
    size.Learn(size.rows(), 16 * size.rows(), CostNs(size.rows(), 50), kPauseUs);
  size.Learn(size.rows(), 16 * size.rows(), CostNs(size.rows(), 200), kPauseUs);
  EXPECT_LE(CostNs(size.rows(), 200), kPauseUs * 1'000);
}

TEST(ChunkSizeTest, ADearChunkIsRememberedForAWhile) {
  ChunkSize size;
  for (int i = 0; i < 30; ++i)
    size.Learn(size.rows(), 16 * size.rows(), CostNs(size.rows(), 50), kPauseUs);
  const uint32_t before = size.rows();
  size.Learn(before, 16 * before, 4 * CostNs(before, 50), kPauseUs);
  size.Learn(size.rows(), 16 * size.rows(), CostNs(size.rows(), 50), kPauseUs);
  EXPECT_LT(size.rows(), before / 2);
  for (int i = 0; i < 10; ++i)
    size.Learn(size.rows(), 16 * size.rows(), CostNs(size.rows(), 50), kPauseUs);
  EXPECT_GE(size.rows(), before * 9 / 10);
}

// Strings that become a thousand times as long: a chunk has fewer rows, and no turn is longer.
TEST(ChunkSizeTest, LongerStringsMakeNoLongerChunk) {
  const auto cost_ns = [](uint64_t rows, uint64_t bytes) { return 3'000 + rows * 60 + bytes / 8; };
  for (const uint64_t long_bytes : {2'000, 100'000, 1'000'000}) {
    ChunkSize size;
    for (int i = 0; i < 200; ++i) {
      const uint64_t length = i < 60 || i >= 130 ? 100 : long_bytes;
      const uint64_t fit = std::max<uint64_t>(size.bytes_max() / length, 1);
      const uint64_t rows = std::min<uint64_t>(size.rows(), fit);
      const uint64_t bytes = rows * length;
      const uint64_t took_ns = cost_ns(rows, bytes);
      if (rows > 1) {
        EXPECT_LE(took_ns, kPauseUs * 1'200) << "chunk " << i << " of " << rows;
      }
      // What is reached after a while is worth it.
      if (i == 59 || i == 129 || i == 199) {
        EXPECT_TRUE(rows == 1 || took_ns >= kPauseUs * 300) << "chunk " << i << " of " << rows;
      }
      size.Learn(rows, bytes + 24 * rows, took_ns, kPauseUs, /*filled=*/true);
    }
  }
}

// One that ends where the next key has more versions than there is room for.
TEST(ChunkSizeTest, AFilledChunkCountsAlsoWhereItHasFewer) {
  ChunkSize size;
  for (int i = 0; i < 10; ++i) size.Learn(size.rows() - 30, 16 * size.rows(), 1'000, kPauseUs);
  EXPECT_EQ(size.rows(), ChunkSize::kRowsMin);
  for (int i = 0; i < 10; ++i) {
    size.Learn(size.rows() - 30, 16 * size.rows(), 1'000, kPauseUs, /*filled=*/true);
  }
  EXPECT_GT(size.rows(), 10 * ChunkSize::kRowsMin);
}

TEST(ChunkSizeTest, NeverFallsBelowTheLeast) {
  ChunkSize size;
  size.Learn(64, 64 * 16, 1'000'000'000, 10);
  EXPECT_EQ(size.rows(), ChunkSize::kRowsMin);
}

TEST(ChunkSizeTest, AShortLastChunkChangesNothing) {
  ChunkSize size;
  for (int i = 0; i < 30; ++i)
    size.Learn(size.rows(), 16 * size.rows(), CostNs(size.rows(), 50), kPauseUs);
  const uint32_t before = size.rows();
  size.Learn(3, 48, CostNs(3, 50), kPauseUs);
  size.Learn(0, 0, 2'000, kPauseUs);
  EXPECT_EQ(size.rows(), before);
}

TEST(ChunkSizeTest, OfLongRowsAChunkMayHaveFewer) {
  ChunkSize size(1);
  size.Learn(1, 10'000, 1'000'000'000, 10);
  EXPECT_EQ(size.rows(), ChunkSize::kLeastBytes / 10'000);
  size.Learn(size.rows(), size.rows() * (uint64_t{1} << 20), 1'000'000'000, 10);
  EXPECT_EQ(size.rows(), 1u);
  for (int i = 0; i < 30; ++i) size.Learn(size.rows(), 16 * size.rows(), 1'000'000'000, 10);
  EXPECT_EQ(size.rows(), ChunkSize::kRowsMin);
}

TEST(ChunkSizeTest, BeginsWithWhatWasFoundUnlessThePauseIsShorter) {
  ChunkSize size;
  size.Begin(kPauseUs);
  EXPECT_EQ(size.rows(), ChunkSize::kRowsMin);
  for (int i = 0; i < 30; ++i) {
    size.Learn(size.rows(), 16 * size.rows(), CostNs(size.rows(), 50), kPauseUs);
  }
  const uint32_t before = size.rows();
  size.Begin(2 * kPauseUs);
  EXPECT_EQ(size.rows(), before);
  size.Begin(kPauseUs / 2);
  EXPECT_LE(CostNs(size.rows(), 50), kPauseUs * 1'000 / 2);
  EXPECT_GE(size.rows(), before * 2 / 5);
}

}  // namespace
}  // namespace eris::engine
