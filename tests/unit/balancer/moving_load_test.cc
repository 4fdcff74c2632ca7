// Loads that are hot at another place in each period, scans that ask for everything, and what both
// leave behind: 2 to 512 AEUs, period by period, without an engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/support/balanced_object.h"
#include "tests/support/load_samples.h"
#include "tests/support/seed.h"

namespace eris::balancer {
namespace {

using test::BalancedObject;
using test::SeedText;

class MovingLoadTest : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override { RecordProperty("seed", std::to_string(seed_)); }
  uint32_t aeus() const { return GetParam(); }
  // Enough for each AEU to have some.
  uint64_t rows() const { return 12'000 + 200 * aeus(); }
  static constexpr uint64_t kStep = 1'000'003;  // between keys

  // Rows in the order of `keys`, in so many periods.
  static void Load(BalancedObject& object, const std::vector<uint64_t>& keys, uint64_t periods) {
    for (uint64_t period = 0; period < periods; ++period) {
      for (uint64_t i = keys.size() * period / periods; i < keys.size() * (period + 1) / periods;
           ++i) {
        object.Insert(keys[i]);
      }
      object.EndPeriod();
    }
  }
  std::vector<uint64_t> Ascending() const {
    std::vector<uint64_t> keys(rows());
    for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = i * kStep;
    return keys;
  }

  const uint64_t seed_ = test::Seed();
  std::mt19937_64 random_{seed_};
};

TEST_P(MovingLoadTest, RowsInKeyOrderStayWhereTheyCome) {
  for (const uint64_t periods : {3, 10, 100}) {
    for (const bool descending : {false, true}) {
      BalancedObject object(aeus(), Position{rows()} * kStep);
      std::vector<uint64_t> keys = Ascending();
      if (descending) std::reverse(keys.begin(), keys.end());
      Load(object, keys, periods);
      object.EndPeriods(700);
      EXPECT_EQ(object.cycles_moved(), 0) << periods << " periods";
      EXPECT_LE(object.RowsMaxOverMean(), 1.1) << periods << " periods";
    }
  }
}

// The keys begin at 0, the boundaries reach to the end of all keys: one AEU gets everything.
TEST_P(MovingLoadTest, RowsThatOneAeuGotInKeyOrderAreEvenedOutAtRest) {
  BalancedObject object(aeus());
  Load(object, Ascending(), 20);
  EXPECT_EQ(object.cycles_moved(), 0);
  EXPECT_GT(object.RowsMaxOverMean(), aeus() * 0.9);
  object.EndPeriods(60);
  EXPECT_LE(object.RowsMaxOverMean(), aeus() < 512 ? 1.2 : 1.6);  // 1,024 keys tell of all rows
  EXPECT_LE(object.cycles_moved(), 3);
  const uint64_t moved = object.rows_moved();
  EXPECT_LE(moved, 3 * rows() * BalancedObject::kRowsEach);
  object.EndPeriods(1000);
  EXPECT_EQ(object.rows_moved(), moved);
}

// Each pause is long enough for rows to be evened out. From pause to pause, 8 AEUs would move 2.5
// times as many rows as are loaded.
TEST_P(MovingLoadTest, ALoadInKeyOrderWithPausesIsNotFollowedFromPauseToPause) {
  for (const bool chosen : {true, false}) {
    BalancedObject object =
        chosen ? BalancedObject(aeus(), Position{rows()} * kStep) : BalancedObject(aeus());
    const std::vector<uint64_t> keys = Ascending();
    constexpr uint64_t kParts = 10;
    for (uint64_t part = 0; part < kParts; ++part) {
      const auto at = [&](uint64_t i) {
        return keys.begin() + static_cast<ptrdiff_t>(keys.size() * i / kParts);
      };
      Load(object, {at(part), at(part + 1)}, 4);
      if (part + 1 < kParts) object.EndPeriods(20);
    }
    const uint64_t loaded = rows() * BalancedObject::kRowsEach;
    EXPECT_LE(object.rows_moved(), chosen ? 0 : loaded / 4);
    object.EndPeriods(700);
    EXPECT_EQ(object.rows_moved() == 0, chosen);
    EXPECT_LE(object.RowsMaxOverMean(), 1.2);
  }
}

TEST_P(MovingLoadTest, RowsInRandomOrderAreDividedWhileTheyCome) {
  BalancedObject object(aeus());
  std::vector<uint64_t> keys = Ascending();
  std::shuffle(keys.begin(), keys.end(), random_);
  Load(object, keys, 10);
  EXPECT_GT(object.cycles_moved(), 0);
  EXPECT_LE(object.cycles_moved(), 4) << SeedText(seed_);
  // By load: as even as that can be seen. By rows, if at all, after a long rest.
  object.EndPeriods(700);
  EXPECT_LE(object.RowsMaxOverMean(), aeus() < 512 ? 1.5 : 2.5) << SeedText(seed_);
}

// Readers of all rows place the boundaries; what is appended meanwhile does not move them.
TEST_P(MovingLoadTest, ReadersBesideAnEndlessAppendAreFollowedAndTheAppendIsNot) {
  BalancedObject object(aeus());
  uint64_t appended = 0;
  const auto append = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) object.Insert(appended++ * kStep);
  };
  append(rows());
  int late = 0;
  std::vector<double> uneven;  // in the last periods: one alone depends on the last samples
  for (int period = 0; period < 40; ++period) {
    append(rows() / 25 / aeus());
    for (uint64_t i = 0; i < rows(); ++i) object.Access(random_() % appended * kStep);
    late += object.EndPeriod() && period >= 30;
    const uint64_t end = appended * kStep;
    const auto loads = object.Loads([&](Position lo, Position hi) {
      return static_cast<double>(std::min<Position>(hi, end) - std::min<Position>(lo, end));
    });
    if (period >= 31) uneven.push_back(test::MaxOverMean(loads));
  }
  std::nth_element(uneven.begin(), uneven.begin() + 4, uneven.end());
  EXPECT_LE(uneven[4], aeus() < 512 ? 1.6 : 2.2) << SeedText(seed_);
  EXPECT_LE(late, 3) << SeedText(seed_);
}

// A hot range that moves by a tenth of its width in each period lasts long enough.
TEST_P(MovingLoadTest, AHotRangeThatDriftsSlowlyIsFollowed) {
  if (aeus() > 64) return;  // of its 512th parts nothing is left in the next period
  BalancedObject object(aeus());
  const uint64_t width = uint64_t{1} << 40;
  uint64_t begin = uint64_t{1} << 60;
  for (int period = 0; period < 30; ++period, begin += width / 40) {
    for (uint64_t i = 0; i < rows(); ++i) object.Access(begin + random_() % width);
    object.EndPeriod();
  }
  const auto loads = object.Loads([&](Position lo, Position hi) {
    const Position end = Position{begin} + width;
    return static_cast<double>(std::clamp<Position>(hi, begin, end) -
                               std::clamp<Position>(lo, begin, end));
  });
  EXPECT_LE(test::MaxOverMean(loads), aeus() < 64 ? 2 : 6) << SeedText(seed_);
}

TEST_P(MovingLoadTest, ScansOfAllRowsMoveThemUntilTheyAreEven) {
  BalancedObject object(aeus());
  Load(object, Ascending(), 20);
  ASSERT_GT(object.RowsMaxOverMean(), aeus() * 0.9);
  for (int period = 0; period < 30; ++period) {
    object.ScanAll(50);
    object.EndPeriod();
  }
  EXPECT_LE(object.RowsMaxOverMean(), aeus() < 512 ? 1.25 : 1.6);
  EXPECT_LE(object.cycles_moved(), 5);
  const uint64_t moved = object.rows_moved();
  for (int period = 0; period < 30; ++period) {
    object.ScanAll(50);
    object.EndPeriod();
  }
  EXPECT_EQ(object.rows_moved(), moved);
}

INSTANTIATE_TEST_SUITE_P(Aeus, MovingLoadTest, testing::Values(2, 3, 8, 64, 512),
                         [](const auto& one) { return std::to_string(one.param); });

}  // namespace
}  // namespace eris::balancer
