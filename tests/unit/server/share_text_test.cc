#include "server/flight/share_text.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eris/key_encoding.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

Object ObjectOfColumns(ObjectKind kind, std::vector<ColumnSchema> columns, size_t keys) {
  Schema schema{.columns = std::move(columns)};
  for (uint32_t i = 0; i < keys; ++i) schema.key.push_back(i);
  return Object(std::make_shared<Object::State>("o", ObjectId{7}, kind, std::move(schema)));
}

std::string TextOf(const Object& object, const KeyRange& range, uint32_t parts = 1) {
  return ShareText(object, {.aeu = {3}, .numa_node = {1}, .range = range, .rows = 10}, parts);
}

std::string Expected(const std::string& range, int rows = 10) {
  return R"({"aeu":3,"numa_node":1,"range":{)" + range + R"(},"rows":)" + std::to_string(rows) +
         "}";
}

TEST(ShareTextTest, RangesOfAnIndexAreKeysAsACommandHasThem) {
  const auto index = [](ColumnType type) {
    return ObjectOfColumns(ObjectKind::kIndex, {{.name = "k", .type = type}, {.name = "v"}}, 1);
  };
  EXPECT_EQ(TextOf(index(ColumnType::kUint64), {}), Expected(""));
  EXPECT_EQ(TextOf(index(ColumnType::kUint64), {.lo = 5, .hi = ~uint64_t{0}}),
            Expected(R"("hi":18446744073709551615,"lo":5)"));
  EXPECT_EQ(TextOf(index(ColumnType::kInt64), Int64Range(-5, 7)), Expected(R"("hi":7,"lo":-5)"));
  EXPECT_EQ(TextOf(index(ColumnType::kFloat64), *Float64Range(0.1, 2)),
            Expected(R"("hi":2.0,"lo":0.1)"));
  EXPECT_EQ(TextOf(index(ColumnType::kFloat64),
                   *Float64Range(std::nullopt, std::numeric_limits<double>::infinity())),
            Expected(R"("hi":"inf")"));
  EXPECT_EQ(TextOf(index(ColumnType::kDate), DateRange(2, std::nullopt)),
            Expected(R"("lo":"1970-01-03")"));
  EXPECT_EQ(TextOf(index(ColumnType::kDate), {.hi = uint64_t{1} << 32}), Expected(""));
}

TEST(ShareTextTest, TwoPartsAreAList) {
  const Object pairs = ObjectOfColumns(ObjectKind::kIndex,
                                       {{.name = "k", .type = ColumnType::kUint64},
                                        {.name = "l", .type = ColumnType::kDate},
                                        {.name = "v"}},
                                       2);
  EXPECT_EQ(TextOf(pairs, {.lo = 0, .hi = 4, .lo_second = KeyFromDate(2)}),
            Expected(R"("hi":4,"lo":[0,"1970-01-03"])"));
}

TEST(ShareTextTest, RangesOfATableAreValuesOfTheFirstKeyColumn) {
  const auto table = [](const ColumnSchema& column) {
    return ObjectOfColumns(ObjectKind::kTable, {column, {.name = "b", .type = ColumnType::kInt32}},
                           2);
  };
  const Object narrow = table({.name = "a", .type = ColumnType::kInt32});
  const auto word = [](int32_t value) { return EncodeKey(value) << 32; };
  EXPECT_EQ(TextOf(narrow, {.lo = word(-5), .hi = word(7)}), Expected(R"("hi":7,"lo":-5)"));
  // Cut inside a value: both sides have it.
  EXPECT_EQ(TextOf(narrow, {.lo = word(-5) + 1, .hi = word(7) + 1}), Expected(R"("hi":8,"lo":-5)"));
  EXPECT_EQ(TextOf(narrow, {.hi = ~uint64_t{0}}), Expected(""));
  EXPECT_EQ(
      TextOf(table({.name = "a", .type = ColumnType::kDecimal, .scale = 2}), Int64Range(-5, 123)),
      Expected(R"("hi":"1.23","lo":"-0.05")"));
  EXPECT_EQ(TextOf(table({.name = "a", .type = ColumnType::kUint64}), {.hi = 9}, 3),
            Expected(R"("hi":9)", 4));
  EXPECT_EQ(TextOf(ObjectOfColumns(ObjectKind::kHeapTable, {{.name = "a"}}, 0), {}),
            R"({"aeu":3,"numa_node":1,"rows":10})");
}

}  // namespace
}  // namespace eris::server
