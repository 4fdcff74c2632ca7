#include "clients/load/key_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace eris::load {
namespace {

std::vector<uint64_t> NumbersTo(uint64_t count) {
  std::vector<uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(KeySetTest, KeysAscendWithTheirNumbersAndOthersAreNoneOfThem) {
  for (const Layout layout : {Layout::kDense, Layout::kSparse}) {
    for (const uint64_t count : {uint64_t{1}, uint64_t{2}, uint64_t{1000}, uint64_t{100'003}}) {
      const KeySet keys(count, layout);
      std::set<uint64_t> all;
      for (uint64_t number = 0; number < 5 * count; ++number) {
        const uint64_t key = keys.Key(number);
        ASSERT_TRUE(all.insert(key).second) << number << " of " << count;
        ASSERT_EQ(keys.IsInSet(key), number < count) << number << " of " << count;
        if (number >= count) continue;
        ASSERT_EQ(*all.rbegin(), key) << "no order at " << number << " of " << count;
        ASSERT_EQ(keys.NumberOf(key), number);
      }
    }
  }
}

TEST(KeySetTest, ALargeSetEndsBelowTheEndOfTheKeySpace) {
  const KeySet keys(KeySet::kCountMax, Layout::kSparse);
  const uint64_t last = KeySet::kCountMax - 1;
  EXPECT_LT(keys.Key(last - 1), keys.Key(last));
  EXPECT_EQ(keys.NumberOf(keys.Key(last)), last);
}

TEST(KeySetTest, ColumnsAreWhatSingleKeysAre) {
  const KeySet keys(10'000, Layout::kSparse);
  for (const uint64_t from : {uint64_t{0}, uint64_t{9'000}}) {  // within the set, and beyond it
    std::vector<uint64_t> column(1001), values(1001);
    std::iota(column.begin(), column.end(), from);
    keys.ToKeys(absl::MakeSpan(column));
    FillValues(column, absl::MakeSpan(values));
    for (size_t i = 0; i < column.size(); ++i) {
      ASSERT_EQ(column[i], keys.Key(from + i));
      ASSERT_EQ(values[i], ValueOf(column[i]));
    }
    const auto* bytes = reinterpret_cast<const char*>(values.data());
    EXPECT_EQ(CountWrongValues(column, bytes), 0u);
    values[0] ^= 1;
    values[1000] ^= uint64_t{1} << 63;
    EXPECT_EQ(CountWrongValues(column, bytes), 2u);
  }
}

TEST(KeySetTest, SpreadIsAPermutationThatLeavesNeighboursFarApart) {
  for (const uint64_t count : {1, 2, 6, 1000, 65'536, 99'991}) {
    const KeySet keys(count, Layout::kDense);
    std::vector<uint64_t> all = NumbersTo(count);
    keys.SpreadAll(absl::MakeSpan(all));
    for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(all[i], keys.Spread(i));
    if (count >= 1000) {
      for (uint64_t i = 1; i < count; ++i) {
        const uint64_t gap = std::max(all[i], all[i - 1]) - std::min(all[i], all[i - 1]);
        ASSERT_GT(gap, count / 10) << i << " of " << count;
      }
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, NumbersTo(count));
  }
}

TEST(KeySetTest, SpreadOfManyKeysStaysInRange) {
  const KeySet keys(KeySet::kCountMax - 1, Layout::kSparse);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 100'000; ++i) {
    const uint64_t number = keys.Spread(keys.count() - 1 - i);
    ASSERT_LT(number, keys.count());
    ASSERT_TRUE(seen.insert(number).second);
  }
}

TEST(KeySetTest, SplitPointsGiveEqualShares) {
  for (const Layout layout : {Layout::kDense, Layout::kSparse}) {
    const KeySet keys(100'000, layout);
    std::vector<uint64_t> all = NumbersTo(keys.count());
    keys.ToKeys(absl::MakeSpan(all));
    for (const uint32_t partitions : {1u, 2u, 7u, 8u}) {
      const std::vector<uint64_t> points = keys.SplitPoints(partitions);
      ASSERT_EQ(points.size(), partitions - 1);
      auto from = all.begin();
      for (uint32_t i = 0; i < partitions; ++i) {
        const auto to =
            i + 1 < partitions ? std::lower_bound(all.begin(), all.end(), points[i]) : all.end();
        EXPECT_NEAR(static_cast<double>(to - from), 100'000.0 / partitions, 1);
        from = to;
      }
    }
  }
}

}  // namespace
}  // namespace eris::load
