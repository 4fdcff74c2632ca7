#include "engine/moving/transfer_pieces.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/seed.h"

namespace eris::engine {
namespace {

using End = storage::Partition::End;

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();

storage::Range Keys(uint64_t lo, std::optional<uint64_t> hi = std::nullopt) {
  storage::Range range{{lo, 0}, std::nullopt};
  if (hi) range.hi = storage::Key{*hi, 0};
  return range;
}

routing::RangeTable Table(std::vector<uint64_t> starts, const std::vector<uint32_t>& owners) {
  std::vector<AeuId> aeus;
  for (const uint32_t owner : owners) aeus.push_back({owner});
  return routing::RangeTable(1, std::move(starts), std::move(aeus));
}

TEST(NextPieceTest, NothingIsLeftOfWhatTheSourceDoesNotOwn) {
  const auto table = Table({0, 100, 200}, {0, 1, 0});
  EXPECT_FALSE(NextPiece(table, Keys(100, 200), {0}, {2}).has_value());
  EXPECT_FALSE(NextPiece(table, Keys(50, 50), {0}, {2}).has_value());
  EXPECT_FALSE(NextPiece(table, Keys(0), {2}, {1}).has_value());
}

TEST(NextPieceTest, CutsTheRangeAtThePartition) {
  const auto table = Table({0, 100, 200}, {0, 1, 0});
  EXPECT_EQ(NextPiece(table, Keys(50), {0}, {2})->leaving, Keys(50, 100));
  EXPECT_EQ(NextPiece(table, Keys(100), {0}, {2})->leaving, Keys(200));
  EXPECT_EQ(NextPiece(table, Keys(kLast), {0}, {2})->leaving, Keys(kLast));
  EXPECT_EQ(NextPiece(table, Keys(0), {1}, {2})->leaving, Keys(100, 200));
}

TEST(NextPieceTest, AnEndLeavesFromThatEnd) {
  const auto table = Table({0, 100, 200}, {0, 1, 2});
  EXPECT_EQ(NextPiece(table, Keys(100, 150), {1}, {2})->from, End::kLow);
  EXPECT_EQ(NextPiece(table, Keys(150, 200), {1}, {0})->from, End::kHigh);
  EXPECT_EQ(NextPiece(table, Keys(150), {1}, {0})->from, End::kHigh);
}

TEST(NextPieceTest, AWholePartitionLeavesFromWhereTheTargetIs) {
  const auto table = Table({0, 100, 200, 300}, {0, 1, 2, 3});
  EXPECT_EQ(NextPiece(table, Keys(100, 200), {1}, {0})->from, End::kLow);
  EXPECT_EQ(NextPiece(table, Keys(100, 200), {1}, {2})->from, End::kHigh);
  EXPECT_EQ(NextPiece(table, Keys(100, 200), {1}, {3})->from, End::kLow);
  EXPECT_EQ(NextPiece(table, Keys(0), {0}, {1})->from, End::kHigh);
  EXPECT_EQ(NextPiece(table, Keys(0), {3}, {2})->from, End::kLow);
}

// Pieces of any size are taken off until nothing is left: the target has the range then, nobody
// else has lost anything, and the target's new keys were in one piece at every moment of a
// partition's move.
TEST(NextPieceTest, PiecesTakenOffOneByOneMoveTheRangeAndNothingElse) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> starts{0};
    std::vector<uint32_t> owners{static_cast<uint32_t>(random() % 4)};
    for (uint64_t at = 0; starts.size() < 12;) {
      at += 1 + random() % 1'000;
      starts.push_back(at);
      owners.push_back(static_cast<uint32_t>(random() % 4));
    }
    const uint64_t lo = random() % 6'000;
    const storage::Range range = random() % 4 == 0 ? Keys(lo) : Keys(lo, lo + 1 + random() % 6'000);
    const AeuId source{static_cast<uint32_t>(random() % 4)};
    const AeuId target{(source.value + 1 + static_cast<uint32_t>(random() % 3)) % 4};
    std::unique_ptr<const routing::RangeTable> table =
        std::make_unique<routing::RangeTable>(Table(starts, owners));
    const auto first = Table(starts, owners);
    int steps = 0;
    while (const auto piece = NextPiece(*table, range, source, target)) {
      ASSERT_LT(++steps, 10'000);
      storage::Range chunk = piece->leaving;
      const uint64_t width = 1 + random() % 400;
      if (piece->from == End::kLow) {
        if (!chunk.hi || chunk.hi->head - chunk.lo.head > width) {
          chunk.hi = storage::Key{chunk.lo.head + width, 0};
          if (!piece->leaving.hi && chunk.lo.head > 20'000) chunk.hi.reset();
        }
      } else if (chunk.hi && chunk.hi->head - chunk.lo.head > width) {
        chunk.lo.head = chunk.hi->head - width;
      } else if (!chunk.hi && chunk.lo.head < kLast - width) {
        chunk.lo.head = random() % 2 == 0 ? chunk.lo.head : chunk.lo.head + width;
      }
      table = table->With(chunk, target);
    }
    for (uint64_t key = 0; key < 25'000; key += 1 + random() % 20) {
      const AeuId before = first.OwnerOf(key);
      const bool moves = before == source && range.ContainsU64(key);
      ASSERT_EQ(table->OwnerOf(key), moves ? target : before) << "key " << key;
    }
    const bool last_moves = first.OwnerOf(kLast) == source && range.ContainsU64(kLast);
    EXPECT_EQ(table->OwnerOf(kLast), last_moves ? target : first.OwnerOf(kLast));
  }
}

}  // namespace
}  // namespace eris::engine
