#include "engine/boundaries.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace eris::engine {
namespace {

constexpr uint64_t kKeyMax = std::numeric_limits<uint64_t>::max();
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

__extension__ using Wide = unsigned __int128;
using Starts = std::vector<uint64_t>;

TEST(InitialStartsTest, AnyExpectedRangeFallsIntoEvenPieces) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 20'000; ++round) {
    const auto aeus = static_cast<uint32_t>(1 + random() % 200);
    CreateOptions options;
    options.expected.lo = random() >> (random() % 64);
    if (random() % 4 != 0) {
      const uint64_t width = 1 + (random() >> (random() % 64)) % (kKeyMax - options.expected.lo);
      options.expected.hi = options.expected.lo + width;
    }
    const auto starts = InitialStarts(options, aeus);
    ASSERT_TRUE(starts.ok()) << starts.status();
    const Wide end = options.expected.hi ? Wide{*options.expected.hi} : Wide{1} << 64;
    const Wide width = end - options.expected.lo;
    const Wide pieces = width < aeus ? width : Wide{aeus};
    ASSERT_EQ(starts->size(), static_cast<size_t>(pieces));
    ASSERT_EQ((*starts)[0], 0u);
    // Every piece has the mean's keys or one more, far below 1.2 times the mean where that is more
    // than five keys.
    Wide from = options.expected.lo;
    for (size_t i = 1; i <= starts->size(); ++i) {
      const Wide to = i < starts->size() ? Wide{(*starts)[i]} : end;
      ASSERT_GE(to - from, width / pieces);
      ASSERT_LE(to - from, width / pieces + 1);
      from = to;
    }
  }
}

TEST(InitialStartsTest, FewerKeysThanAeusGetAPartitionEach) {
  EXPECT_EQ(*InitialStarts({.expected = {10, 13}}, 8), (Starts{0, 11, 12}));
  EXPECT_EQ(*InitialStarts({.expected = {10, 11}}, 8), Starts{0});
}

TEST(InitialStartsTest, TheEndOfTheKeySpaceIsReached) {
  EXPECT_EQ(*InitialStarts({}, 2), (Starts{0, uint64_t{1} << 63}));
  EXPECT_EQ(*InitialStarts({.expected = {kKeyMax - 1, std::nullopt}}, 8), (Starts{0, kKeyMax}));
  EXPECT_EQ(*InitialStarts({.expected = {kKeyMax, std::nullopt}}, 8), Starts{0});
}

TEST(InitialStartsTest, SplitPointsAreTakenAsTheyAre) {
  EXPECT_EQ(*InitialStarts({.expected = {5, 4}, .split_points = {1, kKeyMax}}, 1),
            (Starts{0, 1, kKeyMax}));
}

TEST(InitialStartsTest, BadInputIsRefused) {
  EXPECT_EQ(InitialStarts({.expected = {5, 5}}, 2).status().code(), kInvalid);
  EXPECT_EQ(InitialStarts({.expected = {5, 4}}, 2).status().code(), kInvalid);
  EXPECT_EQ(InitialStarts({.split_points = {0}}, 2).status().code(), kInvalid);
  EXPECT_EQ(InitialStarts({.split_points = {7, 7}}, 2).status().code(), kInvalid);
  EXPECT_EQ(InitialStarts({.split_points = {7, 6}}, 2).status().code(), kInvalid);
  std::vector<uint64_t> points(kPartitionsMax);
  for (size_t i = 0; i < points.size(); ++i) points[i] = i + 1;
  EXPECT_EQ(InitialStarts({.split_points = points}, 2).status().code(), kInvalid);
  points.pop_back();
  EXPECT_EQ(InitialStarts({.split_points = points}, 2)->size(), kPartitionsMax);
}

}  // namespace
}  // namespace eris::engine
