#include "wire/schema.h"

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

TEST(SchemaTest, SchemaComesBack) {
  v1::Schema message;
  FillSchema(AllTypes(), &message);
  const auto schema = SchemaFrom(message);
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(*schema, AllTypes());
}

TEST(SchemaTest, BadSchemasAreRefused) {
  EXPECT_FALSE(SchemaFrom({}).ok());
  const auto refusal = [](auto change) {
    v1::Schema message;
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

TEST(SchemaTest, SchemaOfANewerServerIsAnError) {
  v1::Schema message;
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

}  // namespace
}  // namespace eris::wire
