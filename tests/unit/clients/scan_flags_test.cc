#include "clients/cli/scan_flags.h"

#include <string>

#include "clients/cli/files/schema_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;

ObjectInfo ObjectOf(ObjectKind kind) {
  ObjectInfo object{.name = "o", .kind = kind};
  object.schema = kind == ObjectKind::kIndex
                      ? KeyValueSchema({ColumnType::kUint64, ColumnType::kDate})
                      : *ParseSchema("a:int32,b:date,c:string", "b,a");
  if (kind == ObjectKind::kHeapTable) object.schema.key.clear();
  return object;
}
std::string Said(const ScanFlags& flags, ObjectKind kind = ObjectKind::kTable) {
  return std::string(flags.QueryOf(ObjectOf(kind)).status().message());
}

TEST(ScanFlagsTest, QueriesNameTheFlagThatIsWrong) {
  EXPECT_EQ(Said({.limit = 3, .filter = "a < 1", .aggregates = "count(*)", .group_by = "a"}), "");
  EXPECT_THAT(Said({.filter = "a <"}), HasSubstr("--filter: at character 4"));
  EXPECT_THAT(Said({.columns = "a b"}), HasSubstr("--columns: at character 3"));
  EXPECT_THAT(Said({.aggregates = "a"}), HasSubstr("--agg: at character 1"));
  EXPECT_THAT(Said({.aggregates = "count(*)", .group_by = "a+b"}), HasSubstr("--group-by:"));
  EXPECT_THAT(Said({.group_by = "a"}), HasSubstr("without --agg"));
}

TEST(ScanFlagsTest, FlagsBelongToAKindOfObject) {
  for (const ScanFlags& flags : {ScanFlags{.range = {.from = "1"}}, ScanFlags{.reverse = true},
                                 ScanFlags{.range = {.min_value = "1"}}}) {
    EXPECT_THAT(Said(flags), HasSubstr("o is a table, whose rows come in no order"));
  }
  for (const ScanFlags& flags :
       {ScanFlags{.filter = "a < 1"}, ScanFlags{.columns = "a"}, ScanFlags{.into = "x"}}) {
    EXPECT_THAT(Said(flags, ObjectKind::kIndex), HasSubstr("o is no table: --filter"));
  }
  EXPECT_THAT(Said({.keys_only = true}, ObjectKind::kHeapTable), HasSubstr("has no key"));
}

TEST(ScanFlagsTest, KeysOnlyAreTheColumnsOfTheKey) {
  const ScanFlags flags{.reverse = true, .limit = 7, .keys_only = true};
  const Query query = *flags.QueryOf(ObjectOf(ObjectKind::kIndex));
  ASSERT_EQ(query.columns.size(), 2u);
  EXPECT_EQ(query.columns[0].name, "key");
  EXPECT_EQ(query.columns[1].expression.column, "second_key");
  EXPECT_EQ(query.direction, ScanDirection::kBackward);
  EXPECT_EQ(query.limit, 7u);
  const Query table = *ScanFlags{.keys_only = true}.QueryOf(ObjectOf(ObjectKind::kTable));
  ASSERT_EQ(table.columns.size(), 2u);
  EXPECT_EQ(table.columns[0].name, "b");
}

}  // namespace
}  // namespace eris::cli
