// Proportions, ranges, and the same keys for the same seed.
#include "clients/load/key_picker.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <vector>

namespace eris::load {
namespace {

constexpr uint64_t kCount = 1000;
constexpr size_t kPicks = 200'000;

std::vector<uint64_t> Picks(const PickerOptions& options, double elapsed_s = 0,
                            uint64_t inserted = 0) {
  const KeySet keys(kCount, Layout::kDense);
  KeyPicker picker(keys, options, Zipf(KeyPicker::CountOf(keys, options.key_part)));
  std::vector<uint64_t> numbers(kPicks);
  picker.Pick(absl::MakeSpan(numbers), elapsed_s, inserted);
  return numbers;
}

std::map<uint64_t, double> Shares(const std::vector<uint64_t>& numbers) {
  std::map<uint64_t, double> shares;
  for (const uint64_t number : numbers) shares[number] += 1.0 / static_cast<double>(numbers.size());
  return shares;
}

TEST(KeyPickerTest, TheSeedAloneDecides) {
  for (const std::string& name : DistributionNames()) {
    PickerOptions options{.distribution = *FindDistribution(name), .seed = 7};
    const std::vector<uint64_t> first = Picks(options);
    EXPECT_EQ(first, Picks(options)) << name;
    if (options.distribution == Distribution::kSequential) continue;
    options.seed = 8;
    EXPECT_NE(first, Picks(options)) << name;
    options.seed = 7;
    options.index = 1;
    options.pickers = 2;
    EXPECT_NE(first, Picks(options)) << name;
  }
}

TEST(KeyPickerTest, EveryDistributionStaysInItsPartOfTheKeys) {
  for (const std::string& name : DistributionNames()) {
    if (name == "latest" || name == "scrambled") continue;  // of all keys
    for (const uint64_t number :
         Picks({.distribution = *FindDistribution(name), .key_part = 0.25}, 1e6)) {
      ASSERT_LT(number, kCount / 4) << name;
    }
  }
}

TEST(KeyPickerTest, UniformPicksEachAsOften) {
  const auto shares = Shares(Picks({}));
  EXPECT_EQ(shares.size(), kCount);
  for (const auto& [number, share] : shares) EXPECT_NEAR(share * kCount, 1, 0.4) << number;
}

TEST(KeyPickerTest, ZipfFavouritesAreAskedForAsOftenAsTheLawSays) {
  const Zipf zipf(kCount);
  const auto shares = Shares(Picks({.distribution = Distribution::kZipf}));
  EXPECT_NEAR(shares.at(0), 1 / zipf.zeta(), 0.05 / zipf.zeta());
  EXPECT_NEAR(shares.at(1), std::pow(0.5, Zipf::kTheta) / zipf.zeta(), 0.05 / zipf.zeta());
  double first_hundred = 0, expected = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    first_hundred += shares.at(i);
    expected += std::pow(static_cast<double>(i + 1), -Zipf::kTheta) / zipf.zeta();
  }
  EXPECT_NEAR(first_hundred, expected, 0.02);
}

TEST(KeyPickerTest, ZetaOfManyKeysIsTheSumOfItsTerms) {
  double sum = 0;
  constexpr uint64_t kMany = 1'500'000;  // beyond where the sum goes on as an integral
  for (uint64_t i = 1; i <= kMany; ++i) sum += std::pow(static_cast<double>(i), -Zipf::kTheta);
  EXPECT_NEAR(Zipf(kMany).zeta(), sum, 1e-8);
}

TEST(KeyPickerTest, ZipfOfFewKeysPicksAllOfThem) {
  for (const uint64_t count : {1, 2, 3}) {
    const Zipf zipf(count);
    std::vector<int> picks(count);
    Random random(3);
    for (int i = 0; i < 1000; ++i) ++picks.at(zipf.Rank(random.Next()));
    for (const int one : picks) EXPECT_GT(one, 100) << count;
  }
}

TEST(KeyPickerTest, ScrambledFavouritesAreTheSameOnesElsewhere) {
  const KeySet keys(kCount, Layout::kDense);
  const std::vector<uint64_t> zipf = Picks({.distribution = Distribution::kZipf});
  const std::vector<uint64_t> scrambled = Picks({.distribution = Distribution::kScrambled});
  for (size_t i = 0; i < kPicks; ++i) ASSERT_EQ(scrambled[i], keys.Spread(zipf[i]));
}

TEST(KeyPickerTest, LatestPrefersWhatThisPickerInsertedLast) {
  const PickerOptions options{
      .distribution = Distribution::kLatest, .seed = 1, .index = 1, .pickers = 2};
  const KeySet keys(kCount, Layout::kDense);
  const KeyPicker picker(keys, options, std::nullopt);
  auto shares = Shares(Picks(options, 0, 10));
  for (uint64_t i = 0; i < 10; ++i) EXPECT_GT(shares[picker.InsertNumber(i)], 0) << i;
  EXPECT_EQ(shares.rbegin()->first, picker.InsertNumber(9));  // none that is not there yet
  EXPECT_NEAR(shares[picker.InsertNumber(9)], 1 / Zipf(kCount).zeta(), 0.01);
  EXPECT_GT(shares[picker.InsertNumber(9)], shares[picker.InsertNumber(5)]);
  EXPECT_GT(shares[kCount - 1], shares[kCount / 2]);
  EXPECT_EQ(shares[kCount], 0);  // the other picker's
  shares = Shares(Picks(options, 0, 0));
  EXPECT_EQ(shares.rbegin()->first, kCount - 1);
}

TEST(KeyPickerTest, InsertsOfPickersAreDistinctAndNoKeysOfTheSet) {
  const KeySet keys(kCount, Layout::kDense);
  std::map<uint64_t, int> numbers;
  for (uint32_t index = 0; index < 3; ++index) {
    const KeyPicker picker(keys, {.index = index, .pickers = 3}, std::nullopt);
    for (uint64_t i = 0; i < 1000; ++i) ++numbers[picker.InsertNumber(i)];
  }
  EXPECT_EQ(numbers.size(), 3000u);
  EXPECT_EQ(numbers.begin()->first, kCount);
  EXPECT_EQ(numbers.rbegin()->first, kCount + 2999);
}

double ShareIn(const std::vector<uint64_t>& numbers, uint64_t from, uint64_t to) {
  double inside = 0;
  for (const uint64_t number : numbers) inside += number >= from && number < to ? 1 : 0;
  return inside / static_cast<double>(numbers.size());
}

TEST(KeyPickerTest, TheHotRangeGetsItsPercentageAndMoves) {
  PickerOptions options{
      .distribution = Distribution::kHot, .hot_part = 0.1, .hot_percent = 80, .shift_s = 5};
  EXPECT_NEAR(ShareIn(Picks(options, 100), 0, 100), 0.8, 0.01);
  options.distribution = Distribution::kShifting;
  EXPECT_NEAR(ShareIn(Picks(options, 4.9), 0, 100), 0.8, 0.01);
  EXPECT_NEAR(ShareIn(Picks(options, 5.1), 100, 200), 0.8, 0.01);
  EXPECT_NEAR(ShareIn(Picks(options, 49.9), 900, 1000), 0.8, 0.01);
  EXPECT_NEAR(ShareIn(Picks(options, 50.1), 0, 100), 0.8, 0.01);  // around again
  EXPECT_NEAR(ShareIn(Picks(options, 5.1), 500, 1000), 0.2 * 5 / 9, 0.01);
}

TEST(KeyPickerTest, SequentialPickersBeginAtTheirSharesAndGoAround) {
  const std::vector<uint64_t> numbers =
      Picks({.distribution = Distribution::kSequential, .index = 1, .pickers = 4});
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], (250 + i) % kCount);
}

}  // namespace
}  // namespace eris::load
