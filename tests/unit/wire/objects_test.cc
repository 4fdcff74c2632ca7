#include "wire/objects.h"

#include <cmath>
#include <string>

#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wire/bounds.h"

namespace eris::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Schema TableBy(ColumnType first, ColumnType second = ColumnType::kInt32) {
  return {.columns = {{.name = "other", .type = ColumnType::kString},
                      {.name = "b", .type = second},
                      {.name = "a", .type = first}},
          .key = {2, 1}};
}

CreateOptions RoundTrip(const CreateOptions& options, v1::CreateObjectRequest& request) {
  request.Clear();
  const absl::Status filled = FillCreateOptions(options, &request);
  EXPECT_TRUE(filled.ok()) << filled;
  const auto back = CreateOptionsFrom(request);
  EXPECT_TRUE(back.ok()) << back.status();
  return back.value_or(CreateOptions());
}

TEST(ObjectsTest, WhatIsToBeCreatedGoesRound) {
  const auto narrow = [](int32_t number) { return KeyFromDate(number) << 32; };
  const KeyTypes pair{ColumnType::kInt64, ColumnType::kDate};
  for (const CreateOptions& options : std::vector<CreateOptions>{
           {},
           {.kind = ObjectKind::kHash, .expected = {5, 9}},
           {.schema = KeyValueSchema(ColumnType::kFloat64, ColumnType::kString),
           .split_points = {KeyFromFloat64(-10.5), KeyFromFloat64(30)}},
           {.schema = KeyValueSchema(ColumnType::kDate), .expected = DateRange(-3, 4)},
           {.schema = KeyValueSchema(pair), .expected = Int64Range(-100, std::nullopt)},
           {.kind = ObjectKind::kTable,
           .schema = TableBy(ColumnType::kInt64),
           .expected = Int64Range(-1, 1)},
           {.kind = ObjectKind::kTable,
           .schema = TableBy(ColumnType::kDecimal),
           .split_points = {KeyFromInt64(3)}},
           {.kind = ObjectKind::kTable,
           .schema = TableBy(ColumnType::kDate),
           .expected = {narrow(-1), narrow(10)}},
           {.kind = ObjectKind::kTable,
           .schema = TableBy(ColumnType::kInt32),
           .split_points = {narrow(-5), narrow(6)}},
           {.kind = ObjectKind::kHash, .beside = "orders"},
           {.kind = ObjectKind::kHeapTable, .schema = {.columns = {{.name = "n"}}}}}) {
    v1::CreateObjectRequest request;
    const CreateOptions back = RoundTrip(options, request);
    EXPECT_EQ(back.kind, options.kind);
    EXPECT_EQ(back.schema, options.schema);
    EXPECT_EQ(back.expected, options.expected) << request.DebugString();
    EXPECT_EQ(back.split_points, options.split_points) << request.DebugString();
    EXPECT_EQ(back.beside, options.beside);
  }
  // Bounds travel as values of the first key column.
  v1::CreateObjectRequest request;
  (void)RoundTrip({.kind = ObjectKind::kTable,
                   .schema = TableBy(ColumnType::kInt32),
                   .expected = {narrow(-5), std::nullopt}},
                  request);
  EXPECT_EQ(request.expected().start().i64(), -5);
  EXPECT_FALSE(FillCreateOptions({.kind = ObjectKind::kTable,
                                  .schema = TableBy(ColumnType::kInt32),
                                  .split_points = {narrow(1) + 1}},
                                 &request)
                   .ok());
}

TEST(ObjectsTest, UnsetKindAndSchemaAreAnIndexOfU64) {
  const auto options = CreateOptionsFrom({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->kind, ObjectKind::kIndex);
  EXPECT_EQ(options->schema, KeyValueSchema());
}

TEST(ObjectsTest, OddRequestsAreRefused) {
  v1::CreateObjectRequest request;
  const auto refusal = [&] {
    const auto options = CreateOptionsFrom(request);
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(options.status().message());
  };
  request.set_kind(static_cast<v1::ObjectKind>(17));
  EXPECT_THAT(refusal(), HasSubstr("kind is 17, must be 1 to 4"));
  request.set_kind(v1::OBJECT_KIND_TABLE);
  EXPECT_EQ(refusal(), "schema is unset: a table needs one");
  ASSERT_TRUE(FillCreateOptions({.schema = KeyValueSchema(ColumnType::kInt64)}, &request).ok());
  request.mutable_expected()->set_hi(7);
  EXPECT_THAT(refusal(), HasSubstr("expected: lo and hi are for keys of type uint64"));
  request.mutable_expected()->Clear();
  request.mutable_expected()->mutable_end()->set_u64(7);
  EXPECT_THAT(refusal(), HasSubstr("expected.end: u64 is set, must be i64"));
  request.mutable_expected()->mutable_end()->set_i64(7);
  request.add_split_keys()->set_date32(1);
  EXPECT_THAT(refusal(), HasSubstr("expected and split_keys are set"));
  request.clear_expected();
  EXPECT_THAT(refusal(), HasSubstr("split_keys[0]: date32 is set, must be i64"));
  request.set_beside("orders");
  EXPECT_THAT(refusal(), HasSubstr("beside is set, so expected and split_keys must be unset"));
  request.clear_split_keys();
  request.mutable_expected()->mutable_end()->set_i64(7);
  EXPECT_THAT(refusal(), HasSubstr("beside is set"));

  const KeyTypes pair{ColumnType::kInt64, ColumnType::kDate};
  request.Clear();
  ASSERT_TRUE(FillCreateOptions({.schema = KeyValueSchema(pair)}, &request).ok());
  request.mutable_expected()->mutable_start()->set_i64(1);
  request.mutable_expected()->mutable_start_second()->set_date32(1);
  EXPECT_THAT(refusal(), HasSubstr("expected.start_second is set: partitions are cut between"));

  const auto table_by = [&](ColumnType type) {
    request.Clear();
    EXPECT_TRUE(
        FillCreateOptions({.kind = ObjectKind::kTable, .schema = TableBy(type)}, &request).ok());
    return request.add_split_keys();
  };
  table_by(ColumnType::kInt32)->set_i64(int64_t{1} << 31);
  EXPECT_THAT(refusal(), HasSubstr("split_keys[0] is 2147483648, must be between"));
  table_by(ColumnType::kFloat64)->set_f64(std::nan(""));
  EXPECT_THAT(refusal(), HasSubstr("split_keys[0] is NaN"));
  request.mutable_schema()->clear_key();
  request.set_kind(v1::OBJECT_KIND_HEAP_TABLE);
  EXPECT_THAT(refusal(), HasSubstr("of an object without a key"));
}

TEST(ObjectsTest, ObjectsGoRoundWithBoundsInTheirType) {
  ObjectInfo info{.name = "o", .id = ObjectId{7}, .keys = 8, .memory_bytes = 9};
  info.schema = KeyValueSchema(ColumnType::kFloat64);
  info.partition_starts = {0, KeyFromFloat64(-10.5), KeyFromFloat64(30)};
  info.partition_owners = {AeuId{2}, AeuId{0}, AeuId{1}};
  v1::Object message;
  FillObject(info, &message);
  EXPECT_FALSE(message.partitions(0).range().has_start());
  EXPECT_EQ(message.partitions(0).range().end().f64(), -10.5);
  EXPECT_EQ(message.partitions(2).range().start().f64(), 30);
  EXPECT_FALSE(message.partitions(2).range().has_end());
  const auto back = ObjectFrom(message);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->name, "o");
  EXPECT_EQ(back->id, ObjectId{7});
  EXPECT_EQ(back->schema, info.schema);
  EXPECT_EQ(back->keys, 8u);
  EXPECT_EQ(back->memory_bytes, 9u);
  EXPECT_EQ(back->partition_starts, info.partition_starts);
  EXPECT_THAT(back->partition_owners, ElementsAre(AeuId{2}, AeuId{0}, AeuId{1}));
  // For tables, they are the engine's words.
  info.kind = ObjectKind::kTable;
  info.schema = TableBy(ColumnType::kInt32);
  info.partition_starts = {0, uint64_t{5} << 32 | 3, ~uint64_t{0}};
  message.Clear();
  FillObject(info, &message);
  EXPECT_EQ(message.partitions(1).range().lo(), uint64_t{5} << 32 | 3);
  EXPECT_EQ(ObjectFrom(message)->partition_starts, info.partition_starts);
  message.clear_schema();
  EXPECT_EQ(ObjectFrom(message).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace eris::wire
