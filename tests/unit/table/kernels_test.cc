// Every kernel against a plain loop, with every kind of vectors that the machine supports: all
// lengths to 200 and around a block, masks of all, none and some rows, values at their types' ends.
#include "storage/table/kernels/kernels.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/seed.h"
#include "tests/unit/table/query_world.h"

namespace eris::storage {
namespace {

template <class T>
T AnyValue(QueryRandom& random) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, double>) {
    const double special[] = {0.0,
                              -0.0,
                              Limits::quiet_NaN(),
                              -Limits::quiet_NaN(),
                              Limits::infinity(),
                              -Limits::infinity(),
                              Limits::max(),
                              Limits::denorm_min()};
    if (random() % 8 == 0) return special[random() % 8];
    return static_cast<double>(static_cast<int64_t>(random() % 64) - 32) / 4;
  } else {
    const T special[] = {Limits::min(), Limits::max(),         T{0},
                         T{1},          static_cast<T>(~T{0}), static_cast<T>(Limits::max() - 1)};
    switch (random() % 4) {
      case 0:
        return special[random() % 6];
      case 1:
        return static_cast<T>(random() % 16);
      default:
        return static_cast<T>(random());
    }
  }
}

// Values in memory that ends with their last vector.
template <class T>
class Values {
 public:
  Values(QueryRandom& random, uint32_t rows) : memory_(rows * sizeof(T)), data_(memory_.As<T>()) {
    for (uint32_t i = 0; i < rows; ++i) data_[i] = AnyValue<T>(random);
  }
  T& operator[](size_t i) const { return data_[i]; }
  T* data() const { return data_; }

 private:
  ColumnMemory memory_;
  T* data_;
};

std::vector<uint64_t> SomeMask(QueryRandom& random, uint32_t rows) {
  std::vector<uint64_t> mask((rows + 63) / 64 + 1);
  const uint64_t kind = random() % 5;  // all, half, by words, few, none
  for (uint32_t i = 0; i < rows; ++i) {
    const bool set = kind == 0 || (kind == 1 && random() % 2 == 0) ||
                     (kind == 2 && (i / 64 % 2 == 0 || random() % 40 == 0)) ||
                     (kind == 3 && random() % 20 == 0);
    if (set) mask[i / 64] |= uint64_t{1} << i % 64;
  }
  return mask;
}
bool Bit(const std::vector<uint64_t>& mask, uint32_t i) { return (mask[i / 64] >> i % 64) & 1; }

std::vector<uint32_t> Lengths() {
  std::vector<uint32_t> lengths;
  for (uint32_t i = 0; i <= 200; ++i) lengths.push_back(i);
  for (const uint32_t i : {1023u, 1984u, 2047u, 2048u}) lengths.push_back(i);
  return lengths;
}

template <class T>
void KeepsRanges(QueryRandom& random, uint32_t rows) {
  const Values<T> values(random, rows);
  T lo = AnyValue<T>(random);
  T hi = random() % 4 == 0 ? lo : AnyValue<T>(random);
  if (!(lo <= hi)) std::swap(lo, hi);
  if (!(lo <= hi)) lo = hi = T{1};  // a NaN is no bound
  const bool negated = random() % 2 == 0;
  std::vector<uint64_t> mask = SomeMask(random, rows);
  std::vector<uint64_t> expected(mask.size());
  uint32_t inside = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    const bool in = values[i] >= lo && values[i] <= hi;
    inside += in;
    if (Bit(mask, i) && in != negated) expected[i / 64] |= uint64_t{1} << i % 64;
  }
  kernels::KeepInRange(values.data(), rows, lo, hi, negated, mask.data());
  ASSERT_EQ(mask, expected);
  if constexpr (sizeof(T) > 2) {
    ASSERT_EQ(kernels::CountInRange(values.data(), rows, lo, hi), inside);
  }
}

template <class T>
void Compares(QueryRandom& random, uint32_t rows) {
  const Values<T> a(random, rows);
  const Values<T> b(random, rows);
  for (uint32_t i = 0; i < rows; i += 3) b[i] = a[i];
  for (const auto comparison :
       {kernels::Comparison::kEqual, kernels::Comparison::kLess, kernels::Comparison::kLessEqual}) {
    const bool negated = random() % 2 == 0;
    std::vector<uint64_t> mask = SomeMask(random, rows);
    std::vector<uint64_t> expected(mask.size());
    for (uint32_t i = 0; i < rows; ++i) {
      const bool holds = comparison == kernels::Comparison::kEqual  ? a[i] == b[i]
                         : comparison == kernels::Comparison::kLess ? a[i] < b[i]
                                                                    : a[i] <= b[i];
      if (Bit(mask, i) && holds != negated) expected[i / 64] |= uint64_t{1} << i % 64;
    }
    kernels::KeepCompared(a.data(), b.data(), rows, comparison, negated, mask.data());
    ASSERT_EQ(mask, expected);
  }
}

Int128 SumOf(const int32_t* v, uint32_t rows, const uint64_t* mask, bool) {
  return kernels::Sum(v, rows, mask);
}
template <class T>
Int128 SumOf(const T* v, uint32_t rows, const uint64_t* mask, bool narrow) {
  return kernels::Sum(v, rows, mask, narrow);
}

template <class T>
void Sums(QueryRandom& random, uint32_t rows) {
  const Values<T> values(random, rows);
  const bool narrow = random() % 2 == 0;
  if (narrow) {
    for (uint32_t i = 0; i < rows; ++i) values[i] = static_cast<T>(values[i] % 1'000'000);
  }
  const std::vector<uint64_t> mask = SomeMask(random, rows);
  const bool all = random() % 4 == 0;
  Int128 expected = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    if (all || Bit(mask, i)) expected += values[i];
  }
  ASSERT_TRUE(SumOf(values.data(), rows, all ? nullptr : mask.data(), narrow) == expected);
}

void CountsRows(QueryRandom& random, uint32_t rows) {
  const std::vector<uint64_t> mask = SomeMask(random, rows);
  uint32_t expected = 0;
  for (uint32_t i = 0; i < rows; ++i) expected += Bit(mask, i) ? 1 : 0;
  ASSERT_EQ(kernels::CountRows(mask.data(), rows), expected);
}

void SumsDoubles(QueryRandom& random, uint32_t rows) {
  const Values<double> values(random, rows);
  const std::vector<uint64_t> mask = SomeMask(random, rows);
  double expected = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    values[i] = static_cast<double>(random() % 1000) / 8;  // exact in any order
    if (Bit(mask, i)) expected += values[i];
  }
  ASSERT_EQ(kernels::Sum(values.data(), rows, mask.data()), expected);
}

template <class T, class U>
void SumsInRange(QueryRandom& random, uint32_t rows) {
  const Values<T> tested(random, rows);
  const Values<U> other(random, rows);
  const bool same = sizeof(T) == sizeof(U) && random() % 2 == 0;
  const U* const values = same ? reinterpret_cast<const U*>(tested.data()) : other.data();
  T lo = AnyValue<T>(random);
  T hi = AnyValue<T>(random);
  if (lo > hi) std::swap(lo, hi);
  Int128 expected = 7;
  uint32_t count = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    if (tested[i] < lo || tested[i] > hi) continue;
    expected += values[i];
    ++count;
  }
  Int128 sum = 7;
  ASSERT_EQ(kernels::SumInRange(tested.data(), lo, hi, values, rows, sum), count);
  ASSERT_TRUE(sum == expected);
}

template <class T>
void FindsExtremes(QueryRandom& random, uint32_t rows) {
  const Values<T> values(random, rows);
  const std::vector<uint64_t> mask = SomeMask(random, rows);
  const bool all = random() % 4 == 0;
  kernels::Extremes expected{};
  for (uint32_t i = 0; i < rows; ++i) {
    if (!all && !Bit(mask, i)) continue;
    int64_t key = 0;
    if constexpr (sizeof(T) == 4) {
      key = values[i];
    } else {
      key = kernels::OrderKey(values[i]);
    }
    expected.min = std::min(expected.min, key);
    expected.max = std::max(expected.max, key);
  }
  kernels::Extremes found{};
  kernels::FindExtremes(values.data(), rows, all ? nullptr : mask.data(), found);
  ASSERT_EQ(found.min, expected.min);
  ASSERT_EQ(found.max, expected.max);
}

template <class T>
void Computes(QueryRandom& random, uint32_t rows) {
  const Values<T> a(random, rows);
  const Values<T> b(random, rows);
  const Values<T> out(random, rows);
  const auto apply = [](kernels::Operation operation, T x, T y) {
    return operation == kernels::Operation::kAdd        ? x + y
           : operation == kernels::Operation::kSubtract ? x - y
           : operation == kernels::Operation::kMultiply ? x * y
                                                        : x / y;
  };
  const auto same = [](T x, T y) {
    return x == y || (x != x && y != y);  // NaNs are alike
  };
  for (const auto operation : {kernels::Operation::kAdd, kernels::Operation::kSubtract,
                               kernels::Operation::kMultiply, kernels::Operation::kDivide}) {
    if (operation == kernels::Operation::kDivide && !std::is_same_v<T, double>) continue;
    kernels::Compute(operation, a.data(), b.data(), rows, out.data());
    for (uint32_t i = 0; i < rows; ++i) {
      ASSERT_TRUE(same(out[i], apply(operation, a[i], b[i])));
    }
    const T constant = AnyValue<T>(random);
    for (const bool reversed : {false, true}) {
      kernels::ComputeWith(operation, a.data(), constant, reversed, rows, out.data());
      for (uint32_t i = 0; i < rows; ++i) {
        ASSERT_TRUE(same(out[i], reversed ? apply(operation, constant, a[i])
                                          : apply(operation, a[i], constant)));
      }
    }
  }
}

void Widens(QueryRandom& random, uint32_t rows) {
  const Values<int32_t> values(random, rows);
  const Values<int64_t> out(random, rows + 64);
  kernels::Widen(values.data(), rows, out.data());
  for (uint32_t i = 0; i < rows; ++i) ASSERT_EQ(out[i], values[i]);
}

void FindsRanks(QueryRandom& random, uint32_t rows) {
  if (rows == 0) return;
  // What is behind them must not matter.
  const Values<int64_t> values(random, rows + kernels::kRankSpare);
  const bool few = random() % 2 == 0;
  for (uint32_t i = 0; i < rows && few; ++i) values.data()[i] %= 3;
  std::vector<int64_t> sorted(values.data(), values.data() + rows);
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> room(4 * (rows + kernels::kRankSpare));
  for (const uint32_t rank : {0u, (rows - 1) / 2, rows - 1}) {
    const bool both = rank + 1 < rows;
    int64_t at = 0, behind = 0;
    kernels::ValuesAtRank(values.data(), rows, rank, room.data(), &at, both ? &behind : nullptr);
    ASSERT_EQ(at, sorted[rank]) << rank;
    if (both) ASSERT_EQ(behind, sorted[rank + 1]) << rank;
  }
}

class KernelsTest : public testing::Test {
 protected:
  ~KernelsTest() override { Use(0); }
  static void Use(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

TEST_F(KernelsTest, AgreeWithPlainLoopsWithEveryKindOfVector) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  Use(0);
  const std::string best = kernels::TargetName();
  std::set<std::string> used;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    Use(left & -left);
    // Targets that are not compiled are replaced by another one.
    if (!used.insert(kernels::TargetName()).second) continue;
    SCOPED_TRACE(kernels::TargetName());
    QueryRandom random(seed);
    for (const uint32_t rows : Lengths()) {
      SCOPED_TRACE(rows);
      for (int round = 0; round < 3; ++round) {
        ASSERT_NO_FATAL_FAILURE(KeepsRanges<int32_t>(random, rows));
        ASSERT_NO_FATAL_FAILURE(KeepsRanges<int64_t>(random, rows));
        ASSERT_NO_FATAL_FAILURE(KeepsRanges<uint64_t>(random, rows));
        ASSERT_NO_FATAL_FAILURE(KeepsRanges<double>(random, rows));
        ASSERT_NO_FATAL_FAILURE(KeepsRanges<uint16_t>(random, rows));
        ASSERT_NO_FATAL_FAILURE(Sums<int32_t>(random, rows));
        ASSERT_NO_FATAL_FAILURE(Sums<int64_t>(random, rows));
        ASSERT_NO_FATAL_FAILURE(Sums<uint64_t>(random, rows));
        ASSERT_NO_FATAL_FAILURE(SumsDoubles(random, rows));
        ASSERT_NO_FATAL_FAILURE((SumsInRange<int32_t, int32_t>(random, rows)));
        ASSERT_NO_FATAL_FAILURE((SumsInRange<uint64_t, uint64_t>(random, rows)));
        ASSERT_NO_FATAL_FAILURE((SumsInRange<uint64_t, int64_t>(random, rows)));
        ASSERT_NO_FATAL_FAILURE((SumsInRange<int32_t, uint64_t>(random, rows)));
        ASSERT_NO_FATAL_FAILURE((SumsInRange<int32_t, int64_t>(random, rows)));
        ASSERT_NO_FATAL_FAILURE(CountsRows(random, rows));
        ASSERT_NO_FATAL_FAILURE(FindsExtremes<int32_t>(random, rows));
        ASSERT_NO_FATAL_FAILURE(FindsExtremes<int64_t>(random, rows));
        ASSERT_NO_FATAL_FAILURE(FindsExtremes<uint64_t>(random, rows));
        ASSERT_NO_FATAL_FAILURE(FindsExtremes<double>(random, rows));
        ASSERT_NO_FATAL_FAILURE(FindsRanks(random, rows));
      }
      ASSERT_NO_FATAL_FAILURE(Compares<int64_t>(random, rows));
      ASSERT_NO_FATAL_FAILURE(Compares<uint64_t>(random, rows));
      ASSERT_NO_FATAL_FAILURE(Compares<double>(random, rows));
      ASSERT_NO_FATAL_FAILURE(Computes<uint64_t>(random, rows));
      ASSERT_NO_FATAL_FAILURE(Computes<double>(random, rows));
      ASSERT_NO_FATAL_FAILURE(Widens(random, rows));
    }
  }
  EXPECT_TRUE(used.contains(best)) << best;
  RecordProperty("vectors", std::to_string(used.size()));
}

TEST_F(KernelsTest, KeysOfDoublesSortNaNLastAndNegativeZeroFirst) {
  const double ascending[] = {-std::numeric_limits<double>::infinity(),
                              -1.5,
                              -0.0,
                              0.0,
                              1e-300,
                              std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()};
  for (size_t i = 0; i + 1 < std::size(ascending); ++i) {
    EXPECT_LT(kernels::OrderKey(ascending[i]), kernels::OrderKey(ascending[i + 1])) << i;
    EXPECT_EQ(kernels::DoubleOfKey(kernels::OrderKey(ascending[i])), ascending[i]);
  }
  EXPECT_TRUE(std::isnan(kernels::DoubleOfKey(kernels::OrderKey(ascending[6]))));
}

}  // namespace
}  // namespace eris::storage
