// Session::AnswerSchema: what a scan's chunks would have, without the scan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

using namespace expressions;  // NOLINT: operators
using testing::HasSubstr;

const Schema kAnswered = {.columns = {{.name = "id", .type = ColumnType::kUint64},
                                      {.name = "price", .type = ColumnType::kDecimal, .scale = 2},
                                      {.name = "day", .type = ColumnType::kDate, .nullable = true}},
                          .key = {0}};

class AnswerSchemaTest : public testing::Test {
 protected:
  // Compares it with what a scan tells.
  Schema Of(const Object& object, const Query& query) {
    const auto schema = session_->AnswerSchema(object, query);
    EXPECT_TRUE(schema.ok()) << schema.status();
    if (!schema.ok()) return {};
    EXPECT_EQ(*schema, test::OrDie(session_->OpenScan(object, query))->schema());
    return *schema;
  }
  std::string Refusal(const Object& object, const Query& query) {
    const auto schema = session_->AnswerSchema(object, query);
    return schema.ok() ? "" : schema.status().ToString();
  }

  test::HandEngine engine_{2, [](Options&) {}};
  std::unique_ptr<Session> session_ = engine_->NewSession();
  Object table_ = engine_.Create("t", {.kind = ObjectKind::kTable, .schema = kAnswered});
  Object index_ = engine_.Create("i");
};

TEST_F(AnswerSchemaTest, ColumnsOfATable) {
  EXPECT_EQ(Of(table_, {}).columns, kAnswered.columns);
  Query query;
  query.columns = {{Column("day"), "day"}, {Column("price") * Literal(2), "twice"}};
  const Schema schema = Of(table_, query);
  ASSERT_EQ(schema.columns.size(), 2u);
  EXPECT_EQ(schema.columns[0], kAnswered.columns[2]);
  EXPECT_EQ(schema.columns[1].name, "twice");
}

TEST_F(AnswerSchemaTest, GroupsAndAggregates) {
  Query query;
  query.filter = Column("price") < Literal(5);
  query.group_by = {"day"};
  query.aggregates = {
      {.function = AggregateFunction::kSum, .argument = Column("price"), .name = "sum"},
      {.function = AggregateFunction::kCount, .name = "rows"}};
  const Schema schema = Of(table_, query);
  ASSERT_EQ(schema.columns.size(), 3u);
  EXPECT_EQ(schema.columns[0].name, "day");
  EXPECT_EQ(schema.columns[1].type, ColumnType::kInt128);
  EXPECT_EQ(schema.columns[2].type, ColumnType::kUint64);
}

TEST_F(AnswerSchemaTest, IndexHasItsKeyOrAllColumns) {
  EXPECT_EQ(Of(index_, {.range = {.lo = 5, .hi = 9}}).columns, KeyValueSchema().columns);
  Query keys;
  keys.columns = {{Column("key"), "key"}};
  EXPECT_EQ(Of(index_, keys).columns.size(), 1u);
}

TEST_F(AnswerSchemaTest, WhatAScanRefusesIsRefused) {
  Query query;
  query.filter = Column("nothing") < Literal(5);
  EXPECT_THAT(Refusal(table_, query), HasSubstr("nothing"));
  EXPECT_THAT(Refusal(index_, query), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Refusal(table_, {.range = {.lo = 5}}), HasSubstr("a range of keys"));
  EXPECT_THAT(Refusal(index_, {.range = {.lo = 5, .hi = 3}}), HasSubstr("inverted"));
  EXPECT_THAT(Refusal(engine_.Create("h", {.kind = ObjectKind::kHash}), {}),
              HasSubstr("FAILED_PRECONDITION"));
  ASSERT_TRUE(engine_.While([&] { return engine_->Drop("t"); }).ok());
  EXPECT_THAT(Refusal(table_, {}), HasSubstr("NOT_FOUND"));
}

}  // namespace
}  // namespace eris
