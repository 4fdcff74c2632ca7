// Steps that are divided into free tasks, at AEUs that are stepped by hand in a seeded order: the
// rows are those of undivided steps, no task is left behind, and whatever fails, all ends and
// nothing is left.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "storage/query/plans/expression_tools.h"
#include "storage/query/plans/plan_schemas.h"
#include "tests/unit/query/stage_lab.h"
#include "tests/unit/query/whole_query.h"

namespace eris::storage {
namespace {

struct How {
  uint32_t aeus = 1;
  TaskScheduling scheduling = TaskScheduling::kLocalityAware;
};

class StageTasksTest : public testing::TestWithParam<How> {
 protected:
  uint64_t TakenBy(StageLab& lab, TaskRule rule) const {
    uint64_t taken = 0;
    for (uint32_t aeu = 0; aeu < lab.aeus(); ++aeu) {
      taken += lab.scheduler->Stats(aeu).taken[static_cast<size_t>(rule)];
    }
    return taken;
  }

  Random random_{Seed()};
};
INSTANTIATE_TEST_SUITE_P(Aeus, StageTasksTest,
                         testing::Values(How{1}, How{2}, How{5}, How{2, TaskScheduling::kBlind},
                                         How{7, TaskScheduling::kBlind}),
                         [](const auto& tested) {
                           return std::to_string(tested.param.aeus) +
                                  std::string(NameOf(tested.param.scheduling));
                         });

TEST_P(StageTasksTest, RowsAreThoseOfUndividedSteps) {
  uint64_t immediate = 0, deferred = 0, others = 0;
  for (const JoinType type :
       {JoinType::kInner, JoinType::kLeft, JoinType::kSemi, JoinType::kAnti}) {
    for (int round = 0; round < 3; ++round) {
      StageLab lab(GetParam().aeus, WholeQuery::kSets, random_);
      lab.Divide(GetParam().scheduling);
      const WholeQuery query(type, /*divided=*/true);
      query.Fill(lab, 600, random_);
      const auto expected = JoinedRows(lab, type);
      ASSERT_TRUE(query.Run(lab).ok());
      EXPECT_EQ(lab.TextsOf(WholeQuery::kMapped), expected) << SeedText();
      EXPECT_EQ(lab.TextsOf(WholeQuery::kSorted), expected) << SeedText();
      immediate += TakenBy(lab, TaskRule::kOwnImmediate) + TakenBy(lab, TaskRule::kGroupImmediate) +
                   TakenBy(lab, TaskRule::kBlindImmediate) +
                   TakenBy(lab, TaskRule::kBlindOtherImmediate);
      deferred += TakenBy(lab, TaskRule::kGroupDeferred) + TakenBy(lab, TaskRule::kBlindDeferred);
      others += TakenBy(lab, TaskRule::kOtherDeferred);
    }
  }
  EXPECT_GT(immediate, 0u);
  EXPECT_GT(deferred, 0u);
  if (GetParam().scheduling == TaskScheduling::kLocalityAware && GetParam().aeus > 1) {
    EXPECT_GT(others, 0u);
  }
}

// What one AEU has is one task: groups with equal keys stay together, at any AEU.
TEST_P(StageTasksTest, PartsStayTogether) {
  StageLab lab(GetParam().aeus, 2, random_);
  lab.Divide(GetParam().scheduling);
  for (const RowSet set : {0u, 1u}) {
    lab.SetColumns(set, {ColumnType::kInt64, ColumnType::kInt64});
  }
  // Each AEU has keys of its own.
  for (uint32_t aeu = 0; aeu < lab.aeus(); ++aeu) {
    std::vector<CellRow> rows;
    for (int64_t i = 0; i < 500; ++i) {
      rows.push_back({Cell{.number = i % 50 * 100 + aeu}, Cell{.number = 1}});
    }
    AddRows(lab.part(aeu).memory(), lab.part(aeu).Output(0), rows, random_, 40);
  }
  Query count;
  count.group_by = {FieldName(0)};
  count.aggregates = {{.function = AggregateFunction::kCount, .argument = {}, .name = "n"}};
  const auto plan = TablePlan::Create(
      NamedByField({{"k", ColumnType::kInt64, 0, true}, {"v", ColumnType::kInt64, 0, true}}),
      count);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const MapTask groups{.plan = *plan, .from = 0, .to = 1, .division = Division::kParts};
  ASSERT_TRUE(lab.Run(Stage{{groups}}).ok());
  std::vector<std::string> expected;
  for (uint32_t aeu = 0; aeu < lab.aeus(); ++aeu) {
    for (int64_t k = 0; k < 50; ++k) {
      expected.push_back(
          RowText(lab.all.columns[1], {Cell{.number = k * 100 + aeu}, Cell{.number = 10}}));
    }
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(lab.TextsOf(1), expected) << SeedText();
}

// The first allocation of one AEU is refused, then the second, and so on. All AEUs end, and what
// there is can be freed (StageLab).
TEST_P(StageTasksTest, NothingIsLeftWhereverMemoryIsRefused) {
  const WholeQuery query(JoinType::kInner, /*divided=*/true);
  const uint32_t aeu = GetParam().aeus - 1;
  uint64_t refused = 0;
  for (uint64_t nth = 1;; ++nth) {
    Random random(Seed() + nth);
    StageLab lab(GetParam().aeus, WholeQuery::kSets, random);
    lab.Divide(GetParam().scheduling);
    query.Fill(lab, 300, random);
    lab.caches[aeu]->ArmFailures(nth, StageLab::kOnce);
    const absl::Status status = query.Run(lab);
    lab.caches[aeu]->ArmFailures(0, StageLab::kOnce);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    ++refused;
  }
  EXPECT_GT(refused, 8u);
}

// Many AEUs, most of which sleep until the last task has ended; one of them fails, or never begins.
TEST(ManyAeusTest, AllAreWokenAtTheEndOfAStep) {
  constexpr uint32_t kAeus = 150;
  const WholeQuery query(JoinType::kInner, /*divided=*/true);
  Random random(Seed());
  for (const uint32_t fails : {0u, 1u, 70u}) {
    for (const bool begins : {true, false}) {
      StageLab lab(kAeus, WholeQuery::kSets, random);
      lab.Divide(TaskScheduling::kLocalityAware);
      query.Fill(lab, 600, random);
      if (begins) {
        lab.caches[fails]->ArmFailures(1, StageLab::kOnce);
      } else {
        lab.absent = fails;
      }
      const absl::Status status = query.Run(lab);
      lab.caches[fails]->ArmFailures(0, StageLab::kOnce);
      EXPECT_FALSE(status.ok()) << SeedText();
    }
  }
}

// An AEU without memory to begin: the others do not wait for its tasks.
TEST_P(StageTasksTest, AnAeuMayBeAbsent) {
  StageLab lab(GetParam().aeus, WholeQuery::kSets, random_);
  lab.Divide(GetParam().scheduling);
  const WholeQuery query(JoinType::kInner, /*divided=*/true);
  query.Fill(lab, 300, random_);
  lab.absent = GetParam().aeus - 1;
  EXPECT_EQ(query.Run(lab).code(),
            GetParam().aeus == 1 ? absl::StatusCode::kOk : absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace eris::storage
