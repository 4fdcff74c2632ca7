// Computed values in runs: for which rows they are computed, over blocks, segments and merges.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/table/groups/run_memory.h"
#include "storage/table/query/table_run.h"
#include "tests/unit/table/random_runs.h"

namespace eris::storage {
namespace {

using namespace expressions;  // NOLINT: as their users do

using OracleRow = QueryOracle::Row;

OracleValue& At(OracleRow& row, const char* column) { return row[*QueryLayout()->Find(column)]; }
OracleRow ZeroRow() {
  OracleRow row;
  for (const ColumnSchema& column : QuerySchema().columns) {
    row.push_back({.type = column.type, .scale = column.scale});
  }
  return row;
}
std::unique_ptr<QuerySegment> SegmentOf(uint32_t rows, bool dictionaries,
                                        const std::function<void(uint32_t, OracleRow&)>& fill) {
  std::vector<OracleRow> made;
  for (uint32_t i = 0; i < rows; ++i) {
    made.push_back(ZeroRow());
    fill(i, made.back());
  }
  return std::make_unique<QuerySegment>(std::move(made), dictionaries);
}

std::shared_ptr<const TablePlan> PlanOf(const Query& query) {
  auto plan = TablePlan::Create(QueryLayout()->schema().columns, query);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}
AggregateColumn Of(AggregateFunction function, Expression argument, std::string name = "") {
  return {function, std::move(argument), std::move(name)};
}

// Runs the segments; the first failure.
absl::Status RunOver(TableRun& run, const Segments& segments, ResultRows* out = nullptr) {
  for (const auto& segment : segments) {
    if (!run.BeginSegment(segment->view())) continue;
    for (uint32_t at = 0; at < segment->rows();) {
      if (run.RunBlock(at, out) == TableRun::Outcome::kError) return run.status();
    }
  }
  return absl::OkStatus();
}

// One text for each group.
std::vector<std::string> GroupsOf(TableRun& run, const Schema& schema) {
  std::vector<std::string> texts;
  const uint64_t groups = run.FinishGroups().value_or(0);
  ResultMemory memory(schema, static_cast<uint32_t>(groups), 100'000);
  uint64_t first = 0;
  run.TakeGroups(first, memory.rows);
  for (uint32_t i = 0; i < memory.rows.rows; ++i) {
    OracleRow row;
    for (size_t c = 0; c < schema.columns.size(); ++c) {
      row.push_back(memory.At(c, i, schema.columns[c].scale));
    }
    texts.push_back(TextOf(row));
  }
  return texts;
}
std::vector<std::string> Aggregated(const Query& query, const Segments& segments) {
  const auto plan = PlanOf(query);
  const auto run = *TableRun::Create(plan);
  const absl::Status status = RunOver(*run, segments);
  EXPECT_TRUE(status.ok()) << status;
  return GroupsOf(*run, plan->result());
}
// How a run that hands rows out ends.
absl::Status Projected(const Query& query, const Segments& segments) {
  const auto plan = PlanOf(query);
  ResultMemory memory(plan->result(), 10'000, 100'000);
  return RunOver(**TableRun::Create(plan), segments, &memory.rows);
}

using Texts = std::vector<std::string>;

// With few groups each is added up by a bitmap of its own: a value made for one group's rows alone
// would be missing in the others.
TEST(TableRunValuesTest, ValuesOfABlockAreThoseOfEveryGroup) {
  Segments segments;
  segments.push_back(SegmentOf(100, true, [](uint32_t i, OracleRow& row) {
    At(row, "i32").number = i;
    At(row, "some").text = i % 2 == 0 ? "a" : "b";
  }));
  Query query;
  query.group_by = {"some"};
  const Expression wide = Cast(Column("i32"), ColumnType::kInt128);
  query.aggregates = {
      Of(AggregateFunction::kSum, Case({Column("i32") < Literal(10), Literal(1), Literal(2)})),
      Of(AggregateFunction::kSum, wide + wide),
      Of(AggregateFunction::kMax, Case({Column("i32") >= Literal(0), Column("some")}))};
  EXPECT_EQ(Aggregated(query, segments), (Texts{"'a' 95 4900 'a' ", "'b' 95 5000 'b' "}));
}

// Products that leave their type, only where `i32` is 0.
Segments NearTheLimits() {
  Segments segments;
  segments.push_back(SegmentOf(70, true, [](uint32_t i, OracleRow& row) {
    At(row, "i32").number = i % 2;
    At(row, "i64").number = i % 2 == 0 ? INT64_MAX : 3;
    At(row, "i64n").number = i % 2 == 0 ? 2 : INT64_MAX / 3;
    At(row, "u64").number = i;
  }));
  return segments;
}

TEST(TableRunValuesTest, ABranchIsComputedForItsRowsAlone) {
  const Segments segments = NearTheLimits();
  const Expression product = Column("i64") * Column("i64n");
  const Expression fits = Equal(Column("i32"), Literal(1));
  const Expression guarded = Case({fits, product, Literal(0)});
  const auto ends = [&](const Expression& value, bool filtered) {
    Query query;
    query.columns = {{value, "x"}, {guarded, "y"}};
    if (filtered) query.filter = fits;
    return Projected(query, segments).code();
  };
  EXPECT_EQ(ends(guarded, false), absl::StatusCode::kOk);
  EXPECT_EQ(ends(Case({!fits, Literal(0), product}), false), absl::StatusCode::kOk);
  EXPECT_EQ(ends(Case({!fits, Literal(0), fits, product}), false), absl::StatusCode::kOk);
  // Nested, and in the condition of another case.
  EXPECT_EQ(ends(Case({Equal(guarded, Literal(0)), Literal(0), Case({fits, product})}), false),
            absl::StatusCode::kOk);
  EXPECT_EQ(ends(Case({fits && product > Literal(0), product - product}), false),
            absl::StatusCode::kOk);
  EXPECT_EQ(ends(Case({!fits || product < Literal(0), Literal(0), product}), false),
            absl::StatusCode::kOk);
  // The same value outside of it is computed for all rows.
  EXPECT_EQ(ends(product, false), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ends(product, true), absl::StatusCode::kOk);
  EXPECT_EQ(ends(product - guarded, false), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ends(product - guarded, true), absl::StatusCode::kOk);
  EXPECT_EQ(ends(Case({!fits, product, Literal(0)}), false), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ends(Case({product > Literal(0), Literal(0)}), false), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ends(Cast(Column("i64"), ColumnType::kInt32), false), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ends(Case({fits, Cast(Column("i64"), ColumnType::kInt32)}), false),
            absl::StatusCode::kOk);
}

TEST(TableRunValuesTest, ACaseInAnOrIsComputedForTheRowsThatAreLeft) {
  const Segments segments = NearTheLimits();
  const Expression product = Column("i64") * Column("i64n");
  const Expression checked = Case({Column("u64") >= Literal(0), product});
  Query query;
  query.aggregates = {Of(AggregateFunction::kCount, Column("i32"))};
  query.filter = Equal(Column("i32"), Literal(0)) || checked > Literal(0) || IsNull(checked);
  EXPECT_EQ(Aggregated(query, segments), Texts{"70 "});
  query.filter = Equal(Column("i32"), Literal(1)) &&
                 (Column("u64") < Literal(5) || checked < Literal(INT64_MAX));
  EXPECT_EQ(Aggregated(query, segments), Texts{"35 "});
  query.filter = checked > Literal(0) || Equal(Column("i32"), Literal(0));
  EXPECT_EQ(RunOver(**TableRun::Create(PlanOf(query)), segments).code(),
            absl::StatusCode::kOutOfRange);
  // A sum and a count of the same value, with and without its branch.
  query.filter = Equal(Column("i32"), Literal(1));
  query.aggregates = {Of(AggregateFunction::kSum, product - Column("u64")),
                      Of(AggregateFunction::kMax, checked)};
  EXPECT_EQ(Aggregated(query, segments),
            Texts{DecimalText(Int128{INT64_MAX / 3 * 3} * 35 - 1225, 0) + " " +
                  std::to_string(INT64_MAX / 3 * 3) + " "});
}

// Rows whose column i32 is one of 40 numbers, and many rows or few of a block are left.
TEST(TableRunValuesTest, FewRowsOfABlockGiveWhatAllOfThemGive) {
  Segments segments;
  for (const bool dictionaries : {false, true}) {
    segments.push_back(SegmentOf(5000, dictionaries, [](uint32_t i, OracleRow& row) {
      At(row, "i32").number = i * 7 % 40;
      At(row, "f64").real = i;
      At(row, "utf").text = std::string("\u00e9\u20ac") + std::to_string(i * 31 % 977);
      At(row, "utf").null = i % 11 == 0;
      At(row, "dec2").number = i;
    }));
  }
  const Expression text = Substring(Column("utf"), 2, 3);
  const Expression number =
      Case({Like(text, "%7%"), Cast(Column("f64"), ColumnType::kInt32), IsNull(text),
            Column("dec2"), Cast(Column("dec2"), ColumnType::kInt128, 1)});
  Query query;
  query.aggregates = {
      Of(AggregateFunction::kSum, number),
      Of(AggregateFunction::kMin, text),
      Of(AggregateFunction::kMax, text),
      Of(AggregateFunction::kCount, text),
      Of(AggregateFunction::kMax, number),
      Of(AggregateFunction::kMin, Column("utf")),
      Of(AggregateFunction::kSum, number * Cast(Column("i32"), ColumnType::kInt128))};
  query.group_by = {"i32"};
  Texts picked;
  for (int64_t i = 0; i < 40; ++i) {
    query.filter = Equal(Column("i32"), Literal(i));
    const Texts one = Aggregated(query, segments);
    ASSERT_EQ(one.size(), 1u);
    picked.push_back(one[0]);
  }
  query.filter = Column("i32") >= Literal(-1);
  EXPECT_EQ(Aggregated(query, segments), picked);
  // Few groups are added up by bitmaps.
  query.filter = Column("i32") < Literal(4);
  EXPECT_EQ(Aggregated(query, segments), Texts(picked.begin(), picked.begin() + 4));
}

// The same string has another code in each segment, and none in one of them.
Segments OtherCodes() {
  Segments segments;
  for (const uint32_t turn : {0, 1, 2, 3}) {
    segments.push_back(SegmentOf(90, turn != 2, [turn](uint32_t i, OracleRow& row) {
      At(row, "some").text = std::string(1, static_cast<char>('a' + (i + turn) % 5));
      At(row, "few").text = std::string(1, static_cast<char>('e' - (i + turn) % 3));
      At(row, "few").null = i % 9 == 0;
    }));
  }
  return segments;
}
Query OfCodes() {
  const auto text = [](const char* letters) { return Value(std::string(letters)); };
  Query query;
  query.aggregates = {
      Of(AggregateFunction::kSum,
         Case({Equal(Column("some"), Literal(text("b"))), Literal(1),
               In(Column("some"), {text("a"), text("c"), text("e")}) && !Like(Column("few"), "%d%"),
               Literal(1000), Case({Column("few") >= Literal(text("d")), Literal(1)}) > Literal(0),
               Literal(1'000'000)})),
      Of(AggregateFunction::kMin, Column("some")), Of(AggregateFunction::kMax, Column("few"))};
  return query;
}

TEST(TableRunValuesTest, ConditionsOfACaseAreAskedOfEachSegmentsCodes) {
  const Segments segments = OtherCodes();
  const Query query = OfCodes();
  Int128 sum = 0;
  QueryOracle oracle(QuerySchema());
  for (const auto& segment : segments) {
    for (uint32_t i = 0; i < segment->rows(); ++i) {
      sum += oracle.ValueOf(*query.aggregates[0].argument, segment->row(i)).number;
    }
  }
  const Texts wanted = {DecimalText(sum, 0) + " 'a' 'e' "};
  EXPECT_EQ(Aggregated(query, segments), wanted);
  // The slices of two runs in turn, which share each block.
  const auto plan = PlanOf(query);
  std::unique_ptr<TableRun> runs[2] = {*TableRun::Create(plan), *TableRun::Create(plan)};
  for (uint32_t i = 0; i < 2; ++i) runs[i]->Ride(i, 2);
  for (const auto& segment : segments) {
    for (const auto& run : runs) ASSERT_TRUE(run->BeginSegment(segment->view()));
    for (uint32_t at = 0; at < segment->rows();) {
      uint32_t from = at;
      for (const auto& run : runs) {
        at = from;
        ASSERT_EQ(run->RunBlock(at, nullptr), TableRun::Outcome::kDone);
      }
    }
  }
  for (const auto& run : runs) EXPECT_EQ(GroupsOf(*run, plan->result()), wanted);
}

TEST(TableRunValuesTest, MergesKeepTheExtremesOfStrings) {
  const auto of = [](const char* text, uint32_t from, uint32_t to) {
    Segments segments;
    segments.push_back(SegmentOf(to - from, true, [=](uint32_t i, OracleRow& row) {
      At(row, "i32").number = from + i;
      At(row, "utf").text = text + std::string(i % 50, 'x');
      At(row, "utf").null = (from + i) % 4 == 0;
    }));
    return segments;
  };
  Query query;
  query.group_by = {"i32"};
  query.aggregates = {Of(AggregateFunction::kMin, Column("utf")),
                      Of(AggregateFunction::kMax, Column("utf"))};
  const auto plan = PlanOf(query);
  const auto all = *TableRun::Create(plan);
  // In either order, groups that only one of them has, and nulls alone.
  for (const char* const text : {"b", "a", "c"}) {
    const auto run = *TableRun::Create(plan);
    const uint32_t from = text[0] == 'a' ? 0 : 100;
    ASSERT_TRUE(RunOver(*run, of(text, from, 300)).ok());
    ASSERT_TRUE(all->Merge(*run).ok());
  }
  const Texts groups = GroupsOf(*all, plan->result());
  ASSERT_EQ(groups.size(), 300u);
  EXPECT_EQ(groups[0], "0 null null ");
  EXPECT_EQ(groups[1], "1 'ax' 'ax' ");
  EXPECT_EQ(groups[101], "101 'ax' 'cx' ");
  EXPECT_EQ(groups[200], "200 null null ");
  EXPECT_EQ(groups[299], "299 'a" + std::string(49, 'x') + "' 'c" + std::string(49, 'x') + "' ");
}

TEST(TableRunValuesTest, MemoryThatEndsInTheMiddleIsAnError) {
  Segments segments;
  segments.push_back(SegmentOf(4000, false, [](uint32_t i, OracleRow& row) {
    At(row, "i64").number = i % 1000;
    At(row, "text").text = std::string(i / 10, static_cast<char>('a' + i / 1000));
  }));
  Query query;
  query.group_by = {"i64"};
  query.aggregates = {Of(AggregateFunction::kMin, Column("text")),
                      Of(AggregateFunction::kMax, Substring(Column("text"), 2))};
  const Texts wanted = Aggregated(query, segments);
  const auto plan = PlanOf(query);
  uint32_t in_the_middle = 0;
  bool enough = false;
  for (uint64_t bytes = 16 << 10; !enough; bytes += bytes / 8) {
    ASSERT_LT(bytes, 64 << 20);
    RunMemory memory(bytes);
    {
      const auto run = TableRun::Create(plan, &memory);
      const absl::Status status = run.ok() ? RunOver(**run, segments) : run.status();
      enough = status.ok();
      if (enough) {
        EXPECT_EQ(GroupsOf(**run, plan->result()), wanted);
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
        in_the_middle += run.ok();
      }
    }
    EXPECT_EQ(memory.used(), 0u);
  }
  EXPECT_GT(in_the_middle, 3u);
}

TEST(TableRunValuesTest, SumsOf128BitsThatLeaveThemAreErrors) {
  Segments segments;
  segments.push_back(
      SegmentOf(4, true, [](uint32_t i, OracleRow& row) { At(row, "i32").number = i; }));
  const auto ends = [&](Int128 literal, AggregateFunction function) {
    Query query;
    const Expression wide = Literal(Value(WideDecimal{HalvesOf(literal), 2}));
    query.aggregates = {Of(function, wide)};
    return RunOver(**TableRun::Create(PlanOf(query)), segments).code();
  };
  EXPECT_EQ(ends(kInt128Max / 4, AggregateFunction::kSum), absl::StatusCode::kOk);
  EXPECT_EQ(ends(kInt128Max / 4 + 1, AggregateFunction::kSum), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ends(kInt128Min / 4, AggregateFunction::kAverage), absl::StatusCode::kOk);
  EXPECT_EQ(ends(kInt128Min / 4 - 1, AggregateFunction::kAverage), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ends(kInt128Max, AggregateFunction::kMax), absl::StatusCode::kOk);
  // Two parts that fit, but not together.
  Query query;
  query.aggregates = {
      Of(AggregateFunction::kSum, Literal(Value(WideDecimal{HalvesOf(kInt128Max / 5), 0})))};
  const auto plan = PlanOf(query);
  const auto one = *TableRun::Create(plan);
  const auto other = *TableRun::Create(plan);
  for (const auto& run : {one.get(), other.get()}) ASSERT_TRUE(RunOver(*run, segments).ok());
  EXPECT_EQ(one->Merge(*other).code(), absl::StatusCode::kOutOfRange);
}

TEST(TableRunValuesTest, StringLiteralsAndWholeSubstringsAreHandedOut) {
  Segments segments;
  segments.push_back(SegmentOf(3, false, [](uint32_t i, OracleRow& row) {
    At(row, "text").text = "ab" + std::string(i, 'c');
  }));
  Query query;
  query.columns = {{Literal(Value(std::string("x"))), "x"},
                   {Substring(Column("text"), INT64_MIN), "all"},
                   {Substring(Column("text"), -1, 3), "first"},
                   {Substring(Literal(Value(std::string("xyz"))), INT64_MIN), "literal"}};
  const auto plan = PlanOf(query);
  ResultMemory memory(plan->result(), 10, 100);
  ASSERT_TRUE(RunOver(**TableRun::Create(plan), segments, &memory.rows).ok());
  ASSERT_EQ(memory.rows.rows, 3u);
  EXPECT_EQ(memory.At(0, 2, 0).text, "x");
  EXPECT_EQ(memory.At(1, 2, 0).text, "abcc");
  EXPECT_EQ(memory.At(2, 2, 0).text, "a");
  EXPECT_EQ(memory.At(3, 2, 0).text, "xyz");
}

TEST(TableRunValuesTest, DivisionsBy0AreErrorsOfTheRowsThatNeedThem) {
  constexpr uint32_t kRows = 3000;
  Segments segments;
  segments.push_back(SegmentOf(kRows, false, [](uint32_t i, OracleRow& row) {
    At(row, "i64").number = i;
    At(row, "i32").number = i % 7;
  }));
  const auto run = [&](Expression value, std::optional<Expression> filter) {
    Query query{.filter = std::move(filter)};
    query.aggregates = {Of(AggregateFunction::kSum, std::move(value))};
    auto made = TableRun::Create(PlanOf(query), nullptr);
    EXPECT_TRUE(made.ok());
    return RunOver(**made, segments);
  };
  const Expression remainder = Column("i64") % Column("i32");
  EXPECT_EQ(run(remainder, std::nullopt).ToString(), "OUT_OF_RANGE: i64 % i32 is a division by 0");
  EXPECT_TRUE(run(remainder, Column("i32") > Literal(0)).ok());
  EXPECT_TRUE(run(Case({Column("i32") > Literal(0), remainder}), std::nullopt).ok());
  EXPECT_EQ(run(Quotient(Column("i64"), Literal(0)), std::nullopt).ToString(),
            "OUT_OF_RANGE: i64 div 0 is a division by 0");
  EXPECT_EQ(run(Quotient(Column("i64"), Literal(INT64_MIN)), std::nullopt).ToString(), "OK");
  EXPECT_EQ(run(Quotient(Column("i64") - Literal(INT64_MAX) - Literal(1), Literal(-1)),
                Equal(Column("i64"), Literal(0)))
                .ToString(),
            "OUT_OF_RANGE: ((i64 - 9223372036854775807) - 1) div -1 is outside its type, int64");
}

}  // namespace
}  // namespace eris::storage
