// The middle of a group's values against std::nth_element: few and many values, of 64 and of 128
// bits, however they are spread, in pieces of any size.
#include "storage/table/groups/middle_pick.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "storage/table/groups/group_values.h"
#include "storage/table/groups/run_memory.h"
#include "tests/support/seed.h"

namespace eris::storage {
namespace {

template <class Value>
using Middle = std::pair<Value, Value>;

template <class Value>
Middle<Value> Expected(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<int64_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return {*middle, *middle};
  return {*middle, *std::min_element(middle + 1, values.end())};
}

template <class Value>
class MiddlePickTest : public testing::Test {
 protected:
  // In pieces of `piece` values; how many there were.
  Middle<Value> Pick(const std::vector<Value>& values, uint64_t piece, uint64_t* pieces = nullptr) {
    CountedPages pages(nullptr);
    GroupValues kept(pages);
    GroupValues::Chain chain{};
    for (const Value value : values) EXPECT_TRUE(kept.Add(chain, value));
    pick_.Begin(chain, values.size());
    uint64_t count = 1;
    while (pick_.Advance(piece)) ++count;
    if (pieces != nullptr) *pieces = count;
    return {pick_.low(), pick_.high()};
  }

  const std::unique_ptr<MiddleScratch> scratch_ = std::make_unique<MiddleScratch>();
  MiddlePick<Value> pick_{*scratch_};
};
using ValueTypes = testing::Types<int64_t, Int128>;
TYPED_TEST_SUITE(MiddlePickTest, ValueTypes);

template <class Value>
constexpr Value kLeast = static_cast<Value>(Value{1} << (8 * sizeof(Value) - 2)) * -2;
template <class Value>
constexpr Value kMost = -(kLeast<Value> + 1);

// All bits, few values, one value, a narrow range, each with as many values in each power of two,
// some far away, ascending, descending, the ends of the type.
template <class Value>
Value SampleValue(uint32_t how, uint64_t i, std::mt19937_64& random) {
  const uint64_t bits = random();
  const auto wide = static_cast<Value>(static_cast<Uint128>(bits) << 64 | random());
  switch (how) {
    case 0:
      return wide;
    case 1:
      return static_cast<Value>(bits % 5);
    case 2:
      return -7;
    case 3:
      return static_cast<Value>(bits % 3000) - 1500;
    case 4:
      return static_cast<Value>(wide >> (random() % (8 * sizeof(Value))));
    case 5:
      return bits % 1000 == 0 ? kLeast<Value> + static_cast<Value>(bits % 7) : Value{3};
    case 6:
      return static_cast<Value>(i);
    case 7:
      return -static_cast<Value>(i);
    default:
      return bits % 2 == 0 ? kLeast<Value> : kMost<Value>;
  }
}
constexpr uint32_t kWays = 9;

TYPED_TEST(MiddlePickTest, IsThatOfNthElement) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  std::vector<uint64_t> sizes = {kMiddleNear - 1, kMiddleNear, kMiddleNear + 1, 5000,
                                 40'000,          40'001};
  for (uint64_t size = 1; size < 70; ++size) sizes.push_back(size);
  for (int i = 0; i < 40; ++i) sizes.push_back(1 + random() % 3000);
  for (const uint64_t size : sizes) {
    for (uint32_t how = 0; how < kWays; ++how) {
      std::vector<TypeParam> values;
      for (uint64_t i = 0; i < size; ++i) {
        values.push_back(SampleValue<TypeParam>(how, i, random));
      }
      const uint64_t piece = 1 + random() % 5000;
      ASSERT_EQ(this->Pick(values, piece), Expected(values))
          << size << " values of kind " << how << " in pieces of " << piece;
    }
  }
}

// The halves on both sides of a gap: the upper value is in another part than the lower one.
TYPED_TEST(MiddlePickTest, TwoInTheMiddleMayBeFarApart) {
  for (const uint64_t half : {1u, 5u, 1024u, 1025u, 20'000u}) {
    std::vector<TypeParam> values(half, kLeast<TypeParam>);
    values.resize(2 * half, kMost<TypeParam>);
    EXPECT_EQ(this->Pick(values, 700), Middle<TypeParam>(kLeast<TypeParam>, kMost<TypeParam>));
    values.push_back(3);
    EXPECT_EQ(this->Pick(values, 700), Middle<TypeParam>(3, 3));
    values.push_back(kMost<TypeParam>);
    EXPECT_EQ(this->Pick(values, 700), Middle<TypeParam>(3, kMost<TypeParam>));
  }
}

TYPED_TEST(MiddlePickTest, ManyValuesAreLookedAtInPieces) {
  std::mt19937_64 random(1);
  std::vector<TypeParam> values;
  for (uint64_t i = 0; i < 100'000; ++i) values.push_back(SampleValue<TypeParam>(0, i, random));
  uint64_t pieces = 0;
  EXPECT_EQ(this->Pick(values, 500, &pieces), Expected(values));
  // Their bounds, the counts, and those that are taken.
  EXPECT_GE(pieces, 3 * values.size() / 500);
}

TEST(GroupValuesTest, AChainHasWhatWasAdded) {
  for (const size_t count : {0u, 1u, 2u, 3u, 14u, 15u, 100u, 5000u}) {
    CountedPages pages(nullptr);
    GroupValues kept(pages), others(pages);
    GroupValues::Chain chain{}, other{}, wide{};
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(kept.Add(chain, static_cast<int64_t>(i)));
      ASSERT_TRUE(kept.Add(wide, Int128{static_cast<int64_t>(i)} << 70));
      ASSERT_TRUE(kept.Add(other, int64_t{-1}));
    }
    ASSERT_TRUE(others.AddAll<int64_t>(chain, other));
    ASSERT_TRUE(others.AddAll<Int128>(wide, wide));
    std::vector<int64_t> got;
    for (GroupValues::Walk walk(other); walk.left() > 0;) {
      int64_t value = 0;
      std::memcpy(&value, walk.Take(1), sizeof value);
      got.push_back(value);
    }
    std::sort(got.begin(), got.end());
    std::vector<int64_t> expected(count, -1);
    for (size_t i = 0; i < count; ++i) expected.push_back(static_cast<int64_t>(i));
    EXPECT_EQ(got, expected);
    size_t words = 0;
    for (GroupValues::Walk walk(wide); walk.left() > 0;) {
      const uint64_t left = walk.left();
      words += left;
      walk.Take(left);
    }
    EXPECT_EQ(words, 4 * count);
  }
}

TEST(GroupValuesTest, MemoryIsCountedAndRefused) {
  RunMemory memory(1 << 20);
  CountedPages pages(&memory);
  GroupValues kept(pages);
  GroupValues::Chain chain{};
  uint64_t count = 0;
  while (kept.Add(chain, static_cast<int64_t>(count))) ++count;
  EXPECT_GT(count, (1u << 20) / 8 / 2);
  EXPECT_LE(memory.used(), memory.bytes_max());
  uint32_t freed = 1;
  while (kept.FreeSome(freed)) freed = 1;
  EXPECT_EQ(memory.used(), 0u);
}

}  // namespace
}  // namespace eris::storage
