#include "engine/objects/object_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace eris::engine {
namespace {

using ::testing::HasSubstr;

TEST(ObjectKindsTest, EveryHashPartitionGetsASeedOfItsOwn) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 100; ++i) seeds.insert(*PartitionSeed(ObjectKind::kHash));
  EXPECT_EQ(seeds.size(), 100u);
  EXPECT_EQ(*PartitionSeed(ObjectKind::kIndex), 0u);
}

std::string Refusal(ObjectKind kind, const Schema& schema) {
  const auto layout = LayoutOf(kind, schema);
  if (layout.ok()) {
    EXPECT_EQ((*layout)->schema(), schema);
    return "";
  }
  EXPECT_EQ(layout.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(layout.status().message());
}

TEST(ObjectKindsTest, OnlyKindsThatThereAreCanBeCreated) {
  EXPECT_EQ(Refusal(ObjectKind::kIndex, KeyValueSchema()), "");
  EXPECT_EQ(Refusal(ObjectKind::kHash, KeyValueSchema()), "");
  EXPECT_THAT(Refusal(static_cast<ObjectKind>(0), KeyValueSchema()), HasSubstr("kind of object 0"));
  EXPECT_THAT(Refusal(static_cast<ObjectKind>(200), KeyValueSchema()), HasSubstr("200"));
}

TEST(ObjectKindsTest, ByteStringsAreForIndexesAlone) {
  const auto of = [](ColumnType values) { return KeyValueSchema(ColumnType::kUint64, values); };
  EXPECT_EQ(Refusal(ObjectKind::kIndex, of(ColumnType::kString)), "");
  EXPECT_EQ(Refusal(ObjectKind::kIndex, of(ColumnType::kBytes)), "");
  EXPECT_THAT(Refusal(ObjectKind::kHash, of(ColumnType::kBytes)),
              HasSubstr("the values are bytes: a hash has values of uint64"));
  EXPECT_THAT(Refusal(ObjectKind::kHash, of(ColumnType::kString)),
              HasSubstr("a hash has values of uint64"));
  EXPECT_THAT(Refusal(ObjectKind::kIndex, of(ColumnType::kFloat64)), HasSubstr("value"));
  EXPECT_NE(Refusal(ObjectKind::kIndex, of(static_cast<ColumnType>(255))), "");
}

TEST(ObjectKindsTest, KeysOfTwoPartsAreForIndexesOfNumbersAlone) {
  const KeyTypes two = {ColumnType::kDate, ColumnType::kFloat64};
  EXPECT_EQ(Refusal(ObjectKind::kIndex, KeyValueSchema(two)), "");
  EXPECT_EQ(Refusal(ObjectKind::kHash, KeyValueSchema(ColumnType::kDate)), "");
  EXPECT_THAT(Refusal(ObjectKind::kHash, KeyValueSchema(two)), HasSubstr("keys of one part"));
  EXPECT_THAT(Refusal(ObjectKind::kIndex, KeyValueSchema(two, ColumnType::kString)),
              HasSubstr("keys of two parts"));
  for (const ColumnType none :
       {ColumnType::kInt32, ColumnType::kDecimal, ColumnType::kString, ColumnType::kBytes,
        ColumnType::kInt128, static_cast<ColumnType>(0)}) {
    EXPECT_NE(Refusal(ObjectKind::kIndex, KeyValueSchema(none)), "");
    EXPECT_NE(Refusal(ObjectKind::kIndex, KeyValueSchema({ColumnType::kDate, none})), "");
  }
}

TEST(ObjectKindsTest, AnIndexHasTheColumnsOfItsKeyAndThenItsValue) {
  const ColumnSchema key{.name = "k", .type = ColumnType::kUint64};
  const ColumnSchema value{.name = "v", .type = ColumnType::kUint64};
  EXPECT_EQ(Refusal(ObjectKind::kIndex, {.columns = {key, value}, .key = {0}}), "");
  EXPECT_THAT(Refusal(ObjectKind::kIndex, {.columns = {key, value}}), HasSubstr("not of 0"));
  EXPECT_THAT(Refusal(ObjectKind::kIndex, {.columns = {key, value}, .key = {1}}),
              HasSubstr("first columns in their order"));
  EXPECT_THAT(Refusal(ObjectKind::kIndex, {.columns = {key}, .key = {0}}), HasSubstr("1 columns"));
  ColumnSchema other = value;
  other.name = "w";
  EXPECT_THAT(Refusal(ObjectKind::kHash, {.columns = {key, value, other}, .key = {0}}),
              HasSubstr("3 columns"));
  EXPECT_THAT(Refusal(ObjectKind::kIndex, {.columns = {key, value, other}, .key = {1, 0}}),
              HasSubstr("part 1 is column 1"));
  Schema three{.columns = {key, value, other}, .key = {0, 1, 2}};
  for (ColumnSchema& column : three.columns) column.type = ColumnType::kDate;
  EXPECT_THAT(Refusal(ObjectKind::kIndex, three), HasSubstr("not of 3"));
  other.nullable = true;
  EXPECT_THAT(Refusal(ObjectKind::kIndex, {.columns = {key, other}, .key = {0}}),
              HasSubstr("nullable"));
}

TEST(ObjectKindsTest, OfTablesThoseWithAKeyAreClustered) {
  const Schema heap{.columns = {{.name = "v", .type = ColumnType::kString, .nullable = true}}};
  const Schema clustered{.columns = {{.name = "k", .type = ColumnType::kInt32}}, .key = {0}};
  EXPECT_EQ(Refusal(ObjectKind::kHeapTable, heap), "");
  EXPECT_EQ(Refusal(ObjectKind::kTable, clustered), "");
  EXPECT_THAT(Refusal(ObjectKind::kTable, heap), HasSubstr("has no key"));
  EXPECT_THAT(Refusal(ObjectKind::kHeapTable, clustered), HasSubstr("has a key"));
}

}  // namespace
}  // namespace eris::engine
