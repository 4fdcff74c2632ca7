// Strings are text: what is not UTF-8 is refused wherever rows come in, with nothing written. Bytes
// are any bytes, and are stored, filtered, grouped and joined like strings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "eris/engine.h"
#include "tests/integration/table_fixture.h"
#include "tests/support/table_rows.h"

namespace eris {
namespace {

using namespace expressions;  // NOLINT: operators
using test::Row;
using test::Rows;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::string kNoText = "caf\xe9";
const std::string kText = "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";

Schema TextAndBytes() {
  return {.columns = {{.name = "k", .type = ColumnType::kInt64},
                      {.name = "text", .type = ColumnType::kString, .nullable = true},
                      {.name = "bin", .type = ColumnType::kBytes, .nullable = true}},
          .key = {0}};
}

class TextTest : public test::TableTest {
 protected:
  // A write of one table's rows that must be refused.
  std::string Refused(const Object& table, WriteMode mode, Rows rows) {
    const BatchResult result = Write(table, mode, std::move(rows));
    EXPECT_EQ(result.status.code(), absl::StatusCode::kInvalidArgument) << result.status;
    return std::string(result.status.message());
  }
  std::string RefusedQuery(const Object& table, const Query& query) {
    const absl::Status status = session_->OpenScan(table, query).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }
};

INSTANTIATE_TEST_SUITE_P(Aeus, TextTest, testing::Values(2), test::AeusOf);

TEST_P(TextTest, TablesRefuseABatchWithAStringThatIsNoText) {
  for (const bool clustered : {true, false}) {
    Schema schema = TextAndBytes();
    if (!clustered) schema.key.clear();
    const Object table = CreateTable(clustered ? "t" : "h", schema);
    const WriteMode mode = clustered ? WriteMode::kUpsert : WriteMode::kAppend;
    Rows bad(schema.columns);
    bad.Add({int64_t{1}, kText, Bytes{kNoText}});
    bad.Add({int64_t{2}, Value(), Value()});
    bad.Add({int64_t{3}, kNoText, Bytes{}});
    EXPECT_EQ(
        Refused(table, mode, bad),
        "column text, row 2: not UTF-8 from byte 3 on, and a string is text: a column of type "
        "bytes takes any bytes");
    EXPECT_EQ(engine_->Describe(clustered ? "t" : "h")->keys, 0u);
    // Together they are UTF-8, one by one not.
    Rows cut(schema.columns);
    cut.Add({int64_t{1}, std::string("\xc3"), Value()});
    cut.Add({int64_t{2}, std::string("\xa9"), Value()});
    EXPECT_THAT(Refused(table, mode, cut), HasSubstr("column text, row 0: not UTF-8 from byte 0"));
    EXPECT_TRUE(ScanAll(table).empty());
    Rows good(schema.columns);
    const std::vector<Row> rows = {{int64_t{1}, kText, Bytes{kNoText}},
                                   {int64_t{2}, Value(), Value()},
                                   {int64_t{3}, std::string(), Bytes{std::string("\0\xff", 2)}}};
    for (const Row& row : rows) good.Add(row);
    ASSERT_TRUE(Write(table, mode, good).status.ok());
    EXPECT_EQ(test::Sorted(ScanAll(table)), test::Sorted(rows));
  }
}

TEST_P(TextTest, ANullMayHaveAnyBytesWhichAreNeverAnswered) {
  const Object table = CreateTable("t", TextAndBytes());
  const std::vector<int64_t> keys = {1, 2};
  const uint32_t offsets[] = {0, 2, 4};
  const uint8_t second = 2;
  const ColumnView columns[] = {{.values = keys.data()},
                                {.values = "\xff\xff"
                                           "ab",
                                 .validity = &second,
                                 .offsets = offsets},
                                {.values = "\xff\xff"
                                           "ab",
                                 .validity = &second,
                                 .offsets = offsets}};
  const BatchResult result = session_->Write(table, {.rows = {2, columns}});
  ASSERT_TRUE(result.status.ok()) << result.status;
  auto scan = session_->OpenScan(table, {});
  ASSERT_TRUE(scan.ok());
  const absl::Status end = test::ForEachChunk(**scan, [&](const Chunk& chunk) {
    for (uint64_t row = 0; row < chunk.rows(); ++row) {
      const bool null = test::ReadAt<int64_t>(chunk.column(0).values, row) == 1;
      EXPECT_EQ(chunk.String(1, row), null ? "" : "ab");
    }
  });
  EXPECT_TRUE(end.ok()) << end;
}

TEST_P(TextTest, IndexesRefuseItInEveryWrite) {
  const Object index = test::Create(
      *engine_, "i", {.schema = KeyValueSchema(ColumnType::kUint64, ColumnType::kString)});
  const std::vector<uint64_t> keys = {1, 2};
  const auto write = [&](WriteMode mode, std::vector<std::string> values,
                         std::vector<std::string> expected = {}) {
    const test::StringsColumn column(values), before(expected);
    const ColumnView rows[] = {test::ColumnOf(keys), column.view()};
    const ColumnView old = before.view();
    WriteBatch batch{.mode = mode, .rows = {2, rows}};
    if (!expected.empty()) batch.expected = {2, {&old, 1}};
    return session_->Write(index, batch);
  };
  for (const WriteMode mode : {WriteMode::kUpsert, WriteMode::kInsertIfAbsent}) {
    const BatchResult refused = write(mode, {"a", kNoText});
    EXPECT_EQ(refused.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.status.message()), HasSubstr("column value, row 1: not UTF-8"));
  }
  EXPECT_EQ(engine_->Describe("i")->keys, 0u);
  ASSERT_TRUE(write(WriteMode::kUpsert, {"a", kText}).status.ok());
  for (const bool in_expected : {false, true}) {
    const std::vector<std::string> bad = {"b", kNoText}, good = {"a", kText};
    const BatchResult refused =
        write(WriteMode::kCompareAndSet, in_expected ? good : bad, in_expected ? bad : good);
    EXPECT_EQ(refused.status.code(), absl::StatusCode::kInvalidArgument) << in_expected;
  }
  EXPECT_EQ(write(WriteMode::kReplaceIfPresent, {kNoText, "x"}).status.code(),
            absl::StatusCode::kInvalidArgument);
  const ColumnView asked = test::ColumnOf(keys);
  const BatchResult found = session_->Lookup(index, {.keys = {2, {&asked, 1}}});
  EXPECT_THAT(test::StringsOf(found.columns[0]), ElementsAre("a", kText));
}

TEST_P(TextTest, BytesAreFilteredGroupedAndAggregated) {
  const Object table = CreateTable("t", TextAndBytes());
  Rows rows(TextAndBytes().columns);
  const std::string zero("\0", 1);
  const std::vector<std::string> values = {"", zero, "a", "a\xff", "\xff", "\xff"};
  for (size_t i = 0; i < values.size(); ++i) {
    rows.Add({static_cast<int64_t>(i), Value(), Bytes{values[i]}});
  }
  rows.Add({int64_t{6}, std::string("a"), Value()});
  ASSERT_TRUE(Write(table, WriteMode::kUpsert, rows).status.ok());
  const auto count = [&](Expression filter) {
    return One(table, {.filter = std::move(filter), .aggregates = {{}}});
  };
  const auto bytes = [](std::string text) { return Literal(Value(Bytes{std::move(text)})); };
  EXPECT_EQ(count(Equal(Column("bin"), bytes("\xff"))), 2);
  EXPECT_EQ(count(Column("bin") < bytes("a")), 2);
  EXPECT_EQ(count(Column("bin") >= bytes("a\xff")), 3);
  EXPECT_EQ(count(Between(Column("bin"), bytes(zero), bytes("a"))), 2);
  EXPECT_EQ(count(In(Column("bin"), {Value(Bytes{"\xff"}), Value(std::string("a"))})), 3);
  // A text next to bytes counts as its bytes.
  EXPECT_EQ(count(Equal(Column("bin"), Literal(Value(std::string("a"))))), 1);
  EXPECT_EQ(count(IsNull(Column("bin"))), 1);
  EXPECT_EQ(ScanAll(table, {.aggregates = {{AggregateFunction::kMin, Column("bin"), "least"},
                                           {AggregateFunction::kMax, Column("bin"), "most"}}}),
            (std::vector<Row>{{Bytes{""}, Bytes{"\xff"}}}));
  const std::vector<Row> groups =
      ScanAll(table, {.group_by = {"bin"}, .aggregates = {{AggregateFunction::kCount, {}, "n"}}});
  EXPECT_EQ(groups.size(), 6u);
  const Query chosen{.columns = {{Case({Column("k") < Literal(1), Column("bin"),
                                        Literal(Value(std::string("else")))}),
                                  "c"}},
                     .limit = 1};
  auto scan = session_->OpenScan(table, chosen);
  ASSERT_TRUE(scan.ok()) << scan.status();
  EXPECT_EQ((*scan)->schema().columns[0].type, ColumnType::kBytes);
}

TEST_P(TextTest, BytesAreNotTextForExpressions) {
  const Object table = CreateTable("t", TextAndBytes());
  const auto refused = [&](Expression filter) {
    return RefusedQuery(table, {.filter = std::move(filter)});
  };
  EXPECT_EQ(refused(Equal(Column("text"), Column("bin"))),
            "column text (string) cannot be compared with column bin (bytes)");
  EXPECT_EQ(refused(Equal(Column("text"), Literal(Value(Bytes{"a"})))),
            "column text (string) cannot be compared with bytes");
  EXPECT_EQ(refused(In(Column("text"), {Value(Bytes{"a"})})),
            "column text (string) cannot be compared with bytes");
  EXPECT_EQ(refused(Like(Column("bin"), "a%")),
            "column bin (bytes) is not a string, which `like` takes");
  EXPECT_EQ(refused(Equal(Substring(Column("bin"), 1), Literal(Value(std::string("a"))))),
            "substring(bin, 1): column bin (bytes) is not a string");
  EXPECT_EQ(refused(Equal(Column("text"), Literal(Value(kNoText)))),
            "the string literal of the bytes x'636166e9' is not UTF-8 from byte 3 on; columns of "
            "bytes are compared with literals of bytes");
  EXPECT_THAT(refused(Like(Column("text"), "\xff%")), HasSubstr("is not UTF-8 from byte 0 on"));
}

TEST_P(TextTest, PlansJoinBytesWithBytesAlone) {
  const Object one = CreateTable("one", TextAndBytes());
  const Object two = CreateTable("two", TextAndBytes());
  for (const Object& table : {one, two}) {
    Rows rows(TextAndBytes().columns);
    rows.Add({int64_t{1}, std::string("a"), Bytes{"\xff"}});
    rows.Add({int64_t{2}, std::string("b"), Bytes{"a"}});
    rows.Add({int64_t{3}, Value(), Value()});
    ASSERT_TRUE(Write(table, WriteMode::kUpsert, rows).status.ok());
  }
  const auto plan = [](uint32_t left, uint32_t right) {
    QueryPlan joined;
    joined.nodes = {ReadNode{.object = "one"}, ReadNode{.object = "two"},
                    JoinNode{.left = 0, .right = 1, .keys = {{left, right}}},
                    ProjectNode{.input = 2, .columns = {Field(0), Field(5)}}};
    return joined;
  };
  auto query = session_->OpenQuery(plan(2, 2));
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_THAT(test::ReadAll(**query),
              UnorderedElementsAre(Row{int64_t{1}, Bytes{"\xff"}}, Row{int64_t{2}, Bytes{"a"}}));
  const absl::Status mixed = session_->OpenQuery(plan(1, 2)).status();
  EXPECT_EQ(mixed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(mixed.message()), HasSubstr("cannot be compared"));
}

TEST_P(TextTest, ValuesOfPlansAreTextOrBytesAsTheirColumnSays) {
  const auto run = [&](ColumnType type, Value value) {
    QueryPlan plan;
    plan.nodes = {
        ValuesNode{.columns = {{.name = "v", .type = type}}, .rows = {{std::move(value)}}}};
    auto query = session_->OpenQuery(plan);
    return query.ok() ? test::ReadAll(**query) : std::vector<Row>();
  };
  EXPECT_EQ(run(ColumnType::kString, kText), (std::vector<Row>{{kText}}));
  EXPECT_EQ(run(ColumnType::kBytes, Bytes{kNoText}), (std::vector<Row>{{Bytes{kNoText}}}));
  EXPECT_TRUE(run(ColumnType::kString, kNoText).empty());
  EXPECT_TRUE(run(ColumnType::kString, Bytes{"a"}).empty());
  EXPECT_TRUE(run(ColumnType::kBytes, std::string("a")).empty());
}

TEST_P(TextTest, AScanIntoAnotherTableKeepsBothTypes) {
  const Object from = CreateTable("from", TextAndBytes());
  const Object to = CreateTable("to", TextAndBytes());
  Rows rows(TextAndBytes().columns);
  rows.Add({int64_t{1}, kText, Bytes{kNoText}});
  ASSERT_TRUE(Write(from, WriteMode::kUpsert, rows).status.ok());
  ASSERT_EQ(session_->ScanInto(from, {}, to).value_or(0), 1u);
  EXPECT_EQ(ScanAll(to), ScanAll(from));
  const Query swapped{
      .columns = {{Column("k"), "k"}, {Column("bin"), "text"}, {Column("bin"), "bin"}}};
  EXPECT_EQ(session_->ScanInto(from, swapped, to).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace eris
