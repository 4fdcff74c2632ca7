// Runs against the oracle: random rows in a few segments, random queries, each answered both ways.
#include "storage/table/query/table_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/table/query/plan_compiler.h"
#include "tests/support/seed.h"
#include "tests/unit/table/query_oracle.h"
#include "tests/unit/table/query_world.h"

namespace eris::storage {
namespace {

using namespace expressions;  // NOLINT: as their users do

std::shared_ptr<const TableLayout> Layout() {
  static const auto layout = TableLayout::Create(QuerySchema());
  EXPECT_TRUE(layout.ok()) << layout.status();
  return *layout;
}

using Segments = std::vector<std::unique_ptr<QuerySegment>>;

constexpr uint32_t kLengths[] = {0,   1,   2,   7,    63,   64,   65,  127,
                                 128, 129, 200, 2047, 2048, 2049, 4100};

Segments SomeSegments(QueryRandom& random) {
  Segments segments;
  const Spread spread = static_cast<Spread>(random() % 3);
  const uint64_t count = 1 + random() % 3;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t rows = random() % 3 == 0 ? kLengths[random() % std::size(kLengths)]
                                            : static_cast<uint32_t>(random() % 200);
    segments.push_back(
        std::make_unique<QuerySegment>(random, rows, spread, random() % 2 == 0, random() % 2 == 0));
  }
  return segments;
}

std::string TextOf(const OracleValue& value) {
  if (value.null) return "null";
  if (value.IsText()) return "'" + value.text + "'";
  if (value.IsReal()) {
    if (std::isnan(value.real)) return "nan";
    char text[64];
    std::snprintf(text, sizeof text, "%a", value.real);
    return text;
  }
  return DecimalText(value.number, value.scale);
}
std::string TextOf(const QueryOracle::Row& row) {
  std::string text;
  for (const OracleValue& value : row) text += TextOf(value) + " ";
  return text;
}

// Which rows pass. False: some row's arithmetic left its type, which a run may or may not see.
bool Pass(QueryOracle& oracle, const Query& query, const QuerySegment& segment,
          std::vector<uint32_t>& out) {
  for (uint32_t i = 0; i < segment.rows(); ++i) {
    if (!segment.counts(i)) continue;
    if (!query.filter || oracle.TruthOf(*query.filter, segment.row(i)) == Truth::kTrue) {
      out.push_back(i);
    }
  }
  return !oracle.TakeOverflow();
}

TEST(TableRunTest, RowsHandedOutAreThoseOfTheOracle) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  QueryRandom random(seed);
  uint32_t compared = 0;
  uint32_t errors = 0;
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    const Segments segments = SomeSegments(random);
    QueryMaker maker(random);
    Query query;
    if (random() % 8 != 0) query.filter = maker.Condition(2);
    for (uint64_t i = random() % 4; i > 0; --i) {
      query.columns.push_back(
          {random() % 2 == 0 ? maker.AnyColumn() : maker.Number(2), "c" + std::to_string(i)});
    }
    const auto plan = TablePlan::Create(Layout(), query);
    if (!plan.ok()) {
      ASSERT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << plan.status();
      continue;
    }
    QueryOracle oracle(QuerySchema());
    std::vector<std::string> expected;
    bool filter_clean = true;
    bool clean = true;
    for (const auto& segment : segments) {
      std::vector<uint32_t> passing;
      filter_clean &= Pass(oracle, query, *segment, passing);
      for (const uint32_t i : passing) {
        QueryOracle::Row row;
        for (const NamedExpression& column : query.columns) {
          row.push_back(oracle.ValueOf(column.expression, segment->row(i)));
        }
        if (query.columns.empty()) row = segment->row(i);
        expected.push_back(TextOf(row));
      }
      clean &= !oracle.TakeOverflow();
    }
    auto run = TableRun::Create(*plan);
    ASSERT_TRUE(run.ok());
    const Schema& result = (*plan)->result();
    std::vector<std::string> got;
    bool error = false;
    for (const auto& segment : segments) {
      if (segment->rows() == 0 || !(*run)->BeginSegment(segment->view())) continue;
      uint32_t at = 0;
      while (at < segment->rows() && !error) {
        // Small and odd, so that blocks are left and entered in the middle.
        ResultMemory memory(result, 1 + static_cast<uint32_t>(random() % 300),
                            12 + static_cast<uint32_t>(random() % 300));
        TableRun::Outcome outcome = TableRun::Outcome::kDone;
        while (at < segment->rows() && outcome == TableRun::Outcome::kDone) {
          outcome = (*run)->RunBlock(at, &memory.rows);
        }
        error = outcome == TableRun::Outcome::kError;
        if (!error && outcome == TableRun::Outcome::kFull) {
          ASSERT_GT(memory.rows.rows, 0u);
        }
        for (uint32_t i = 0; i < memory.rows.rows; ++i) {
          QueryOracle::Row row;
          for (size_t c = 0; c < result.columns.size(); ++c) {
            row.push_back(memory.At(c, i, result.columns[c].scale));
          }
          got.push_back(TextOf(row));
        }
        if (random() % 4 == 0) {
          ASSERT_TRUE((*run)->BeginSegment(segment->view()));
        }
      }
      if (error) break;
    }
    if (error) {
      ++errors;
      EXPECT_EQ((*run)->status().code(), absl::StatusCode::kOutOfRange);
      EXPECT_FALSE(clean && filter_clean) << (*run)->status();
    } else if (filter_clean) {
      ++compared;
      EXPECT_TRUE(clean);
      ASSERT_EQ(got, expected) << (query.filter ? ExpressionText(*query.filter) : "");
    }
  }
  EXPECT_GT(compared, 500u);
  EXPECT_GT(errors, 0u);
}

struct OracleGroup {
  uint64_t rows = 0;
  struct Sum {
    uint64_t count = 0;
    Int128 number = 0;
    double real = 0;
    double size = 0;  // of the doubles, without their signs
    OracleValue min, max;
  };
  std::vector<Sum> sums;
};

int64_t RealKey(double value) {
  if (std::isnan(value)) return INT64_MAX;
  int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits ^ ((bits >> 63) & INT64_MAX);
}
bool Below(const OracleValue& a, const OracleValue& b) {
  if (a.IsText()) return a.text < b.text;
  return a.IsReal() ? RealKey(a.real) < RealKey(b.real) : a.number < b.number;
}

// Ascending, nulls first; the doubles -0.0 and 0.0 are one group, and so are NaNs.
struct GroupOrder {
  static OracleValue Canonical(OracleValue value) {
    if (value.IsReal() && value.real == 0) value.real = 0;
    return value;
  }
  bool operator()(const QueryOracle::Row& a, const QueryOracle::Row& b) const {
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].null != b[i].null) return a[i].null;
      if (a[i].null) continue;
      const OracleValue x = Canonical(a[i]), y = Canonical(b[i]);
      if (Below(x, y)) return true;
      if (Below(y, x)) return false;
    }
    return false;
  }
};

std::string ExpectedText(const AggregateColumn& aggregate, const OracleGroup& group, size_t i,
                         const ColumnSchema& column, const OracleValue& got) {
  const OracleGroup::Sum& sum = group.sums[i];
  OracleValue value{.type = column.type, .scale = column.scale};
  if (aggregate.function == AggregateFunction::kCount) {
    value.number = aggregate.argument ? sum.count : group.rows;
    return TextOf(value);
  }
  value.null = sum.count == 0;
  if (value.null) return TextOf(value);
  const bool real = sum.min.IsReal();
  const auto near = [&](double exact, double size) {
    // Doubles are added in some order.
    if (std::isnan(exact) ? std::isnan(got.real)
                          : exact == got.real || std::abs(exact - got.real) <= size * 1e-12) {
      return TextOf(got);
    }
    OracleValue wanted = got;
    wanted.null = false;
    wanted.real = exact;
    return TextOf(wanted);
  };
  switch (aggregate.function) {
    case AggregateFunction::kSum:
      if (real) return near(sum.real, sum.size);
      value.number = sum.number;
      break;
    case AggregateFunction::kAverage: {
      if (real) return near(sum.real / static_cast<double>(sum.count), sum.size);
      value.real = NearestDouble(sum.number, sum.min.scale) / static_cast<double>(sum.count);
      break;
    }
    case AggregateFunction::kMin:
      value = sum.min;
      break;
    default:
      value = sum.max;
      break;
  }
  return TextOf(value);
}

TEST(TableRunTest, AggregatesAreThoseOfTheOracle) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  QueryRandom random(seed + 1);
  uint32_t compared = 0;
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    const Segments segments = SomeSegments(random);
    QueryMaker maker(random);
    Query query;
    if (random() % 3 != 0) query.filter = maker.Condition(2);
    const auto& columns = QuerySchema().columns;
    std::vector<size_t> group_columns;
    for (uint64_t i = random() % 4; i > 0; --i) {
      group_columns.push_back(random() % columns.size());
      query.group_by.push_back(columns[group_columns.back()].name);
    }
    for (uint64_t i = 1 + random() % 4; i > 0; --i) {
      const auto function = static_cast<AggregateFunction>(1 + random() % 5);
      AggregateColumn aggregate;
      aggregate.function = function;
      if (function != AggregateFunction::kCount) {
        aggregate.argument = maker.Number(random() % 3);
      } else if (random() % 2 == 0) {
        aggregate.argument = maker.AnyColumn();
      }
      query.aggregates.push_back(std::move(aggregate));
    }
    const auto plan = TablePlan::Create(Layout(), query);
    if (!plan.ok()) {
      ASSERT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << plan.status();
      continue;
    }
    QueryOracle oracle(QuerySchema());
    std::map<QueryOracle::Row, OracleGroup, GroupOrder> expected;
    if (query.group_by.empty()) expected[{}].sums.resize(query.aggregates.size());
    bool filter_clean = true;
    for (const auto& segment : segments) {
      std::vector<uint32_t> passing;
      filter_clean &= Pass(oracle, query, *segment, passing);
      if (!filter_clean) break;
      for (const uint32_t i : passing) {
        QueryOracle::Row key;
        for (const size_t c : group_columns) key.push_back(segment->row(i)[c]);
        OracleGroup& group = expected[key];
        group.sums.resize(query.aggregates.size());
        ++group.rows;
        for (size_t a = 0; a < query.aggregates.size(); ++a) {
          if (!query.aggregates[a].argument) continue;
          const OracleValue value = oracle.ValueOf(*query.aggregates[a].argument, segment->row(i));
          if (value.null) continue;
          OracleGroup::Sum& sum = group.sums[a];
          if (sum.count == 0 || Below(value, sum.min)) sum.min = value;
          if (sum.count == 0 || Below(sum.max, value)) sum.max = value;
          ++sum.count;
          sum.number += value.number;
          sum.real += value.real;
          sum.size += std::abs(value.real);
        }
      }
    }
    const bool clean = !oracle.TakeOverflow();
    if (!filter_clean) continue;
    // As two AEUs' parts, merged.
    std::unique_ptr<TableRun> runs[2];
    bool error = false;
    for (auto& run : runs) run = *TableRun::Create(*plan);
    for (size_t s = 0; s < segments.size() && !error; ++s) {
      TableRun& run = *runs[s % 2];
      if (segments[s]->rows() == 0 || !run.BeginSegment(segments[s]->view())) continue;
      for (uint32_t at = 0; at < segments[s]->rows() && !error;) {
        error = run.RunBlock(at, nullptr) == TableRun::Outcome::kError;
        if (error) {
          EXPECT_EQ(run.status().code(), absl::StatusCode::kOutOfRange);
          EXPECT_FALSE(clean) << run.status();
        }
      }
    }
    if (error) continue;
    ASSERT_TRUE(clean);
    ASSERT_TRUE(runs[0]->Merge(*runs[1]).ok());
    const auto count = runs[0]->FinishGroups();
    ASSERT_TRUE(count.ok());
    ASSERT_EQ(*count, expected.size()) << (query.filter ? ExpressionText(*query.filter) : "");
    ++compared;
    const Schema& result = (*plan)->result();
    auto wanted = expected.begin();
    for (uint64_t first = 0; first < *count;) {
      ResultMemory memory(result, 1 + static_cast<uint32_t>(random() % 50), 200);
      const uint64_t before = first;
      runs[0]->TakeGroups(first, memory.rows);
      ASSERT_GT(first, before);
      ASSERT_EQ(first - before, memory.rows.rows);
      for (uint32_t i = 0; i < memory.rows.rows; ++i, ++wanted) {
        for (size_t c = 0; c < result.columns.size(); ++c) {
          const ColumnSchema& column = result.columns[c];
          const OracleValue got = memory.At(c, i, column.scale);
          SCOPED_TRACE(column.name);
          if (c < group_columns.size()) {
            ASSERT_EQ(TextOf(got), TextOf(GroupOrder::Canonical(wanted->first[c])));
          } else {
            const size_t a = c - group_columns.size();
            ASSERT_EQ(TextOf(got),
                      ExpectedText(query.aggregates[a], wanted->second, a, column, got));
            if (got.null) {
              ASSERT_TRUE(column.nullable);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 500u);
}

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
  const auto plan = TablePlan::Create(Layout(), query);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}
bool LooksAt(const Expression& filter, const SegmentView& view) {
  return (*TableRun::Create(CountPlan(filter)))->BeginSegment(view);
}

// Rows of a column of strings with a dictionary, whose strings can be written over.
struct FewStrings {
  FewStrings() {
    columns[*Layout()->Find("few")].dictionary = &dictionary;
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
  const auto column = *Layout()->Find("u64n");
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
  columns[*Layout()->Find("i64")].bounds = &bounds[0];
  columns[*Layout()->Find("u64")].bounds = &bounds[1];
  columns[*Layout()->Find("f64")].bounds = &bounds[2];
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
  columns[*Layout()->Find("date")].bounds = &bounds;
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
