#include "wire/query.h"

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::wire {
namespace {

using ::testing::HasSubstr;

const Schema kTable{.columns = {{.name = "a", .type = ColumnType::kInt64}}, .key = {0}};

absl::StatusOr<Query> FromTable(const v1::Query& message) {
  return QueryFrom(ObjectKind::kTable, kTable, message);
}

TEST(QueryTest, QueryComesBack) {
  Query query;
  query.filter = Expression{.kind = Expression::Kind::kLess,
                            .arguments = {{.kind = Expression::Kind::kColumn, .column = "a"},
                                          {.kind = Expression::Kind::kLiteral, .value = Date{7}}}};
  query.columns.push_back({.expression = *query.filter, .name = "less"});
  query.group_by = {"a", "b"};
  query.aggregates.push_back(
      {.function = AggregateFunction::kSum, .argument = query.filter->arguments[0], .name = "sum"});
  query.share = {AeuId{3}, 1, 4};
  query.limit = 5;
  v1::Query message;
  ASSERT_TRUE(FillQuery(ObjectKind::kTable, kTable, query, &message).ok());
  const auto back = FromTable(message);
  ASSERT_TRUE(back.ok()) << back.status();
  v1::Query again;
  ASSERT_TRUE(FillQuery(ObjectKind::kTable, kTable, *back, &again).ok());
  EXPECT_EQ(again.SerializeAsString(), message.SerializeAsString());
  EXPECT_EQ(back->filter->arguments[1].value, Value(Date{7}));
  EXPECT_EQ(back->group_by, query.group_by);
  EXPECT_EQ(back->aggregates[0].name, "sum");
  EXPECT_EQ(back->share, query.share);
  EXPECT_EQ(back->limit, 5u);
}

TEST(QueryTest, EveryKindOfExpressionComesBack) {
  for (int kind = v1::Expression::KIND_COLUMN; kind <= v1::Expression::Kind_MAX; ++kind) {
    v1::Query message;
    message.mutable_filter()->set_kind(static_cast<v1::Expression::Kind>(kind));
    if (kind == v1::Expression::KIND_LITERAL) {
      message.mutable_filter()->mutable_value()->set_i64(1);
    } else if (kind == v1::Expression::KIND_CAST) {
      message.mutable_filter()->set_cast_type(v1::COLUMN_TYPE_INT64);
    }
    const auto query = FromTable(message);
    ASSERT_TRUE(query.ok()) << query.status();
    EXPECT_EQ(static_cast<int>(query->filter->kind), kind);
    v1::Query again;
    ASSERT_TRUE(FillQuery(ObjectKind::kTable, kTable, *query, &again).ok());
    EXPECT_EQ(again.SerializeAsString(), message.SerializeAsString());
  }
  v1::Query unknown;
  unknown.mutable_filter()->set_kind(static_cast<v1::Expression::Kind>(26));
  EXPECT_EQ(std::string(FromTable(unknown).status().message()),
            "kind of an expression is 26, must be 1 to 25 (KIND_COLUMN to KIND_REMAINDER)");
}

TEST(QueryTest, CasesCastsAndSubstringsComeBack) {
  using namespace expressions;  // NOLINT: the operators of expression.h
  const Expression wide =
      Literal(Value(WideDecimal{{~uint64_t{0} - 4, ~uint64_t{0}}, kWideScaleMax}));  // -5
  Query query;
  query.filter = Equal(Substring(Column("s"), 1, 2), Literal(Value(std::string("ab"))));
  for (const auto& [type, scale] :
       {std::pair(ColumnType::kInt32, 0), std::pair(ColumnType::kInt64, 0),
        std::pair(ColumnType::kUint64, 0), std::pair(ColumnType::kFloat64, 0),
        std::pair(ColumnType::kDecimal, 18), std::pair(ColumnType::kInt128, int{kWideScaleMax})}) {
    query.columns.push_back({Cast(Column("a"), type, static_cast<uint8_t>(scale)), "cast"});
  }
  query.aggregates.push_back({.function = AggregateFunction::kSum,
                              .argument = Case({Column("a") < wide, Column("a"), wide}),
                              .name = "sum"});
  v1::Query message;
  ASSERT_TRUE(FillQuery(ObjectKind::kTable, kTable, query, &message).ok());
  EXPECT_EQ(message.columns(5).expression().cast_type(), v1::COLUMN_TYPE_DECIMAL128);
  EXPECT_EQ(message.aggregates(0).argument().arguments(2).value().wide_decimal().high(), -1);
  const auto back = FromTable(message);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->filter, query.filter);
  EXPECT_EQ(back->aggregates[0].argument, query.aggregates[0].argument);
  for (size_t i = 0; i < query.columns.size(); ++i) {
    EXPECT_EQ(back->columns[i].expression, query.columns[i].expression) << i;
  }
}

TEST(QueryTest, CastsHaveTypesAndScalesWithinTheirLimits) {
  const auto error = [](v1::ColumnType type, uint32_t scale) {
    v1::Query message;
    message.mutable_filter()->set_kind(v1::Expression::KIND_CAST);
    message.mutable_filter()->set_cast_type(type);
    message.mutable_filter()->set_cast_scale(scale);
    return std::string(FromTable(message).status().message());
  };
  EXPECT_EQ(error(v1::COLUMN_TYPE_DECIMAL64, 18), "");
  EXPECT_EQ(error(v1::COLUMN_TYPE_DECIMAL64, 19),
            "a cast to decimal has scale 19, must be at most 18");
  EXPECT_EQ(error(v1::COLUMN_TYPE_DECIMAL128, 18), "");
  EXPECT_EQ(error(v1::COLUMN_TYPE_DECIMAL128, 19),
            "a cast to int128 has scale 19, must be at most 18");
  EXPECT_EQ(error(v1::COLUMN_TYPE_INT64, 1), "a cast to int64 has scale 1, must be at most 0");
  EXPECT_EQ(error(v1::COLUMN_TYPE_INT64, 256), "a cast to int64 has scale 256, must be at most 0");
  EXPECT_THAT(error(v1::COLUMN_TYPE_UNSPECIFIED, 0),
              HasSubstr("cast_type is 0, must be one of COLUMN_TYPE_INT32, "));
  EXPECT_THAT(error(v1::COLUMN_TYPE_STRING, 0), HasSubstr("cast_type is 31, must be one of"));
  EXPECT_THAT(error(v1::COLUMN_TYPE_BYTES, 0), HasSubstr("cast_type is 30, must be one of"));
  EXPECT_EQ(error(v1::COLUMN_TYPE_DATE32, 0), "");
  EXPECT_EQ(error(v1::COLUMN_TYPE_TIMESTAMP, 0), "");
  EXPECT_EQ(error(v1::COLUMN_TYPE_TIMESTAMP, 6),
            "a cast to timestamp has scale 6, must be at most 0");
  EXPECT_THAT(error(static_cast<v1::ColumnType>(99), 0), HasSubstr("cast_type is 99"));
}

TEST(QueryTest, ExpressionsOfPlansDoNotTravel) {
  using namespace expressions;  // NOLINT: the operators of expression.h
  const auto error = [](const Query& query) {
    v1::Query message;
    const absl::Status status = FillQuery(ObjectKind::kTable, kTable, query, &message);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const std::string field =
      "an expression of a query has field 3: only expressions of plans have them";
  EXPECT_EQ(error({.filter = Column("a") < Field(3)}), field);
  EXPECT_EQ(error({.columns = {{Field(3), "c"}}}), field);
  EXPECT_EQ(error({.aggregates = {{AggregateFunction::kSum, Field(3), "s"}}}), field);
  EXPECT_EQ(
      error({.filter = Column("a") < Subquery(2)}),
      "an expression of a query has the value of node 2: only expressions of plans have them");
}

TEST(QueryTest, QueriesAreBoundedInSizeAndDepth) {
  v1::Query message;
  v1::Expression* deepest = message.mutable_filter();
  for (uint32_t i = 1; i < kExpressionDepthMax; ++i) {
    deepest->set_kind(v1::Expression::KIND_NOT);
    deepest = deepest->add_arguments();
  }
  deepest->set_kind(v1::Expression::KIND_COLUMN);
  deepest->set_column("x");
  EXPECT_TRUE(FromTable(message).ok());
  deepest->set_kind(v1::Expression::KIND_NOT);
  deepest->add_arguments()->set_kind(v1::Expression::KIND_COLUMN);
  EXPECT_THAT(std::string(FromTable(message).status().message()), HasSubstr("64 levels"));
  v1::Query wide;
  wide.mutable_filter()->set_kind(v1::Expression::KIND_AND);
  for (uint32_t i = 0; i < kExpressionSizeMax; ++i) {
    wide.mutable_filter()->add_arguments()->set_kind(v1::Expression::KIND_LITERAL);
  }
  EXPECT_THAT(std::string(FromTable(wide).status().message()), HasSubstr("4096 terms"));
  v1::Query unknown;
  unknown.mutable_filter();
  EXPECT_THAT(std::string(FromTable(unknown).status().message()), HasSubstr("kind"));
  v1::Query aggregates;
  aggregates.add_aggregates();
  EXPECT_THAT(std::string(FromTable(aggregates).status().message()), HasSubstr("function"));
}

TEST(QueryTest, ValuesKeepTheirTypes) {
  v1::Query message;
  v1::Expression* in = message.mutable_filter();
  in->set_kind(v1::Expression::KIND_IN);
  for (int i = 0; i < 10; ++i) in->add_arguments()->set_kind(v1::Expression::KIND_LITERAL);
  in->mutable_arguments(0)->mutable_value()->set_i64(-1);
  in->mutable_arguments(1)->mutable_value()->set_u64(~uint64_t{0});
  in->mutable_arguments(2)->mutable_value()->set_f64(0.5);
  in->mutable_arguments(3)->mutable_value()->set_date32(-2);
  in->mutable_arguments(4)->mutable_value()->mutable_decimal()->set_unscaled(-5);
  in->mutable_arguments(4)->mutable_value()->mutable_decimal()->set_scale(2);
  in->mutable_arguments(5)->mutable_value()->set_string("a\0b", 3);
  in->mutable_arguments(9)->mutable_value()->set_timestamp_us(-7);
  in->mutable_arguments(8)->mutable_value()->set_bytes("\xff\0", 2);
  v1::WideDecimal& wide = *in->mutable_arguments(7)->mutable_value()->mutable_wide_decimal();
  wide.set_low(7);
  wide.set_high(-1);
  wide.set_scale(kWideScaleMax);
  const auto query = FromTable(message);
  ASSERT_TRUE(query.ok()) << query.status();
  const std::vector<Value> expected = {int64_t{-1},
                                       ~uint64_t{0},
                                       0.5,
                                       Date{-2},
                                       Decimal{-5, 2},
                                       std::string("a\0b", 3),
                                       Value(),
                                       WideDecimal{{7, ~uint64_t{0}}, kWideScaleMax},
                                       eris::Bytes{std::string("\xff\0", 2)},
                                       Timestamp{-7}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(query->filter->arguments[i].value, expected[i]) << i;
  }
  wide.set_scale(kWideScaleMax + 1);
  EXPECT_EQ(std::string(FromTable(message).status().message()),
            "a wide decimal literal has scale 19, must be at most 18");
  in->mutable_arguments(4)->mutable_value()->mutable_decimal()->set_scale(19);
  EXPECT_EQ(std::string(FromTable(message).status().message()),
            "a decimal literal has scale 19, must be at most 18");
}

TEST(QueryTest, QueriesOfIndexesHaveRangesOfTheirKeys) {
  const Schema schema = KeyValueSchema(KeyTypes(ColumnType::kInt64, ColumnType::kDate));
  Query query;
  query.range = {KeyFromInt64(-5), KeyFromInt64(7), KeyFromDate(1), 0};
  query.direction = ScanDirection::kBackward;
  query.values = ValueRange{3, 9};
  query.columns.push_back(
      {.expression = {.kind = Expression::Kind::kColumn, .column = "key"}, .name = "key"});
  v1::Query message;
  ASSERT_TRUE(FillQuery(ObjectKind::kIndex, schema, query, &message).ok());
  EXPECT_EQ(message.range().start().i64(), -5);
  EXPECT_EQ(message.range().start_second().date32(), 1);
  EXPECT_EQ(message.values().last(), 9u);
  const auto back = QueryFrom(ObjectKind::kIndex, schema, message);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->range, query.range);
  EXPECT_EQ(back->direction, query.direction);
  EXPECT_EQ(back->values, query.values);
  // Whole, forward, of all values: nothing is set.
  message.Clear();
  ASSERT_TRUE(FillQuery(ObjectKind::kIndex, schema, {}, &message).ok());
  EXPECT_EQ(message.ByteSizeLong(), 0u);
}

TEST(QueryTest, WhatDoesNotFitIsRefused) {
  const auto refusal = [](ObjectKind kind, std::function<void(v1::Query&)> change) {
    v1::Query message;
    change(message);
    const auto query = QueryFrom(kind, KeyValueSchema(), message);
    EXPECT_EQ(query.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(query.status().message());
  };
  EXPECT_EQ(refusal(ObjectKind::kIndex,
                    [](v1::Query& q) { q.set_direction(static_cast<v1::ScanDirection>(3)); }),
            "direction is 3, must be 0 to 2 (forward, backward)");
  EXPECT_EQ(refusal(ObjectKind::kIndex,
                    [](v1::Query& q) {
                      q.mutable_values()->set_lo(2);
                      q.mutable_values()->set_last(1);
                    }),
            "values is inverted: last 1 is below lo 2");
  EXPECT_THAT(refusal(ObjectKind::kHash, [](v1::Query& q) { q.mutable_range()->mutable_end(); }),
              HasSubstr("range.end: none is set, must be u64"));
  EXPECT_THAT(refusal(ObjectKind::kTable, [](v1::Query& q) { q.mutable_range()->set_lo(1); }),
              HasSubstr("the object is a table"));
  v1::Query message;
  message.mutable_range();
  EXPECT_TRUE(FromTable(message).ok());
  EXPECT_THAT(
      std::string(FillQuery(ObjectKind::kTable, kTable, {.range = {.lo = 1}}, &message).message()),
      HasSubstr("the object is a table"));
  EXPECT_FALSE(FillQuery(ObjectKind::kIndex, KeyValueSchema(ColumnType::kDate),
                         {.range = {.lo = uint64_t{1} << 40}}, &message)
                   .ok());
}

TEST(QueryTest, AggregatesGoRound) {
  for (const Schema& schema :
       {KeyValueSchema(), KeyValueSchema(KeyTypes(ColumnType::kInt64, ColumnType::kDate))}) {
    const bool two_parts = schema.key.size() == 2;
    AggregateOptions options{.range = {.lo = 5, .hi = 9}, .values = ValueRange{1, 2}};
    if (two_parts) options.range.lo_second = 4;
    v1::AggregateRequest request;
    ASSERT_TRUE(FillAggregateOptions(ObjectKind::kIndex, schema, options, &request).ok());
    const auto back = AggregateOptionsFrom(ObjectKind::kIndex, schema, request);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->range, options.range);
    EXPECT_EQ(back->values, options.values);
    EXPECT_FALSE(back->count_only);

    RangeAggregate rows{3, 1, 9, ~uint64_t{0}, 1, 5, 8, ~uint64_t{0}, 0};
    if (two_parts) std::tie(rows.first_second, rows.last_second) = std::pair(4, 6);
    v1::AggregateResponse response;
    FillAggregate(schema, rows, &response);
    EXPECT_EQ(response.has_last_second(), two_parts);
    EXPECT_EQ(AggregateFrom(schema, response), rows);
    // A count alone, and of nothing.
    response.Clear();
    FillAggregate(schema, {.count = 7}, &response);
    EXPECT_FALSE(response.has_min() || response.has_first_key() || response.has_sum_low());
    EXPECT_EQ(AggregateFrom(schema, response), (RangeAggregate{.count = 7}));
  }
}

}  // namespace
}  // namespace eris::wire
