// Groups in two phases against groups in one, over random rows at several AEUs: every aggregate,
// nulls, no rows, no keys.
#include "engine/query/groups/two_phase_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "storage/query/plans/expression_tools.h"
#include "tests/unit/query/stage_lab.h"

namespace eris::engine {
namespace {

using namespace expressions;

using storage::MapTask;
using storage::Random;
using storage::RowSet;
using storage::ShareTask;
using storage::StageLab;
using storage::TablePlan;
using test::Seed;

constexpr RowSet kRows = 0, kPartial = 1, kShared = 2, kMerged = 3, kAnswer = 4, kAll = 5,
                 kOnePhase = 6, kSets = 7;

const std::vector<ColumnSchema> kColumns{
    {"k", ColumnType::kInt64, 0, true},   {"s", ColumnType::kString, 0, true},
    {"v", ColumnType::kInt32, 0, true},   {"d", ColumnType::kDecimal, 2, true},
    {"f", ColumnType::kFloat64, 0, true}, {"u", ColumnType::kUint64, 0, false},
    {"w", ColumnType::kInt128, 0, true},  {"day", ColumnType::kDate, 0, true},
};

Query AllAggregates() {
  using F = AggregateFunction;
  Query query;
  query.aggregates.push_back({.function = F::kCount, .argument = {}, .name = {}});
  const auto add = [&](F function, Expression argument) {
    query.aggregates.push_back({.function = function, .argument = std::move(argument), .name = {}});
  };
  for (uint32_t c = 0; c < kColumns.size(); ++c) {
    for (const F function : {F::kCount, F::kMin, F::kMax}) add(function, Column(kColumns[c].name));
  }
  for (const char* const name : {"k", "v", "d", "f", "u", "w"}) {
    add(F::kSum, Column(name));
    add(F::kAverage, Column(name));
  }
  add(F::kSum, Column("v") * Column("d"));
  add(F::kAverage, Column("d") + Literal(1));
  return query;
}

class TwoPhaseGroupsTest : public testing::TestWithParam<uint32_t> {
 protected:
  void Expect(const Query& query, size_t rows) {
    StageLab lab(GetParam(), kSets, random_);
    for (RowSet set = 0; set < kSets; ++set) lab.all.columns[set] = ColumnsOf(kColumns);
    auto cells =
        storage::RandomRows(lab.all.columns[kRows], rows, storage::Values::kFew, 25, random_);
    for (storage::CellRow& row : cells) {
      row[4].real = static_cast<double>(random_() % 64) / 4;  // sums are exact in any order
      row[5].null = false;
    }
    lab.Put(kRows, cells);

    const TwoPhaseGroups phases = TwoPhases(query);
    const auto partial = *TablePlan::Create(kColumns, phases.partial);
    const auto merge =
        *TablePlan::Create(storage::NamedByField(partial->result().columns), phases.merge);
    lab.all.columns[kPartial] = lab.all.columns[kShared] = ColumnsOf(partial->result().columns);
    lab.all.columns[kMerged] = ColumnsOf(merge->result().columns);
    storage::Stage at_home{{ShareTask{kPartial, kShared}, MapTask{merge, kShared, kMerged}}};
    std::vector<ColumnSchema> answer = merge->result().columns;
    RowSet answer_set = kMerged;
    if (phases.finish) {
      const auto finish = *TablePlan::Create(storage::NamedByField(answer), *phases.finish);
      answer = finish->result().columns;
      lab.all.columns[kAnswer] = ColumnsOf(answer);
      answer_set = kAnswer;
      at_home.tasks.emplace_back(MapTask{finish, kMerged, kAnswer});
    }
    ASSERT_TRUE(lab.Run({{MapTask{partial, kRows, kPartial}}}).ok());
    ASSERT_TRUE(lab.Run(at_home, 0).ok());

    const auto one = *TablePlan::Create(kColumns, query);
    lab.all.columns[kOnePhase] = ColumnsOf(one->result().columns);
    ASSERT_TRUE(lab.Run({{ShareTask{kRows, kAll}, MapTask{one, kAll, kOnePhase}}}, 0).ok());
    ASSERT_EQ(ColumnsOf(answer), lab.all.columns[kOnePhase]);
    EXPECT_EQ(lab.TextsOf(answer_set), lab.TextsOf(kOnePhase)) << test::SeedText(Seed());
  }

  static std::vector<storage::EnvelopeColumn> ColumnsOf(const std::vector<ColumnSchema>& columns) {
    return storage::EnvelopeColumnsOf({.columns = columns});
  }

  Random random_{Seed()};
};
INSTANTIATE_TEST_SUITE_P(Aeus, TwoPhaseGroupsTest, testing::Values(1, 3, 8));

TEST_P(TwoPhaseGroupsTest, OneRowForAllRows) {
  for (const size_t rows : {0, 1, 4000}) Expect(AllAggregates(), rows);
}

TEST_P(TwoPhaseGroupsTest, ByKeys) {
  for (const std::vector<std::string>& keys :
       std::vector<std::vector<std::string>>{{"k"}, {"s"}, {"day", "s"}, {"k", "s", "d"}}) {
    Query query = AllAggregates();
    query.group_by = keys;
    for (const size_t rows : {0, 1, 4000}) Expect(query, rows);
  }
}

TEST_P(TwoPhaseGroupsTest, OfFilteredRows) {
  Query query = AllAggregates();
  query.filter = Column("v") > Literal(1);
  Expect(query, 3000);
  query.group_by = {"k"};
  Expect(query, 3000);
  query.filter = Column("v") > Literal(1000);  // no row
  Expect(query, 3000);
}

// Nothing but keys; sums alone need no third query.
TEST_P(TwoPhaseGroupsTest, ThirdQueryOnlyIfNeeded) {
  Query query;
  query.group_by = {"k", "s"};
  EXPECT_FALSE(TwoPhases(query).finish.has_value());
  Expect(query, 3000);
  query.aggregates.push_back(
      {.function = AggregateFunction::kSum, .argument = Column("d"), .name = {}});
  EXPECT_FALSE(TwoPhases(query).finish.has_value());
  EXPECT_EQ(TwoPhases(query).keys, 2u);
  Expect(query, 3000);
  query.aggregates.push_back(
      {.function = AggregateFunction::kAverage, .argument = Column("d"), .name = {}});
  EXPECT_TRUE(TwoPhases(query).finish.has_value());
  Expect(query, 3000);
}

// Groups are sent by the keys that tell them apart.
TEST(ComparedKeysTest, AreThoseThatAreNotCarried) {
  Query query;
  query.group_by = {"k", "s", "d"};
  EXPECT_EQ(ComparedKeys(3, 0), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(ComparedKeys(3, 0b101), (std::vector<uint32_t>{1}));
}

}  // namespace
}  // namespace eris::engine
