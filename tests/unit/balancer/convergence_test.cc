// The whole loop without an engine: accesses are made up and noted as AEUs note them, sampled,
// planned and applied, period by period. The judge knows the exact loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "balancer/load/load_curve.h"
#include "tests/support/balanced_object.h"
#include "tests/support/load_samples.h"
#include "tests/support/seed.h"

namespace eris::balancer {
namespace {

// Keys and how likely each is, by key.
class Accesses {
 public:
  Accesses(const std::map<uint64_t, double>& likely) {
    double below = 0;
    for (const auto& [key, chance] : likely) {
      keys_.push_back(key);
      below_.push_back(below);
      below += chance;
    }
    below_.push_back(below);
  }
  uint64_t Draw(std::mt19937_64& random) const {
    const double at = std::uniform_real_distribution<double>(0, below_.back())(random);
    const auto after = std::upper_bound(below_.begin(), below_.end() - 1, at);
    return keys_[static_cast<size_t>(after - below_.begin()) - 1];
  }
  double In(Position lo, Position hi) const { return Below(hi) - Below(lo); }

 private:
  double Below(Position key) const {
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key,
                                     [](uint64_t a, Position b) { return a < b; });
    return below_[static_cast<size_t>(at - keys_.begin())] / below_.back();
  }
  std::vector<uint64_t> keys_;
  std::vector<double> below_;
};

Accesses Uniform(uint64_t lo, uint64_t count, uint64_t step) {
  std::map<uint64_t, double> likely;
  for (uint64_t i = 0; i < count; ++i) likely[lo + i * step] = 1;
  return likely;
}

// Ranks are scattered over the key space, or stand in order from 0 on.
Accesses Zipf(uint64_t count, double exponent, bool scattered) {
  std::map<uint64_t, double> likely;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t key = scattered ? i * 0x9e3779b97f4a7c15 : i * 1000;
    likely[key] += 1 / std::pow(static_cast<double>(i + 1), exponent);
  }
  return likely;
}

class World : public test::BalancedObject {
 public:
  World(uint32_t aeus, uint64_t seed) : BalancedObject(aeus), random_(seed) {}
  // True: something has moved.
  bool Period(const Accesses& accesses, uint32_t count, BalanceAlgorithm algorithm,
              uint32_t window) {
    for (uint32_t i = 0; i < count; ++i) Access(accesses.Draw(random_));
    return EndPeriod(algorithm, window);
  }
  std::vector<double> Loads(const Accesses& accesses) const {
    return BalancedObject::Loads([&](Position lo, Position hi) { return accesses.In(lo, hi); });
  }
  double MaxOverMean(const Accesses& accesses) const { return test::MaxOverMean(Loads(accesses)); }

 private:
  std::mt19937_64 random_;
};

class ConvergenceTest : public testing::Test {
 protected:
  void SetUp() override { RecordProperty("seed", std::to_string(seed_)); }
  // Periods until nothing has moved for three of them; then nothing ever does.
  int Converge(World& world, const Accesses& accesses, uint32_t per_period,
               BalanceAlgorithm algorithm = BalanceAlgorithm::kOneShot, uint32_t window = 1,
               int periods_max = 20) {
    int last = 0;
    for (int period = 1; period <= periods_max && period < last + 4; ++period) {
      if (world.Period(accesses, per_period, algorithm, window)) last = period;
    }
    for (int period = 0; period < 20; ++period) {
      EXPECT_FALSE(world.Period(accesses, per_period, algorithm, window)) << test::SeedText(seed_);
    }
    return last;
  }

  const uint64_t seed_ = test::Seed();
};

TEST_F(ConvergenceTest, ZipfIsEvenedOut) {
  for (const uint32_t aeus : {2u, 8u}) {
    for (const bool scattered : {false, true}) {
      const Accesses zipf = Zipf(100'000, 0.99, scattered);
      World world(aeus, seed_);
      Converge(world, zipf, 12'000);
      EXPECT_LE(world.MaxOverMean(zipf), 1.2)
          << aeus << " AEUs, scattered " << scattered << ", " << test::SeedText(seed_);
    }
  }
}

TEST_F(ConvergenceTest, ANarrowHotRangeInAWideSpaceIsDivided) {
  for (const uint32_t aeus : {2u, 16u, 64u}) {
    const Accesses hot = Uniform((uint64_t{1} << 63) + 777, 100, 1);
    World world(aeus, seed_);
    EXPECT_LE(Converge(world, hot, 12'000), 4);
    EXPECT_LE(world.MaxOverMean(hot), 2) << aeus << " AEUs, " << test::SeedText(seed_);
  }
}

TEST_F(ConvergenceTest, AHotKeyStaysAndTheOthersShareTheRest) {
  std::map<uint64_t, double> likely;
  for (uint64_t i = 0; i < 10'000; ++i) likely[i << 50] = 1;
  likely[uint64_t{5000} << 50] = 10'000;  // half of everything
  const Accesses accesses(likely);
  World world(8, seed_);
  Converge(world, accesses, 12'000);
  std::vector<double> loads = world.Loads(accesses);
  std::sort(loads.begin(), loads.end());
  // It has an AEU for itself; of the others, four share what is on its one side, three the rest.
  EXPECT_NEAR(loads.back(), 0.5, 0.03) << test::SeedText(seed_);
  loads.pop_back();
  EXPECT_LE(test::MaxOverMean(loads), 7.0 / 6 * 1.2) << test::SeedText(seed_);
}

TEST_F(ConvergenceTest, AShiftIsAnsweredWithinTwoCycles) {
  // All keys, then the lower half of them, then the upper one.
  const uint64_t step = uint64_t{1} << 50;
  const Accesses all = Uniform(0, 16'000, step);
  World world(8, seed_);
  EXPECT_EQ(Converge(world, all, 12'000), 0) << test::SeedText(seed_);
  for (const uint64_t begin : {uint64_t{0}, 8000 * step}) {
    const Accesses half = Uniform(begin, 8000, step);
    world.Period(half, 12'000, BalanceAlgorithm::kOneShot, 1);
    world.Period(half, 12'000, BalanceAlgorithm::kOneShot, 1);
    EXPECT_LE(world.MaxOverMean(half), 1.2) << test::SeedText(seed_);
    Converge(world, half, 12'000);
    EXPECT_LE(world.MaxOverMean(half), 1.2) << test::SeedText(seed_);
  }
}

TEST_F(ConvergenceTest, LargerWindowsNeedFewerCycles) {
  const Accesses half = Uniform(0, 8000, uint64_t{1} << 50);
  std::vector<int> cycles;
  for (const uint32_t window : {1u, 8u, 16u}) {
    World world(16, seed_);
    cycles.push_back(Converge(world, half, 12'000, BalanceAlgorithm::kMovingAverage, window, 400));
    EXPECT_LE(world.MaxOverMean(half), 1.35) << window << ", " << test::SeedText(seed_);
  }
  EXPECT_GT(cycles[0], cycles[1]) << test::SeedText(seed_);
  EXPECT_GE(cycles[1], cycles[2]) << test::SeedText(seed_);
}

}  // namespace
}  // namespace eris::balancer
