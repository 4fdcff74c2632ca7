#include "engine/objects/boundaries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "tests/support/seed.h"

namespace eris::engine {
namespace {

constexpr uint64_t kKeyMax = std::numeric_limits<uint64_t>::max();
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

__extension__ using Wide = unsigned __int128;
using ::testing::HasSubstr;
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

TEST(InitialStartsTest, TypedRangesFallIntoEvenPiecesOfTheirKeys) {
  const auto starts = InitialStarts(
      {.schema = KeyValueSchema(ColumnType::kInt64), .expected = Int64Range(-100, 100)}, 4);
  EXPECT_EQ(*starts, (Starts{0, KeyFromInt64(-50), KeyFromInt64(0), KeyFromInt64(50)}));
  EXPECT_EQ(*InitialStarts({.schema = KeyValueSchema(ColumnType::kInt64)}, 2),
            (Starts{0, KeyFromInt64(0)}));
  // Not even a piece of it lies among the NaNs.
  const auto floats = *InitialStarts({.schema = KeyValueSchema(ColumnType::kFloat64)}, 1000);
  ASSERT_EQ(floats.size(), 1000u);
  EXPECT_GT(floats[1], LowestKey(ColumnType::kFloat64));
  EXPECT_LT(floats.back(), HighestKey(ColumnType::kFloat64));
  EXPECT_EQ(*InitialStarts({.schema = KeyValueSchema(ColumnType::kFloat64)}, 2),
            (Starts{0, KeyFromFloat64(0)}));
  EXPECT_EQ(
      *InitialStarts(
          {.schema = KeyValueSchema(ColumnType::kDate), .expected = DateRange(0, std::nullopt)}, 2),
      (Starts{0, KeyFromDate(1 << 30)}));
}

TEST(InitialStartsTest, TimestampsAreExpectedWhereDatesAre) {
  for (const ObjectKind kind : {ObjectKind::kIndex, ObjectKind::kTable}) {
    Schema schema = KeyValueSchema(ColumnType::kTimestamp);
    const Starts starts = *InitialStarts({.kind = kind, .schema = schema}, 4);
    ASSERT_EQ(starts.size(), 4u);
    EXPECT_EQ(KeyText(ColumnType::kTimestamp, starts[2]), "2000-01-01 12:00:00");
  }
}

TEST(InitialStartsTest, TypedBoundsAreNamedAsWhatTheyAre) {
  const auto message = [](const CreateOptions& options) {
    const absl::Status status = InitialStarts(options, 4).status();
    EXPECT_EQ(status.code(), kInvalid);
    return std::string(status.message());
  };
  EXPECT_EQ(message({.schema = KeyValueSchema(ColumnType::kInt64), .expected = Int64Range(5, -5)}),
            "the expected range [5, -5) holds no key");
  EXPECT_EQ(
      message({.schema = KeyValueSchema(ColumnType::kInt64),
               .split_points = {KeyFromInt64(-3), KeyFromInt64(-4)}}),
      "split points must be above -9223372036854775808, up to 9223372036854775807 and strictly "
      "ascending: -4 comes after -3");
  EXPECT_EQ(message({.schema = KeyValueSchema(ColumnType::kFloat64), .split_points = {0}}),
            "split points must be above -inf, up to inf and strictly ascending: key 0 comes after "
            "-inf");
  EXPECT_EQ(
      message({.schema = KeyValueSchema(ColumnType::kDate), .split_points = {uint64_t{1} << 32}}),
      "split points must be above -5877641-06-23, up to 5881580-07-11 and strictly ascending: "
      "key 4294967296 comes after -5877641-06-23");
  EXPECT_EQ(message({.schema = KeyValueSchema(ColumnType::kDate),
                     .expected = {uint64_t{1} << 40, std::nullopt}}),
            "the expected range begins at key 1099511627776, which is no date YYYY-MM-DD from "
            "-5877641-06-23 to 5881580-07-11");
}

TEST(InitialStartsTest, OfTwoPartKeysTheFirstsAreCut) {
  const KeyTypes keys = {ColumnType::kInt64, ColumnType::kDate};
  EXPECT_EQ(*InitialStarts({.schema = KeyValueSchema(keys), .expected = Int64Range(-100, 100)}, 2),
            (Starts{0, KeyFromInt64(0)}));
  EXPECT_EQ(*InitialStarts({.schema = KeyValueSchema({ColumnType::kDate, ColumnType::kUint64})}, 4),
            *InitialStarts({.schema = KeyValueSchema(ColumnType::kDate)}, 4));
  const KeyRange inside{.lo = 1, .hi = 5, .lo_second = 1};
  EXPECT_EQ(InitialStarts({.schema = KeyValueSchema(keys), .expected = inside}, 2).status().code(),
            kInvalid);
  EXPECT_EQ(InitialStarts(
                {.schema = KeyValueSchema(keys), .expected = {.lo = 1, .hi = 5, .hi_second = 1}}, 2)
                .status()
                .code(),
            kInvalid);
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

// The starts of a clustered table's partitions.
absl::StatusOr<Starts> TableStarts(ColumnType type, CreateOptions options) {
  options.kind = ObjectKind::kTable;
  options.schema = {.columns = {{.name = "k", .type = type, .scale = 2},
                                {.name = "l", .type = ColumnType::kInt32}},
                    .key = {0, 1}};
  return InitialStarts(options, 2);
}

TEST(InitialTableStartsTest, AHeapTableHasANumberedPartitionPerAeuAndNoBounds) {
  CreateOptions heap{.kind = ObjectKind::kHeapTable,
                     .schema = {.columns = {{.name = "v", .type = ColumnType::kInt64}}}};
  EXPECT_EQ(*InitialStarts(heap, 3), (Starts{0, 1, 2}));
  heap.expected = {0, 9};
  EXPECT_EQ(InitialStarts(heap, 3).status().code(), kInvalid);
  heap.expected = {};
  heap.split_points = {9};
  EXPECT_EQ(InitialStarts(heap, 3).status().code(), kInvalid);
}

TEST(InitialTableStartsTest, BoundsAreTheFirstEightBytesOfTheKey) {
  constexpr auto kType = ColumnType::kInt64;
  constexpr uint64_t kZero = uint64_t{1} << 63;  // of i64
  EXPECT_EQ(*TableStarts(kType, {}), (Starts{0, kZero}));
  EXPECT_EQ(*TableStarts(kType, {.expected = {kZero + 1, kZero + 6'000'001}}),
            (Starts{0, kZero + 3'000'001}));
  EXPECT_EQ(*TableStarts(kType, {.split_points = {7, 9}}), (Starts{0, 7, 9}));
  EXPECT_EQ(TableStarts(kType, {.split_points = {9, 7}}).status().code(), kInvalid);
}

TEST(InitialTableStartsTest, BoundsAreNamedAsValuesOfTheColumn) {
  const auto message = [](ColumnType type, uint64_t first, uint64_t second) {
    return std::string(TableStarts(type, {.split_points = {first, second}}).status().message());
  };
  EXPECT_EQ(message(ColumnType::kInt32, KeyFromDate(7) << 32, KeyFromDate(-5) << 32),
            "split points must be above -2147483648, up to 2147483647 and strictly ascending: -5 "
            "comes after 7");
  EXPECT_THAT(message(ColumnType::kDate, KeyFromDate(1) << 32, KeyFromDate(0) << 32),
              HasSubstr("1970-01-01 comes after 1970-01-02"));
  EXPECT_THAT(message(ColumnType::kInt64, KeyFromInt64(7), KeyFromInt64(-5)),
              HasSubstr("-5 comes after 7"));
  EXPECT_THAT(message(ColumnType::kDecimal, KeyFromInt64(7), KeyFromInt64(-5)),
              HasSubstr("-0.05 comes after 0.07"));
  EXPECT_THAT(message(ColumnType::kFloat64, KeyFromFloat64(1.5), KeyFromFloat64(-2)),
              HasSubstr("-2 comes after 1.5"));
  EXPECT_THAT(message(ColumnType::kUint64, 7, 5), HasSubstr("5 comes after 7"));
  const KeyRange inverted{KeyFromDate(1) << 32, KeyFromDate(0) << 32};
  EXPECT_THAT(
      std::string(TableStarts(ColumnType::kDate, {.expected = inverted}).status().message()),
      HasSubstr("[1970-01-02, 1970-01-01) holds no key"));
}

TEST(InitialTableStartsTest, DatesAreExpectedInTwoCenturies) {
  const Starts starts = *TableStarts(ColumnType::kDate, {});
  ASSERT_EQ(starts.size(), 2u);
  // 2000, in the word's upper half; to the day, for the years are not equally long.
  const uint64_t year_2000 = KeyFromDate(10957) << 32;
  EXPECT_NEAR(static_cast<double>(starts[1]), static_cast<double>(year_2000), 0x1p33);
}

}  // namespace
}  // namespace eris::engine
