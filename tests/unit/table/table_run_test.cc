// Which segments runs look at, and what they ask of dictionaries.
#include "storage/table/query/table_run.h"
#include "storage/table/rows/table_layout.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/table/random_runs.h"

namespace eris::storage {
namespace {

using namespace expressions;  // NOLINT: as their users do

// Columns of QuerySchema that all have these values, and none of whose rows is null.
std::vector<SegmentColumn> ColumnsOf(const void* values) {
  std::vector<SegmentColumn> columns(QuerySchema().columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    columns[c].type = QuerySchema().columns[c].type;
    columns[c].values = values;
  }
  return columns;
}
std::shared_ptr<const TablePlan> CountPlan(const Expression& filter) {
  Query query;
  query.filter = filter;
  query.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"}};
  const auto plan = TablePlan::Create(QueryLayout()->schema().columns, query);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}
bool LooksAt(const Expression& filter, const SegmentView& view) {
  return (*TableRun::Create(CountPlan(filter)))->BeginSegment(view);
}

// Rows of a column of strings with a dictionary, whose strings can be written over.
struct FewStrings {
  FewStrings() {
    columns[*QueryLayout()->Find("few")].dictionary = &dictionary;
    view = {.rows = 3, .columns = columns, .id = 77};
  }
  FewStrings(const FewStrings&) = delete;
  FewStrings& operator=(const FewStrings&) = delete;

  std::string text = "aabbcc";
  const uint32_t offsets[4] = {0, 2, 4, 6};
  alignas(64) const uint16_t codes[64] = {0, 1, 2};
  DictionaryView dictionary{2, offsets, text.data()};
  std::vector<SegmentColumn> columns = ColumnsOf(codes);
  SegmentView view;
};

// A slice that goes on in the same segment asks no code again that it has asked before: here each
// string is written over once it has been asked, which no partition does.
TEST(TableRunTest, StringsOfADictionaryAreAskedOnceForASegment) {
  FewStrings strings;
  const auto plan =
      CountPlan(In(Column("few"), {Value(std::string("bb")), Value(std::string("cc"))}));
  const auto run = *TableRun::Create(plan);
  // How many rows a run over the whole segment adds.
  uint64_t before = 0;
  const auto count = [&] {
    EXPECT_TRUE(run->BeginSegment(strings.view));
    for (uint32_t at = 0; at < strings.view.rows;) {
      EXPECT_EQ(run->RunBlock(at, nullptr), TableRun::Outcome::kDone);
    }
    EXPECT_EQ(*run->FinishGroups(), 1u);
    ResultMemory memory(plan->result(), 1, 0);
    uint64_t first = 0;
    run->TakeGroups(first, memory.rows);
    const auto total = static_cast<uint64_t>(memory.At(0, 0, 0).number);
    return total - std::exchange(before, total);
  };
  strings.view.rows = 2;
  EXPECT_EQ(count(), 1u);
  strings.text.replace(0, 4, "bbaa");
  EXPECT_EQ(count(), 1u);
  // A code that is new is asked.
  strings.dictionary.size = 3;
  strings.view.rows = 3;
  EXPECT_EQ(count(), 2u);
  strings.text.replace(4, 2, "aa");
  EXPECT_EQ(count(), 2u);
  // Those of another segment are asked anew, and so are those of a view that does not say.
  strings.text = "bbbbbb";
  strings.dictionary.bytes = strings.text.data();
  strings.view.id = 78;
  EXPECT_EQ(count(), 3u);
  strings.text.replace(0, 2, "aa");
  strings.view.id = 0;
  EXPECT_EQ(count(), 2u);
  strings.text.replace(2, 2, "aa");
  EXPECT_EQ(count(), 1u);
}

// A segment of nothing but nulls, or of none, is decided by their count alone.
TEST(TableRunTest, CountsOfNullsPruneSegments) {
  alignas(64) const uint64_t values[64] = {};
  alignas(64) const uint64_t none[64] = {};
  alignas(64) const uint64_t all[64] = {~uint64_t{0}};
  std::vector<SegmentColumn> columns = ColumnsOf(values);
  const auto column = *QueryLayout()->Find("u64n");
  SegmentView view{.rows = 10, .columns = columns};
  // What the rows' bits say, how many nulls of how many rows; whether a segment is looked at.
  const auto looked_at = [&](const Expression& filter, const uint64_t* bits, uint32_t nulls,
                             uint32_t ever) {
    columns[column].validity = bits;
    columns[column].nulls = nulls;
    view.ever = ever;
    return LooksAt(filter, view);
  };
  const Expression value = Column("u64n");
  // Not counted: only that there is a bitmap is known.
  EXPECT_TRUE(looked_at(IsNull(value), none, 0, 0));
  EXPECT_TRUE(looked_at(!IsNull(value), none, 0, 0));
  // Some of them.
  EXPECT_TRUE(looked_at(IsNull(value), none, 10, 11));
  EXPECT_TRUE(looked_at(!IsNull(value), none, 10, 11));
  // All of them: nothing is true of null.
  EXPECT_TRUE(looked_at(IsNull(value), none, 11, 11));
  EXPECT_FALSE(looked_at(!IsNull(value), none, 11, 11));
  EXPECT_FALSE(looked_at(value < Literal(5), none, 11, 11));
  EXPECT_FALSE(looked_at(!(value < Literal(5)), none, 11, 11));
  EXPECT_FALSE(looked_at(value < Column("u64"), none, 11, 11));
  EXPECT_FALSE(looked_at(In(value, {Value(int64_t{1}), Value(int64_t{5})}), none, 11, 11));
  EXPECT_FALSE(looked_at(!IsNull(value + value), none, 11, 11));
  // None, though there is a bitmap.
  EXPECT_FALSE(looked_at(IsNull(value), all, 0, 11));
  EXPECT_TRUE(looked_at(!IsNull(value), all, 0, 11));
}

// Equalities that an `or` joins prune as each by itself does.
TEST(TableRunTest, SetsPruneSegmentsThatHaveNoneOfTheirValues) {
  alignas(64) const uint64_t values[64] = {};
  std::vector<SegmentColumn> columns = ColumnsOf(values);
  SegmentColumn::Bounds bounds[3];
  bounds[0].min.i64 = -10, bounds[0].max.i64 = 10;
  bounds[1].min.u64 = 100, bounds[1].max.u64 = 200;
  bounds[2].min.f64 = -1.5, bounds[2].max.f64 = 2.5;
  columns[*QueryLayout()->Find("i64")].bounds = &bounds[0];
  columns[*QueryLayout()->Find("u64")].bounds = &bounds[1];
  columns[*QueryLayout()->Find("f64")].bounds = &bounds[2];
  const SegmentView view{.rows = 10, .columns = columns, .ever = 10};
  const auto looked_at = [&](const Expression& filter) { return LooksAt(filter, view); };
  const Expression i = Column("i64"), u = Column("u64"), f = Column("f64");
  EXPECT_FALSE(looked_at(Equal(i, Literal(-11)) || Equal(i, Literal(11))));
  EXPECT_TRUE(looked_at(Equal(i, Literal(-11)) || Equal(i, Literal(10)) || Equal(i, Literal(12))));
  EXPECT_FALSE(looked_at(In(u, {Value(int64_t{99}), Value(int64_t{201}), Value(int64_t{300})})));
  EXPECT_TRUE(looked_at(In(u, {Value(int64_t{99}), Value(int64_t{100}), Value(int64_t{300})})));
  EXPECT_FALSE(looked_at(Equal(f, Literal(-2.0)) || Equal(f, Literal(3.0))));
  EXPECT_TRUE(looked_at(Equal(f, Literal(-2.0)) || Equal(f, Literal(2.5))));
  EXPECT_TRUE(looked_at(!(Equal(i, Literal(-11)) || Equal(i, Literal(11)))));  // every row passes
}

TEST(TableRunTest, YearsPruneSegmentsOfOtherDates) {
  const auto days_of = [](int year, int month, int day) {
    return *DateFromCivilDay(absl::CivilDay(year, month, day));
  };
  alignas(64)
      const int32_t days[64] = {days_of(1995, 12, 31), days_of(1994, 2, 1), days_of(1996, 1, 1)};
  std::vector<SegmentColumn> columns = ColumnsOf(days);
  SegmentColumn::Bounds bounds{};
  bounds.min.i64 = days[1];
  bounds.max.i64 = days[2];
  columns[*QueryLayout()->Find("date")].bounds = &bounds;
  const SegmentView view{.rows = 3, .columns = columns, .ever = 3, .id = 78};
  const auto looks_at = [&](DatePart part, int64_t value) {
    return LooksAt(Equal(PartOf(part, Column("date")), Literal(value)), view);
  };
  for (const int64_t year : {1994, 1995, 1996}) EXPECT_TRUE(looks_at(DatePart::kYear, year));
  for (const int64_t year : {1993, 1997}) EXPECT_FALSE(looks_at(DatePart::kYear, year));
  EXPECT_TRUE(looks_at(DatePart::kQuarter, 4));
  EXPECT_FALSE(looks_at(DatePart::kQuarter, 5));
  EXPECT_TRUE(looks_at(DatePart::kMonth, 12));
  EXPECT_FALSE(looks_at(DatePart::kMonth, 13));
  EXPECT_TRUE(looks_at(DatePart::kDay, 31));
  EXPECT_FALSE(looks_at(DatePart::kDay, 0));
}

}  // namespace
}  // namespace eris::storage
