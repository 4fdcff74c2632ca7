#include "wire/keys.h"

#include <cmath>
#include <random>
#include <string>

#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::wire {
namespace {

using ::testing::HasSubstr;

constexpr ColumnType kTypes[] = {ColumnType::kUint64, ColumnType::kInt64, ColumnType::kFloat64,
                                 ColumnType::kDate, ColumnType::kTimestamp};

// A key of the type, often one of the ends.
uint64_t AnyKey(ColumnType type, std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return LowestKey(type);
    case 1:
      return HighestKey(type);
    default:
      return LowestKey(type) + random() % (HighestKey(type) - LowestKey(type));
  }
}

TEST(KeyMessagesTest, RangesOfAllPairsOfTypesGoRound) {
  constexpr uint64_t kSeed = 20240711;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", range " << i);
    KeyTypes types = kTypes[random() % std::size(kTypes)];
    if (random() % 4 != 0) types.second = kTypes[random() % std::size(kTypes)];
    KeyRange range{.lo = AnyKey(types.first, random), .hi = std::nullopt};
    if (random() % 2 == 0) range.hi = AnyKey(types.first, random);
    if (types.two_parts() && random() % 2 == 0) range.lo_second = AnyKey(*types.second, random);
    if (types.two_parts() && range.hi) range.hi_second = AnyKey(*types.second, random);
    v1::KeyRange message;
    FillRange(types, range, &message);
    const auto back = RangeFrom("range", types, message);
    // The lowest keys are as good as 0: nothing lies below them.
    const auto plain = [](ColumnType type, uint64_t key) {
      return key == LowestKey(type) ? 0 : key;
    };
    if (types.two_parts()) {
      range.lo_second = plain(*types.second, range.lo_second);
      range.hi_second = plain(*types.second, range.hi_second);
    }
    if (range.lo_second == 0) range.lo = plain(types.first, range.lo);
    if (range.Inverted()) {
      ASSERT_EQ(back.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, range);
  }
}

TEST(KeyMessagesTest, RangeWithoutSecondPartsStaysInTheShortForm) {
  const KeyTypes types{ColumnType::kUint64, ColumnType::kInt64};
  v1::KeyRange message;
  FillRange(types, {5, 9}, &message);
  EXPECT_EQ(message.lo(), 5u);
  EXPECT_EQ(message.hi(), 9u);
  EXPECT_FALSE(message.has_start() || message.has_start_second() || message.has_end_second());
  message.Clear();
  FillRange(types, {0, 9, KeyFromInt64(-1), 0}, &message);
  EXPECT_EQ(message.start().u64(), 0u);
  EXPECT_EQ(message.start_second().i64(), -1);
  EXPECT_EQ(message.end().u64(), 9u);
  EXPECT_FALSE(message.has_hi() || message.has_end_second());
}

TEST(KeyMessagesTest, ShortFormTakesSecondParts) {
  const KeyTypes types{ColumnType::kUint64, ColumnType::kDate};
  v1::KeyRange message;
  message.set_hi(9);
  message.mutable_start_second()->set_date32(1);
  message.mutable_end_second()->set_date32(-1);
  EXPECT_EQ(*RangeFrom("range", types, message), (KeyRange{0, 9, KeyFromDate(1), KeyFromDate(-1)}));
  // An lo of 0 alone is not seen to be set.
  message.clear_hi();
  message.clear_end_second();
  EXPECT_EQ(RangeFrom("range", types, message).status(),
            absl::InvalidArgumentError("range.start_second is set without range.start, the first "
                                       "part of that bound"));
  message.set_lo(7);
  EXPECT_EQ(*RangeFrom("range", types, message), (KeyRange{7, std::nullopt, KeyFromDate(1), 0}));
}

// What the object's type says of one bound, of both forms and of second parts.
TEST(KeyMessagesTest, OddRangesAreRefused) {
  const auto refusal = [](const KeyTypes& types, const v1::KeyRange& range) {
    const auto back = RangeFrom("range", types, range);
    EXPECT_EQ(back.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(back.status().message());
  };
  const KeyTypes ints = ColumnType::kInt64, floats = ColumnType::kFloat64;
  const KeyTypes pairs{ColumnType::kUint64, ColumnType::kDate};
  v1::KeyRange range;
  range.set_hi(10);
  EXPECT_EQ(refusal(ints, range),
            "range: lo and hi are for keys of type uint64; the keys of the object are int64: set "
            "start and end");
  range.mutable_end()->set_u64(10);
  EXPECT_THAT(refusal({}, range), HasSubstr("not beside start and end"));
  range.Clear();
  range.mutable_start()->set_f64(1);
  EXPECT_EQ(refusal(ints, range), "range.start: f64 is set, must be i64 as the keys of the object");
  range.mutable_start()->Clear();
  EXPECT_THAT(refusal(ints, range), HasSubstr("range.start: none is set, must be i64"));
  range.mutable_start()->set_f64(std::nan(""));
  EXPECT_THAT(refusal(floats, range), HasSubstr("range.start is NaN"));
  range.mutable_start()->set_date32(1);
  range.mutable_end()->set_date32(-1);
  EXPECT_EQ(refusal(ColumnType::kDate, range),
            "range is inverted: hi 1969-12-31 is below lo 1970-01-02");

  range.Clear();
  range.mutable_start_second()->set_date32(1);
  EXPECT_THAT(refusal(pairs, range), HasSubstr("range.start_second is set without range.start"));
  range.mutable_start()->set_u64(1);
  EXPECT_EQ(refusal({}, range),
            "range.start_second is set, but the keys of the object have one part (uint64)");
  range.mutable_start_second()->set_u64(1);
  EXPECT_THAT(refusal(pairs, range), HasSubstr("range.start_second: u64 is set, must be date32"));
  range.mutable_start_second()->set_date32(5);
  range.mutable_end_second()->set_date32(1);
  EXPECT_THAT(refusal(pairs, range), HasSubstr("range.end_second is set without range.end"));
  range.mutable_end()->set_u64(1);
  EXPECT_EQ(refusal(pairs, range), "range is inverted: hi 1/1970-01-02 is below lo 1/1970-01-06");
  range.clear_end_second();
  EXPECT_THAT(refusal(pairs, range), HasSubstr("is below lo 1/1970-01-06"));
  range.Clear();
  range.mutable_end()->set_u64(1);
  range.mutable_end_second();
  EXPECT_THAT(refusal({}, range), HasSubstr("range.end_second is set, but"));
}

}  // namespace
}  // namespace eris::wire
