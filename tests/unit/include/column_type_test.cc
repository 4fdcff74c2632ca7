// The facts of each column type, and what is derived from them.
#include "eris/column_type.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <type_traits>

namespace eris {
namespace {

static_assert(ColumnValueBytes(ColumnType::kDate) == 4);
static_assert(ColumnValueBytes(ColumnType::kDecimal) == 8);
static_assert(ColumnValueBytes(ColumnType::kInt128) == 16);
static_assert(ColumnValueBytes(ColumnType::kString) == 0);
static_assert(ColumnValueBytes(ColumnType::kBytes) == 0);
static_assert(IsColumnType(ColumnType::kString) && !IsColumnType(ColumnType::kInt128));

constexpr auto kNoType = static_cast<ColumnType>(255);

TEST(ColumnTypeTest, TypesOfColumnsHaveDifferentNamesAndFormats) {
  std::set<std::string> names;
  std::set<std::string> formats;
  for (const ColumnType type : kColumnTypes) {
    EXPECT_TRUE(IsColumnType(type));
    names.insert(ColumnTypeName(type));
    formats.insert(VisitColumnType(type, [](auto traits) { return traits.arrow_format; }));
  }
  EXPECT_EQ(names.size(), std::size(kColumnTypes));
  EXPECT_EQ(formats.size(), std::size(kColumnTypes));
  EXPECT_EQ(names.count("unknown") + formats.count("n"), 0u);
}

TEST(ColumnTypeTest, WhatIsNoTypeHasNoBytesAndNoName) {
  EXPECT_FALSE(IsColumnType(kNoType));
  EXPECT_EQ(ColumnValueBytes(kNoType), 0u);
  EXPECT_STREQ(ColumnTypeName(kNoType), "unknown");
}

TEST(ColumnTypeTest, VisitsWithTheTypeOfAValue) {
  const auto is_double = []<class T>(ColumnTraits<T>) { return std::is_same_v<T, double>; };
  const auto is_void = []<class T>(ColumnTraits<T>) { return std::is_void_v<T>; };
  for (const ColumnType type : kColumnTypes) {
    EXPECT_EQ(VisitColumnType(type, is_double), type == ColumnType::kFloat64);
    EXPECT_EQ(VisitColumnType(type, is_void), IsByteString(type));
  }
}

}  // namespace
}  // namespace eris
