#include "server/tables/table_messages.h"

#include <cmath>
#include <limits>

#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/tables/table_rows.h"

namespace eris::server {
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

TEST(TableMessagesTest, BoundsAreTheFirstEightBytesOfTheKey) {
  Schema schema = AllTypes();  // date first
  v1::CreateTableRequest request;
  request.mutable_expected_start()->set_date32(-1);
  request.mutable_expected_end()->set_date32(10);
  auto options = TableOptionsFrom(schema, request);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->expected.lo, uint64_t{0x7FFFFFFF} << 32);
  EXPECT_EQ(options->expected.hi, uint64_t{0x8000000A} << 32);
  schema.key = {0};
  EXPECT_FALSE(TableOptionsFrom(schema, request).ok());
  request.mutable_expected_start()->set_i64(-5);
  request.mutable_expected_end()->set_i64(5);
  options = TableOptionsFrom(schema, request);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->expected.lo, KeyFromInt64(-5));
  request.add_split_keys()->set_i64(3);
  EXPECT_FALSE(TableOptionsFrom(schema, request).ok());
  request.clear_expected_start();
  request.clear_expected_end();
  options = TableOptionsFrom(schema, request);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->split_points, std::vector<uint64_t>{KeyFromInt64(3)});
  schema.key = {4};
  request.mutable_split_keys(0)->set_i64(int64_t{1} << 31);
  EXPECT_THAT(std::string(TableOptionsFrom(schema, request).status().message()),
              HasSubstr("no INT32"));
  schema.key = {5};
  request.mutable_split_keys(0)->set_f64(std::nan(""));
  EXPECT_FALSE(TableOptionsFrom(schema, request).ok());
  schema.key.clear();
  EXPECT_THAT(std::string(TableOptionsFrom(schema, request).status().message()),
              HasSubstr("without a key"));
}

TEST(TableMessagesTest, FingerprintIsOfTableAndQueryButNotOfTheLimit) {
  v1::TableQuery query;
  query.add_group_by("a");
  const uint64_t print = QueryFingerprint("t", query);
  query.set_limit(5);
  EXPECT_EQ(QueryFingerprint("t", query), print);
  EXPECT_NE(QueryFingerprint("u", query), print);
  query.add_group_by("b");
  EXPECT_NE(QueryFingerprint("t", query), print);
}

// Two rows of a string and an i64.
v1::Rows TwoRows() {
  v1::Rows rows;
  rows.set_rows(2);
  v1::Column* strings = rows.add_columns();
  strings->set_type(v1::COLUMN_TYPE_BYTES);
  strings->set_data("abc");
  const uint32_t offsets[] = {0, 1, 3};
  strings->set_offsets(offsets, sizeof(offsets));
  v1::Column* numbers = rows.add_columns();
  numbers->set_type(v1::COLUMN_TYPE_INT64);
  numbers->set_data(std::string(16, '\1'));
  return rows;
}

TEST(TableRowsTest, ColumnsAreReadWhereTheyLie) {
  const v1::Rows rows = TwoRows();
  const auto decoded = DecodeRows("rows", AllTypes(), {2, 0}, rows);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->views[0].values, rows.columns(0).data().data());
  EXPECT_EQ(decoded->views[0].offsets[1], 1u);
  EXPECT_EQ(decoded->views[0].validity, nullptr);
  EXPECT_EQ(static_cast<const int64_t*>(decoded->views[1].values)[1], 0x0101010101010101);
  EXPECT_TRUE(decoded->copies.empty());
}

TEST(TableRowsTest, ColumnsThatTheEngineCouldNotReadAreRefused) {
  const auto refusal = [](auto change) {
    v1::Rows rows = TwoRows();
    change(rows);
    const auto decoded = DecodeRows("rows", AllTypes(), {2, 0}, rows);
    EXPECT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(decoded.status().message());
  };
  const auto set_offsets = [](v1::Rows& rows, std::vector<uint32_t> offsets) {
    rows.mutable_columns(0)->set_offsets(offsets.data(), offsets.size() * 4);
  };
  EXPECT_THAT(refusal([](auto& r) { r.set_rows(0); }), HasSubstr("rows: 0 rows"));
  EXPECT_THAT(refusal([](auto& r) { r.set_rows(kTableBatchRowsMax + 1); }), HasSubstr("1048577"));
  EXPECT_THAT(refusal([](auto& r) { r.mutable_columns()->RemoveLast(); }), HasSubstr("1 columns"));
  EXPECT_THAT(refusal([](auto& r) { r.mutable_columns(1)->set_type(v1::COLUMN_TYPE_UINT64); }),
              HasSubstr("column rows.a: type is 1, must be COLUMN_TYPE_INT64 (20)"));
  EXPECT_THAT(refusal([](auto& r) { r.mutable_columns(1)->mutable_data()->pop_back(); }),
              HasSubstr("data of 15 bytes, must be 16"));
  EXPECT_THAT(refusal([](auto& r) { r.mutable_columns(1)->set_offsets("1234"); }),
              HasSubstr("offsets of 4 bytes, must be empty"));
  EXPECT_THAT(refusal([](auto& r) { r.mutable_columns(1)->set_validity("12"); }),
              HasSubstr("validity of 2 bytes, must be empty or 1"));
  EXPECT_THAT(refusal([&](auto& r) { set_offsets(r, {0, 3}); }), HasSubstr("must be 12"));
  EXPECT_THAT(refusal([&](auto& r) { set_offsets(r, {1, 1, 3}); }), HasSubstr("offset 0 is 1"));
  EXPECT_THAT(refusal([&](auto& r) { set_offsets(r, {0, 4, 3}); }), HasSubstr("offset 2 is 3"));
  EXPECT_THAT(refusal([&](auto& r) { set_offsets(r, {0, 1, 4}); }), HasSubstr("last offset is 4"));
}

}  // namespace
}  // namespace eris::server
