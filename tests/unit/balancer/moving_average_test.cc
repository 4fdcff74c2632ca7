// The paper's Figure 6 number by number, then what holds for any k and any sample.
#include "balancer/moving_average.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "balancer/load/imbalance.h"
#include "balancer/one_shot.h"
#include "tests/support/load_samples.h"
#include "tests/support/property.h"
#include "tests/support/random_samples.h"

namespace eris::balancer {
namespace {

using test::LoadsUnder;
using test::MakeSample;
using test::Starts;
using testing::ElementsAre;

// Eight partitions of 3000 keys; 3 to 6 get a quarter of the accesses each, evenly spread.
LoadSample Figure6() {
  return MakeSample({{0, {0}},
                     {3000, {0}},
                     {6000, {250}},
                     {9000, {250}},
                     {12000, {250}},
                     {15000, {250}},
                     {18000, {0}},
                     {21000, {0}}},
                    24000);
}

std::vector<double> PerMille(std::vector<double> loads) {
  double sum = 0;
  for (const double load : loads) sum += load;
  for (double& load : loads) load = load / sum * 1000;
  return loads;
}

TEST(MovingAverageTest, Figure6OneNeighbourEitherSide) {
  // P1: (0 + 0) / 2 = 0; P2: (0 + 0 + 25) / 3 = 8 1/3; P3: (0 + 25 + 25) / 3 = 16 2/3;
  // P4: (25 + 25 + 25) / 3 = 25; then the same downwards. They sum up to 100 as they are.
  // Summed up: 0, 8 1/3, 25, 50, 75, 91 2/3, 100, 100. A third of p3 is 8 1/3: P3 begins at 7000;
  // P4 where 25 lie below, at 9000; P5 at 12000; P6 at 15000; P7 where 91 2/3 lie below, two thirds
  // into p6, at 17000. P2 may begin anywhere below 6000 and P8 anywhere from 18000 on: they stay.
  const Partitioning target = MovingAverage(Figure6(), 1);
  EXPECT_THAT(Starts(target), ElementsAre(0, 3000, 7000, 9000, 12000, 15000, 17000, 21000));
  const std::vector<double> loads = PerMille(LoadsUnder(Figure6(), target));
  const double third = 1000.0 / 12;  // 8 1/3 of a hundred
  const double expected[] = {0, third, 2 * third, 250, 250, 2 * third, third, 0};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(loads[i], expected[i], 1e-6) << i;
}

TEST(MovingAverageTest, Figure6AllNeighboursIsOneShot) {
  // 12.5 each: half a hot partition, 1500 keys. P1 ends 12.5 into p3, at 7500; from there on a
  // boundary every 1500 keys.
  const Partitioning target = MovingAverage(Figure6(), 7);
  EXPECT_THAT(Starts(target), ElementsAre(0, 7500, 9000, 10500, 12000, 13500, 15000, 16500));
  EXPECT_EQ(target, OneShot(Figure6()));
}

TEST(MovingAverageTest, BordersAverageOverWhatExistsAndAreScaled) {
  // (12 + 0) / 2, (12 + 0 + 0) / 3, 0: 6 and 4 of 10.
  const std::vector<uint64_t> averages = MovingAverages(std::vector<uint64_t>{12, 0, 0}, 1);
  EXPECT_EQ(averages[0] * 4, averages[1] * 6);
  EXPECT_EQ(averages[2], 0u);
  const LoadSample sample = MakeSample({{0, {12}}, {100, {0}}, {200, {0}}}, 300);
  EXPECT_THAT(Starts(MovingAverage(sample, 1)), ElementsAre(0, 60, 200));
}

TEST(MovingAverageTest, NoNeighboursChangeNothing) {
  EXPECT_EQ(MovingAverage(Figure6(), 0), CurrentPartitioning(Figure6()));
}

TEST(MovingAverageTest, EqualLoadsStay) {
  const LoadSample sample = MakeSample({{0, {5}}, {10, {5}}, {1000, {5}}, {5000, {5}}}, 6000);
  for (const uint32_t k : {1u, 2u, 3u, 65536u}) {
    EXPECT_EQ(MovingAverage(sample, k), CurrentPartitioning(sample));
  }
}

TEST(MovingAverageTest, LargerWindowsConvergeFaster) {
  const auto cycles = [](uint32_t k) {
    std::vector<test::Part> parts;
    for (uint64_t i = 0; i < 64; ++i) parts.push_back({i << 30, {i < 32 ? uint64_t{1000} : 0}});
    const LoadSample sample = MakeSample(parts, uint64_t{64} << 30);
    Places places = PlacesOf(sample);
    int count = 0;
    while (Imbalance(LoadsUnder(sample, OneShot(sample, places))) >= 0 && count < 5000) {
      Partitioning now;
      for (size_t i = 0; i < places.starts.size(); ++i) {
        now.starts.push_back(storage::Key::FromU64(static_cast<uint64_t>(places.starts[i])));
        now.owners.push_back(places.owners[i]);
      }
      if (Imbalance(LoadsUnder(sample, now)) < 0.1) break;
      const Partitioning next = MovingAverage(sample, places, k);
      for (size_t i = 0; i < places.starts.size(); ++i) places.starts[i] = next.starts[i].head;
      ++count;
    }
    return count;
  };
  const int one_shot = cycles(64);
  const int eight = cycles(8);
  const int one = cycles(1);
  EXPECT_EQ(one_shot, 1);
  EXPECT_LT(one_shot, eight);
  EXPECT_LT(eight, one);
  EXPECT_LT(one, 5000);
  // Load spreads as heat does, by k (k + 1) / 3 in a cycle: 24 and 2/3.
  EXPECT_NEAR(one / eight, 36, 12);
}

TEST(MovingAverageTest, AnyKCoversAllKeysIsNeverWorseAndAllNeighboursAreOneShot) {
  test::ExpectHolds({.cases = 3000}, [] {
    const LoadSample sample = *test::AnySample();
    const uint32_t k = *rc::gen::element(0u, 1u, 2u, 7u, 39u, 65536u);
    const Partitioning before = CurrentPartitioning(sample);
    const Partitioning after = MovingAverage(sample, k);
    RC_ASSERT(after.starts.front() == before.starts.front());
    for (size_t i = 1; i < after.starts.size(); ++i) {
      RC_ASSERT(after.starts[i - 1] < after.starts[i]);
    }
    const auto& end = sample.partitions.back().range.hi;
    RC_ASSERT(!end || after.starts.back() < *end);
    RC_ASSERT(Imbalance(LoadsUnder(sample, after)) <= Imbalance(LoadsUnder(sample, before)) + 1e-9);
    if (k + 1 >= sample.partitions.size()) RC_ASSERT(after == OneShot(sample));
  });
}

}  // namespace
}  // namespace eris::balancer
