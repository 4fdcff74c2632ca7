#include "wire/tables.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::wire {
namespace {

using ::testing::HasSubstr;

Schema AllTypes() {
  return {.columns = {{.name = "a", .type = ColumnType::kInt64},
                      {.name = "b", .type = ColumnType::kDecimal, .scale = 2, .nullable = true},
                      {.name = "c", .type = ColumnType::kString, .nullable = true},
                      {.name = "d", .type = ColumnType::kDate},
                      {.name = "e", .type = ColumnType::kInt32},
                      {.name = "f", .type = ColumnType::kFloat64},
                      {.name = "g", .type = ColumnType::kUint64}},
          .key = {3, 0}};
}

TEST(TablesTest, SchemaComesBack) {
  v1::TableSchema message;
  FillSchema(AllTypes(), &message);
  const auto schema = SchemaFrom(message);
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(*schema, AllTypes());
}

TEST(TablesTest, BadSchemasAreRefused) {
  EXPECT_FALSE(SchemaFrom({}).ok());
  const auto refusal = [](auto change) {
    v1::TableSchema message;
    FillSchema(AllTypes(), &message);
    change(message);
    const auto schema = SchemaFrom(message);
    EXPECT_EQ(schema.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(schema.status().message());
  };
  EXPECT_THAT(refusal([](auto& m) { m.mutable_columns(0)->set_type(v1::COLUMN_TYPE_UNSPECIFIED); }),
              HasSubstr("column a: type is 0"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_columns(0)->set_type(v1::COLUMN_TYPE_DECIMAL128); }),
              HasSubstr("must be INT32"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_columns(1)->set_scale(19); }),
              HasSubstr("scale is 19, must be at most 18"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_columns(0)->set_scale(1); }),
              HasSubstr("must be at most 0"));
  EXPECT_THAT(refusal([](auto& m) { m.add_key("nothing"); }), HasSubstr("\"nothing\""));
  EXPECT_THAT(refusal([](auto& m) { m.add_key("a"), m.add_key("a"), m.add_key("a"); }),
              HasSubstr("5 columns"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_columns(0)->set_name(std::string(256, 'x')); }),
              HasSubstr("256 bytes"));
  EXPECT_THAT(refusal([](auto& m) {
                for (int i = 0; i < 250; ++i) *m.add_columns() = m.columns(0);
              }),
              HasSubstr("257 columns"));
}

TEST(TablesTest, SchemaOfANewerServerIsAnError) {
  v1::TableSchema message;
  const Schema schema{.columns = {{.name = "a", .type = ColumnType::kInt128, .scale = 3}}};
  FillSchema(schema, &message);
  const auto again = AnsweredSchemaFrom(message);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, schema);
  message.add_key("b");
  EXPECT_EQ(AnsweredSchemaFrom(message).status().code(), absl::StatusCode::kInternal);
  message.mutable_columns(0)->set_type(static_cast<v1::ColumnType>(99));
  EXPECT_EQ(AnsweredSchemaFrom(message).status().code(), absl::StatusCode::kInternal);
}

TEST(TablesTest, QueryComesBack) {
  Query query;
  query.filter = Expression{.kind = Expression::Kind::kLess,
                            .arguments = {{.kind = Expression::Kind::kColumn, .column = "a"},
                                          {.kind = Expression::Kind::kLiteral, .value = Date{7}}}};
  query.columns.push_back({.expression = *query.filter, .name = "less"});
  query.group_by = {"a", "b"};
  query.aggregates.push_back(
      {.function = AggregateFunction::kSum, .argument = query.filter->arguments[0], .name = "sum"});
  query.limit = 5;
  v1::TableQuery message;
  FillQuery(query, &message);
  const auto back = QueryFrom(message);
  ASSERT_TRUE(back.ok()) << back.status();
  v1::TableQuery again;
  FillQuery(*back, &again);
  EXPECT_EQ(again.SerializeAsString(), message.SerializeAsString());
  EXPECT_EQ(back->filter->arguments[1].value, Value(Date{7}));
  EXPECT_EQ(back->group_by, query.group_by);
  EXPECT_EQ(back->aggregates[0].name, "sum");
  EXPECT_EQ(back->limit, 5u);
}

TEST(TablesTest, QueriesAreBoundedInSizeAndDepth) {
  v1::TableQuery message;
  v1::Expression* deepest = message.mutable_filter();
  for (uint32_t i = 1; i < kExpressionDepthMax; ++i) {
    deepest->set_kind(v1::Expression::KIND_NOT);
    deepest = deepest->add_arguments();
  }
  deepest->set_kind(v1::Expression::KIND_COLUMN);
  deepest->set_column("x");
  EXPECT_TRUE(QueryFrom(message).ok());
  deepest->set_kind(v1::Expression::KIND_NOT);
  deepest->add_arguments()->set_kind(v1::Expression::KIND_COLUMN);
  EXPECT_THAT(std::string(QueryFrom(message).status().message()), HasSubstr("64 levels"));
  v1::TableQuery wide;
  wide.mutable_filter()->set_kind(v1::Expression::KIND_AND);
  for (uint32_t i = 0; i < kExpressionSizeMax; ++i) {
    wide.mutable_filter()->add_arguments()->set_kind(v1::Expression::KIND_LITERAL);
  }
  EXPECT_THAT(std::string(QueryFrom(wide).status().message()), HasSubstr("4096 terms"));
  v1::TableQuery unknown;
  unknown.mutable_filter();
  EXPECT_THAT(std::string(QueryFrom(unknown).status().message()), HasSubstr("kind"));
  v1::TableQuery aggregates;
  aggregates.add_aggregates();
  EXPECT_THAT(std::string(QueryFrom(aggregates).status().message()), HasSubstr("function"));
}

TEST(TablesTest, ValuesKeepTheirTypes) {
  v1::TableQuery message;
  v1::Expression* in = message.mutable_filter();
  in->set_kind(v1::Expression::KIND_IN);
  for (int i = 0; i < 7; ++i) in->add_arguments()->set_kind(v1::Expression::KIND_LITERAL);
  in->mutable_arguments(0)->mutable_value()->set_i64(-1);
  in->mutable_arguments(1)->mutable_value()->set_u64(~uint64_t{0});
  in->mutable_arguments(2)->mutable_value()->set_f64(0.5);
  in->mutable_arguments(3)->mutable_value()->set_date32(-2);
  in->mutable_arguments(4)->mutable_value()->mutable_decimal()->set_unscaled(-5);
  in->mutable_arguments(4)->mutable_value()->mutable_decimal()->set_scale(2);
  in->mutable_arguments(5)->mutable_value()->set_string("a\0b", 3);
  const auto query = QueryFrom(message);
  ASSERT_TRUE(query.ok()) << query.status();
  const std::vector<Value> expected = {int64_t{-1},    ~uint64_t{0},           0.5,    Date{-2},
                                       Decimal{-5, 2}, std::string("a\0b", 3), Value()};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(query->filter->arguments[i].value, expected[i]) << i;
  }
  in->mutable_arguments(4)->mutable_value()->mutable_decimal()->set_scale(19);
  EXPECT_FALSE(QueryFrom(message).ok());
}

}  // namespace
}  // namespace eris::wire
