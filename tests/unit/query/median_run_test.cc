// Medians as a task of a stage: in the memory of the query, in pieces, also of one huge group; and
// an error wherever memory is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/query/rows/query_pages.h"
#include "storage/query/stage_run.h"
#include "storage/table/plan/table_plan.h"
#include "storage/table/query/table_run.h"
#include "tests/unit/query/stage_lab.h"

namespace eris::storage {
namespace {

constexpr RowSet kRows = 0, kGroups = 1;

const std::vector<ColumnSchema> kColumns{{"k", ColumnType::kInt64, 0, true},
                                         {"i", ColumnType::kInt64, 0, true},
                                         {"u", ColumnType::kUint64, 0, false},
                                         {"d", ColumnType::kDecimal, 2, true},
                                         {"w", ColumnType::kInt128, 0, true}};

std::shared_ptr<const TablePlan> MediansBy(std::vector<std::string> keys) {
  Query query{.group_by = std::move(keys)};
  for (const char* const name : {"i", "u", "d", "w"}) {
    query.aggregates.push_back({.function = AggregateFunction::kMedian,
                                .argument = expressions::Column(name),
                                .name = {}});
  }
  auto plan = TablePlan::Create(kColumns, query);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}

// As doubles, or as decimals if `digits`; nulls are left out. None: no value.
std::optional<double> MedianOf(const std::vector<CellRow>& rows, size_t column, bool digits) {
  std::vector<Int128> values;
  for (const CellRow& row : rows) {
    if (!row[column].null) values.push_back(row[column].number);
  }
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const Int128 sum = values[(values.size() - 1) / 2] + values[values.size() / 2];
  return digits ? static_cast<double>(sum / 2) : static_cast<double>(sum) / 2;
}

class MedianRunTest : public testing::Test {
 protected:
  // Few keys, of which one is null, or one group of all.
  void Expect(const std::vector<CellRow>& rows, bool by_key) {
    StageLab lab(1, 2, random_);
    SetColumns(lab, by_key);
    lab.Put(kRows, rows);
    const auto plan =
        MediansBy(by_key ? std::vector<std::string>{"k"} : std::vector<std::string>{});
    const auto status = lab.Run({{MapTask{.plan = plan, .from = kRows, .to = kGroups}}});
    ASSERT_TRUE(status.ok()) << status;
    std::map<std::string, std::vector<CellRow>> groups;
    if (!by_key) groups["all"] = {};
    for (const CellRow& row : rows) groups[KeyText(row[0], by_key)].push_back(row);
    const auto answer = lab.RowsOf(0, kGroups);
    ASSERT_EQ(answer.size(), groups.size());
    for (const CellRow& row : answer) {
      const auto& group = groups.at(KeyText(row[0], by_key));
      const size_t first = by_key ? 1 : 0;
      for (size_t column = 1; column <= 4; ++column) {
        const Cell& got = row[first + column - 1];
        const bool decimal = kColumns[column].type == ColumnType::kDecimal;
        const auto expected = MedianOf(group, column, decimal);
        ASSERT_EQ(got.null, !expected.has_value());
        if (got.null) continue;
        EXPECT_EQ(decimal ? static_cast<double>(got.number) : got.real, *expected)
            << kColumns[column].name << " of " << group.size() << " rows";
      }
    }
  }
  static std::string KeyText(const Cell& key, bool by_key) {
    if (!by_key) return "all";
    return key.null ? "null" : std::to_string(static_cast<int64_t>(key.number));
  }
  static void SetColumns(StageLab& lab, bool by_key) {
    lab.SetColumns(kRows, {ColumnType::kInt64, ColumnType::kInt64, ColumnType::kUint64,
                           ColumnType::kDecimal, ColumnType::kInt128});
    std::vector<ColumnType> answer{ColumnType::kFloat64, ColumnType::kFloat64, ColumnType::kDecimal,
                                   ColumnType::kFloat64};
    if (by_key) answer.insert(answer.begin(), ColumnType::kInt64);
    lab.SetColumns(kGroups, answer);
  }
  std::vector<CellRow> Rows(size_t count, Values values) {
    std::vector<EnvelopeColumn> columns;
    for (const ColumnSchema& column : kColumns) columns.push_back({.type = column.type});
    auto rows = RandomRows(columns, count, values, 20, random_);
    for (CellRow& row : rows) {
      if (!row[0].null) row[0].number = row[0].number % 40;
      row[2].null = false;
      row[2].number = row[2].number < 0 ? -row[2].number : row[2].number;
    }
    return rows;
  }

  Random random_{Seed()};
};

TEST_F(MedianRunTest, AreThoseOfSortedValues) {
  SCOPED_TRACE(SeedText());
  for (const Values values : {Values::kFew, Values::kDense}) {
    for (const size_t count : {0, 1, 2, 3, 50, 5000, 30'000}) {
      Expect(Rows(count, values), true);
      Expect(Rows(count, values), false);
    }
  }
}

// The ends of the types, whose sums are outside them.
TEST_F(MedianRunTest, TheMeanOfTwoDoesNotLeaveItsType) {
  const auto row = [](Int128 i, Int128 u, Int128 d, Int128 w) {
    return CellRow{Cell{.number = 1}, Cell{.number = i}, Cell{.number = u}, Cell{.number = d},
                   Cell{.number = w}};
  };
  const std::vector<CellRow> most{row(INT64_MAX, UINT64_MAX, INT64_MAX, INT64_MAX),
                                  row(INT64_MAX - 2, UINT64_MAX - 2, INT64_MAX - 2, INT64_MAX)};
  Expect(most, true);
  Expect({row(INT64_MIN, 0, INT64_MIN, INT64_MIN), row(INT64_MIN + 1, 1, INT64_MIN + 3, INT64_MIN)},
         true);
  Expect({row(INT64_MIN, 0, INT64_MIN, INT64_MIN), row(INT64_MAX, UINT64_MAX, INT64_MAX, 5)}, true);
  Expect({row(-3, 1, -3, -3), row(-4, 2, -4, -4)}, true);
}

TEST_F(MedianRunTest, AHugeGroupIsFinishedInPieces) {
  constexpr uint32_t kCount = 200'000, kPieceRows = 64;
  std::vector<int64_t> values;
  for (uint32_t i = 0; i < kCount; ++i) values.push_back(static_cast<int64_t>(random_()));
  const Query query{.aggregates = {{.function = AggregateFunction::kMedian,
                                    .argument = expressions::Column("i"),
                                    .name = {}}}};
  const std::vector<ColumnSchema> schema{{"i", ColumnType::kInt64, 0, false}};
  auto run = *TableRun::Create(*TablePlan::Create(schema, query), nullptr, kNoGroupLimits);
  for (uint32_t first = 0; first < kCount; first += 50'000) {
    const std::vector<SegmentColumn> columns{
        {.type = ColumnType::kInt64, .values = values.data() + first}};
    ASSERT_TRUE(run->BeginSegment({.rows = 50'000, .columns = columns}));
    for (uint32_t at = 0; at < 50'000;) {
      ASSERT_EQ(run->RunBlock(at, nullptr), TableRun::Outcome::kDone);
    }
  }
  uint32_t pieces = 0;
  while (run->FinishSome(kPieceRows)) ++pieces;
  // It is gone through three times at least, and a row costs as much as some values.
  EXPECT_GT(pieces, 3 * kCount / (kPieceRows * 16));
  EXPECT_FALSE(run->FinishSome(kPieceRows));
  EXPECT_EQ(*run->FinishGroups(), 1u);
}

TEST_F(MedianRunTest, GroupsWithoutValuesAreFinishedInPieces) {
  constexpr uint32_t kCount = 20'000, kPieceRows = 64;
  std::vector<int64_t> keys(kCount);
  for (uint32_t i = 0; i < kCount; ++i) keys[i] = i * 1'000'003;
  const std::vector<uint64_t> none(kCount / 64 + 1, 0);
  const Query query{.group_by = {"k"},
                    .aggregates = {{.function = AggregateFunction::kMedian,
                                    .argument = expressions::Column("i"),
                                    .name = {}}}};
  auto run = *TableRun::Create(*TablePlan::Create(kColumns, query), nullptr, kNoGroupLimits);
  const std::vector<SegmentColumn> columns{
      {.type = ColumnType::kInt64, .values = keys.data()},
      {.type = ColumnType::kInt64, .values = keys.data(), .validity = none.data()}};
  ASSERT_TRUE(run->BeginSegment({.rows = kCount, .columns = columns}));
  for (uint32_t at = 0; at < kCount;) {
    ASSERT_EQ(run->RunBlock(at, nullptr), TableRun::Outcome::kDone);
  }
  uint32_t pieces = 0;
  while (run->FinishSome(kPieceRows)) ++pieces;
  EXPECT_GE(pieces, kCount / kPieceRows);
  EXPECT_EQ(*run->FinishGroups(), kCount);
}

TEST_F(MedianRunTest, EachRefusalIsAnErrorAndLeaksNothing) {
  const auto rows = Rows(20'000, Values::kDense);
  const auto plan = MediansBy({"k"});
  StageLab lab(1, 2, random_);
  SetColumns(lab, true);
  lab.Put(kRows, rows);
  const int64_t used = lab.used_bytes();
  uint64_t refused = 0;
  for (uint64_t nth = 1;; ++nth) {
    lab.caches[0]->ArmFailures(nth, StageLab::kOnce);
    const auto status = lab.Run({{MapTask{.plan = plan, .from = kRows, .to = kGroups}}});
    lab.caches[0]->ArmFailures(0, StageLab::kOnce);
    const size_t groups = lab.RowsOf(0, kGroups).size();
    ASSERT_TRUE(lab.Run({{FreeTask{{kGroups}}}}).ok());
    EXPECT_EQ(lab.used_bytes(), used);
    if (status.ok()) {
      EXPECT_GT(groups, 40u);
      break;
    }
    ++refused;
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  }
  EXPECT_GT(refused, 8u);
}

TEST_F(MedianRunTest, TheBudgetCountsTheValues) {
  const auto rows = Rows(50'000, Values::kDense);
  const auto plan = MediansBy({});
  // What rows take depends on how they are spread over envelopes.
  const auto random = random_;
  uint64_t rows_bytes = 0;
  {
    StageLab all(1, 2, random_);
    SetColumns(all, false);
    all.Put(kRows, rows);
    rows_bytes = all.budget.used();
  }
  random_ = random;
  StageLab lab(1, 2, random_, rows_bytes + (1u << 20));
  SetColumns(lab, false);
  lab.Put(kRows, rows);
  // Four columns of 8 to 16 bytes.
  const auto status = lab.Run({{MapTask{.plan = plan, .from = kRows, .to = kGroups}}});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(status.message().find("grouping"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace eris::storage
