// What QueryFlow does next for given numbers of rows, and that it makes the right ones: stages run
// at AEUs without an engine.
#include "engine/query/query_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/unit/query/stage_lab.h"

namespace eris::engine {
namespace {

using namespace expressions;

using storage::Cell;
using storage::CellRow;
using storage::JoinStep;
using storage::MapStep;
using storage::QueryStep;
using storage::QuerySteps;
using storage::Random;
using storage::ScanStep;
using storage::SortStep;
using storage::StageLab;
using test::Seed;

using Done = std::vector<std::string>;

const char* NameOf(const storage::StageTask& task) {
  static constexpr const char* kNames[] = {"free", "filter",  "copy",   "share",  "spread",
                                           "send", "receive", "map",    "groups", "join",
                                           "sort", "union",   "values", "leave"};
  static_assert(std::size(kNames) == std::variant_size_v<storage::StageTask>);
  return kNames[task.index()];
}

// Two columns of i64.
Schema Pairs() {
  return {.columns = {{"k", ColumnType::kInt64, 0, true}, {"v", ColumnType::kInt64, 0, true}}};
}
QueryStep Scan(const std::string& object, uint32_t uses = 1) {
  return {.what = ScanStep{.object = object}, .schema = Pairs(), .uses = uses};
}
// Groups by the first column, with the largest of the second.
QueryStep Groups(uint32_t input, uint32_t uses = 0) {
  MapStep step{.input = input};
  step.query.group_by = {"f0"};
  step.query.aggregates = {{.function = AggregateFunction::kMax, .argument = Field(1), .name = {}}};
  return {.what = std::move(step), .schema = Pairs(), .uses = uses};
}
// The same with the median of the second.
QueryStep Medians(std::variant<ScanStep, MapStep> what, uint32_t uses = 0) {
  Schema schema = Pairs();
  schema.columns[1].type = ColumnType::kFloat64;
  return std::visit(
      [&](auto step) {
        step.query.group_by = {std::is_same_v<decltype(step), ScanStep> ? "k" : "f0"};
        step.query.aggregates = {
            {.function = AggregateFunction::kMedian, .argument = Field(1), .name = {}}};
        return QueryStep{.what = std::move(step), .schema = schema, .uses = uses};
      },
      std::move(what));
}
QueryStep Join(uint32_t left, uint32_t right, JoinType type = JoinType::kInner) {
  JoinStep step{.left = left, .right = right, .type = type, .keys = {{.left = 0, .right = 0}}};
  step.columns = {0, 1};
  return {.what = std::move(step), .schema = Pairs()};
}
QueryStep Sort(uint32_t input, uint64_t count = storage::kAllRows, uint64_t offset = 0) {
  SortStep step{.input = input, .keys = {{.column = 0}}, .offset = offset, .count = count};
  return {.what = std::move(step), .schema = Pairs()};
}

// (i, i) for i below `count`.
std::vector<CellRow> Numbers(int64_t count) {
  std::vector<CellRow> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back({Cell{.number = i}, Cell{.number = i}});
  return rows;
}

// Each AEU has numbers of its own: (1000 * aeu + i).
std::vector<CellRow> Thousands(uint32_t aeu, int64_t count) {
  std::vector<CellRow> rows = Numbers(count);
  for (CellRow& row : rows) {
    for (Cell& cell : row) cell.number += 1000 * int64_t{aeu};
  }
  return rows;
}

class FlowLab {
 public:
  FlowLab(uint32_t aeus, std::vector<QueryStep> steps, QueryFlowLimits limits = {})
      : lab(aeus, static_cast<uint32_t>(steps.size()) * QueryFlow::kSetsPerStep, random_),
        flow_({.steps = steps}, lab.all, limits) {
    EXPECT_EQ(QueryFlow::SetsOf({.steps = std::move(steps)}), lab.all.columns.size());
  }

  // Does all of it, and says what it was. Objects that begin with i are indexes.
  Done Run(std::map<std::string, int64_t> objects) {
    Done done;
    for (;;) {
      auto work = flow_.Next([&](const std::string& name) {
        return name[0] == 'i' ? ScannedTable() : ScannedTable{.columns = Pairs().columns};
      });
      if (!work.ok()) return {std::string(absl::StatusCodeToString(work.status().code()))};
      if (std::holds_alternative<NoWork>(*work)) return done;
      if (const auto* scan = std::get_if<ScanWork>(&*work)) {
        const size_t keys = scan->filters.size();
        done.push_back("scan " + scan->object +
                       (keys > 0 ? " by " + std::to_string(keys) + " key" : ""));
        Load(*scan, objects);
      } else if (const auto* read = std::get_if<ReadWork>(&*work)) {
        done.push_back("read " + read->object);
        storage::QueryPart& engine = lab.engine();
        storage::AddRows(engine.memory(), engine.Output(read->set),
                         Numbers(objects.at(read->object)), random_, 10);
      } else {
        const auto& stage = std::get<StageWork>(*work);
        std::string text = stage.everywhere ? "all:" : "home:";
        for (const auto& task : stage.stage.tasks) text += std::string(" ") + NameOf(task);
        done.push_back(text);
        for (const auto& task : stage.stage.tasks) {
          if (const auto* join = std::get_if<storage::JoinTask>(&task)) join_ = *join;
        }
        const absl::Status status = lab.Run(stage.stage, stage.everywhere ? -1 : 0);
        if (!status.ok()) return {std::string(absl::StatusCodeToString(status.code()))};
      }
    }
  }
  // With an object called cut all tables are cut alike; with one called halves by their first
  // column, while all AEUs have the same values in the second.
  void Load(const ScanWork& scan, const std::map<std::string, int64_t>& objects) {
    if (objects.count("cut") == 0) {
      return lab.Put(scan.set, Numbers(objects.at(scan.object)), 10, lab.aeus());
    }
    for (uint32_t aeu = 0; aeu < lab.aeus(); ++aeu) {
      std::vector<CellRow> rows = Thousands(aeu, objects.at(scan.object));
      for (CellRow& row : rows) row[1].number %= objects.count("halves") > 0 ? 1000 : INT64_MAX;
      storage::AddRows(lab.part(aeu).memory(), lab.part(aeu).Output(scan.set), rows, random_, 10);
    }
  }
  uint64_t answer_rows() { return lab.TextsOf(flow_.answer()).size(); }
  // How often each row of the answer is there.
  void ExpectAnswer(int64_t first, int64_t last) {
    std::vector<CellRow> rows = Numbers(last);
    rows.erase(rows.begin(), rows.begin() + first);
    EXPECT_EQ(lab.TextsOf(flow_.answer()), lab.TextsOf(flow_.answer(), rows));
  }
  bool builds_left() const { return join_.builds_left; }

 private:
  Random random_{Seed()};

 public:
  StageLab lab;

 private:
  QueryFlow flow_;
  storage::JoinTask join_;
};

TEST(QueryFlowTest, FewGroupsAreMergedAtHome) {
  FlowLab flow(3, {Scan("t"), Groups(0)});
  EXPECT_EQ(flow.Run({{"t", 100}}), (Done{"scan t", "all: map", "home: share map"}));
  flow.ExpectAnswer(0, 100);
}

TEST(QueryFlowTest, ManyGroupsAreMergedByAll) {
  for (const uint64_t limit : {99, 100}) {
    FlowLab flow(3, {Scan("t"), Groups(0)}, {.merged_at_home = limit});
    const Done done = flow.Run({{"t", 100}});
    if (limit == 100) {
      EXPECT_EQ(done, (Done{"scan t", "all: map", "home: share map"}));
    } else {
      EXPECT_EQ(done, (Done{"scan t", "all: map", "all: send", "all: receive map"}));
    }
    flow.ExpectAnswer(0, 100);
  }
}

TEST(QueryFlowTest, RowsOfMediansAreSentBeforeTheyAreGrouped) {
  for (const uint64_t limit : {99, 100}) {
    const Done rest =
        limit == 100 ? Done{"home: share map"} : Done{"all: send", "all: receive map"};
    FlowLab of_rows(3, {Scan("t"), Medians(MapStep{.input = 0})}, {.merged_at_home = limit});
    Done expected{"scan t", "all: map"};
    expected.insert(expected.end(), rest.begin(), rest.end());
    EXPECT_EQ(of_rows.Run({{"t", 100}}), expected);
    EXPECT_EQ(of_rows.answer_rows(), 100u);
    FlowLab of_table(3, {Medians(ScanStep{.object = "t"})}, {.merged_at_home = limit});
    expected.erase(expected.begin() + 1);
    EXPECT_EQ(of_table.Run({{"t", 100}}), expected);
    EXPECT_EQ(of_table.answer_rows(), 100u);
  }
}

TEST(QueryFlowTest, RowsOfMediansThatAreApartStay) {
  FlowLab flow(3, {Medians(ScanStep{.object = "t"})}, {.merged_at_home = 0});
  EXPECT_EQ(flow.Run({{"cut", 40}, {"t", 40}}), (Done{"scan t", "all: map"}));
  EXPECT_EQ(flow.answer_rows(), 120u);
  FlowLab alone(1, {Scan("t"), Medians(MapStep{.input = 0})}, {.merged_at_home = 0});
  EXPECT_EQ(alone.Run({{"t", 40}}), (Done{"scan t", "all: map"}));
  EXPECT_EQ(alone.answer_rows(), 40u);
}

TEST(QueryFlowTest, RowsOfOneMedianGoHome) {
  QueryStep step = Medians(ScanStep{.object = "t"});
  std::get<ScanStep>(step.what).query.group_by.clear();
  step.schema.columns.erase(step.schema.columns.begin());
  FlowLab flow(3, {std::move(step)}, {.merged_at_home = 0});
  EXPECT_EQ(flow.Run({{"t", 101}}), (Done{"scan t", "home: share map"}));
  const auto rows = flow.lab.RowsOf(0, QueryFlow::SetOf(0, 0));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0][0].real, 50);
}

TEST(QueryFlowTest, OneAeuDoesNothingTwice) {
  FlowLab flow(1, {Scan("t"), Groups(0, 1), Scan("u"), Join(1, 2)},
               {.merged_at_home = 0, .stay_at_home = 0, .built_per_row = 0});
  EXPECT_EQ(flow.Run({{"t", 100}, {"u", 30}}),
            (Done{"scan t", "all: map", "scan u", "all: free join"}));
  flow.ExpectAnswer(0, 30);
}

// What is made at home is grouped there at once.
TEST(QueryFlowTest, GroupsOfRowsAtHomeStayThere) {
  FlowLab flow(3, {Scan("t"), Groups(0, 1), Groups(1)});
  EXPECT_EQ(flow.Run({{"t", 50}}), (Done{"scan t", "all: map", "home: share map", "home: map"}));
  flow.ExpectAnswer(0, 50);
}

TEST(QueryFlowTest, ASmallSideIsShared) {
  for (const bool left_is_small : {false, true}) {
    FlowLab flow(8, {Scan("t"), Scan("u"), Join(0, 1)});
    EXPECT_EQ(flow.Run({{"t", left_is_small ? 20 : 1000}, {"u", left_is_small ? 1000 : 20}}),
              (Done{"scan t", "scan u", "all: share join"}));
    EXPECT_EQ(flow.builds_left(), left_is_small);
    flow.ExpectAnswer(0, 20);
  }
}

// Two of the three AEUs are on one NumaNode: they divide the work, and wait for each other.
TEST(QueryFlowTest, RowsOfOtherNumaNodesAreCopied) {
  for (const int64_t rows : {19, 20}) {
    FlowLab flow(3, {Scan("t"), Scan("u"), Join(0, 1, JoinType::kSemi)}, {.copied_rows = 20});
    const Done done = flow.Run({{"t", 1000}, {"u", rows}});
    if (rows < 20) {
      EXPECT_EQ(done, (Done{"scan t", "scan u", "all: share join"}));
    } else {
      EXPECT_EQ(done, (Done{"scan t", "scan u", "all: copy", "all: share join"}));
    }
    flow.ExpectAnswer(0, rows);
  }
  FlowLab alone(2, {Scan("t"), Scan("u"), Join(0, 1)}, {.copied_rows = 20});
  EXPECT_EQ(alone.Run({{"t", 1000}, {"u", 30}}),
            (Done{"scan t", "scan u", "all: copy share join"}));
  alone.ExpectAnswer(0, 30);
}

TEST(QueryFlowTest, HomeCopiesRowsOfOtherNumaNodes) {
  FlowLab merged(3, {Scan("t"), Groups(0)}, {.copied_rows = 0});
  EXPECT_EQ(merged.Run({{"t", 100}}), (Done{"scan t", "all: map", "home: copy share map"}));
  merged.ExpectAnswer(0, 100);
  FlowLab sorted(3, {Scan("t"), Sort(0)}, {.copied_rows = 0});
  EXPECT_EQ(sorted.Run({{"t", 100}}), (Done{"scan t", "home: copy share sort"}));
  sorted.ExpectAnswer(0, 100);
  // By how many rows AEUs have left of theirs.
  for (const uint64_t copied : {20, 100}) {
    FlowLab limited(3, {Scan("t"), Sort(0, 30)}, {.copied_rows = copied});
    EXPECT_EQ(limited.Run({{"t", 100}}).back(),
              copied == 20 ? "home: copy share sort" : "home: share sort");
    limited.ExpectAnswer(0, 30);
  }
}

// What AEUs have is grouped by a column with the same values at both: equal groups are merged, also
// if one AEU makes them all while the other one is busy.
TEST(QueryFlowTest, GroupsOfDividedStepsComeOnce) {
  MapStep by_second{.input = 0};
  by_second.query.group_by = {"f1"};
  by_second.query.aggregates = {
      {.function = AggregateFunction::kMax, .argument = Field(1), .name = {}}};
  for (const uint64_t quarters : {uint64_t{0}, uint64_t{6}}) {
    for (const uint32_t runs_tasks : {0u, 1u}) {
      FlowLab flow(2, {Scan("t"), {.what = by_second, .schema = Pairs()}},
                   {.merged_at_home = 0, .divided_rows = 0, .uneven_quarters = quarters});
      flow.lab.Divide(TaskScheduling::kLocalityAware);
      flow.lab.runs_tasks = runs_tasks;
      flow.Run({{"t", 50}, {"cut", 0}, {"halves", 0}});
      flow.ExpectAnswer(0, 50);
    }
  }
}

// Three AEUs make two tables more of 500 rows, eight seven more.
TEST(QueryFlowTest, TwoLargeSidesAreSent) {
  for (const uint32_t aeus : {3u, 8u}) {
    FlowLab flow(aeus, {Scan("t"), Scan("u"), Join(0, 1)});
    const Done done = flow.Run({{"t", 500}, {"u", 600}});
    if (aeus == 3) {
      EXPECT_EQ(done, (Done{"scan t", "scan u", "all: share join"}));
    } else {
      EXPECT_EQ(done, (Done{"scan t", "scan u", "all: send send", "all: receive receive join"}));
    }
    flow.ExpectAnswer(0, 500);
  }
}

TEST(QueryFlowTest, RowsWithoutPartnersAreNotTheTables) {
  for (const JoinType type : {JoinType::kLeft, JoinType::kAnti}) {
    FlowLab flow(8, {Scan("t"), Scan("u"), Join(0, 1, type)});
    EXPECT_EQ(flow.Run({{"t", 30}, {"u", 20}}),
              (Done{"scan t", "scan u", "all: send send", "all: receive receive join"}));
    EXPECT_FALSE(flow.builds_left());
    flow.ExpectAnswer(type == JoinType::kAnti ? 20 : 0, 30);
  }
}

TEST(QueryFlowTest, SmallSidesAtHomeAreJoinedThere) {
  const std::vector<QueryStep> steps{Scan("t"), Groups(0, 1), Scan("u"), Groups(2, 1), Join(1, 3)};
  FlowLab at_home(3, steps);
  EXPECT_EQ(at_home.Run({{"t", 60}, {"u", 40}}).back(), "home: join");
  at_home.ExpectAnswer(0, 40);
  // Too many rows for one AEU are joined by all, which share the work.
  FlowLab spread(3, steps, {.stay_at_home = 50});
  EXPECT_EQ(spread.Run({{"t", 60}, {"u", 20}}).back(), "all: free share spread join");
  spread.ExpectAnswer(0, 20);
}

TEST(QueryFlowTest, ALimitIsTakenByAllBeforeOne) {
  FlowLab limited(3, {Scan("t"), Sort(0, 10, 5)});
  EXPECT_EQ(limited.Run({{"t", 100}}), (Done{"scan t", "all: sort", "home: share sort"}));
  limited.ExpectAnswer(5, 15);
  FlowLab sorted(3, {Scan("t"), Sort(0)});
  EXPECT_EQ(sorted.Run({{"t", 100}}), (Done{"scan t", "home: share sort"}));
  sorted.ExpectAnswer(0, 100);
  // Their sum is outside 64 bits.
  FlowLab beyond(3, {Scan("t"), Sort(0, ~uint64_t{0} - 1, 7)});
  EXPECT_EQ(beyond.Run({{"t", 100}}), (Done{"scan t", "home: share sort"}));
  beyond.ExpectAnswer(7, 100);
}

TEST(QueryFlowTest, RowsOfAnIndexAreSpread) {
  FlowLab flow(3, {Scan("i"), Groups(0)});
  EXPECT_EQ(flow.Run({{"i", 100}}), (Done{"read i", "all: spread", "all: map", "home: share map"}));
  flow.ExpectAnswer(0, 100);
}

TEST(QueryFlowTest, GroupsThatAreApartAreNotMerged) {
  FlowLab flow(3, {Scan("t"), Groups(0)}, {.merged_at_home = 0});
  EXPECT_EQ(flow.Run({{"cut", 40}, {"t", 40}}), (Done{"scan t", "all: map"}));
  EXPECT_EQ(flow.answer_rows(), 120u);
}

TEST(QueryFlowTest, RowsThatAreApartAreJoinedWhereTheyAre) {
  FlowLab flow(8, {Scan("t"), Scan("u"), Join(0, 1)}, {.built_per_row = 0});
  EXPECT_EQ(flow.Run({{"cut", 40}, {"t", 40}, {"u", 30}}), (Done{"scan t", "scan u", "all: join"}));
  EXPECT_EQ(flow.answer_rows(), 240u);
}

// The keys of the side that is there filter the scan of the other one, and are freed after it.
TEST(QueryFlowTest, KeysFilterTheOtherSide) {
  const auto scan = [](const char* object, uint64_t rows) {
    QueryStep step = Scan(object);
    std::get<ScanStep>(step.what).query.columns = {{Field(0), ""}, {Field(1), ""}};
    step.rows_about = rows;
    return step;
  };
  const std::vector<QueryStep> steps{scan("t", 100), scan("u", 10), Join(0, 1)};
  FlowLab flow(3, steps);
  EXPECT_EQ(flow.Run({{"t", 100}, {"u", 10}}),
            (Done{"scan u", "all: filter", "scan t by 1 key", "all: free share join"}));
  flow.ExpectAnswer(0, 10);
  for (uint32_t aeu = 0; aeu < 3; ++aeu) EXPECT_EQ(flow.lab.part(aeu).filter(0), nullptr);
  // More keys than a filter may have.
  FlowLab large(3, steps, {.filter_keys = 9});
  EXPECT_EQ(large.Run({{"t", 100}, {"u", 10}}), (Done{"scan u", "scan t", "all: share join"}));
}

// A set that was read is freed in the next stage of all; what is never read again is gone then.
TEST(QueryFlowTest, InputsAreFreed) {
  FlowLab flow(3, {Scan("t"), Scan("u"), Join(0, 1), Sort(2, 5)}, {.built_per_row = 0});
  const Done done = flow.Run({{"t", 100}, {"u", 100}});
  EXPECT_EQ(done, (Done{"scan t", "scan u", "all: send send", "all: receive receive join",
                        "all: free sort", "home: share sort"}));
  for (uint32_t set = 0; set < QueryFlow::SetOf(3, 0); ++set) {
    for (uint32_t aeu = 0; aeu < 3 && set != QueryFlow::SetOf(2, 0); ++aeu) {
      EXPECT_EQ(flow.lab.part(aeu).list(set), nullptr) << set;
      EXPECT_EQ(flow.lab.part(aeu).outgoing(set), nullptr) << set;
    }
  }
  flow.ExpectAnswer(0, 5);
}

TEST(QueryFlowTest, ASubqueryHasOneRow) {
  MapStep filter{.input = 0};
  filter.query.filter = Equal(Field(0), Subquery(1));
  const QueryStep map{.what = filter, .schema = Pairs()};
  for (const int64_t rows : {0, 1, 2}) {
    FlowLab flow(3, {Scan("t"), Scan("u"), map});
    const Done done = flow.Run({{"t", 9}, {"u", rows}});
    EXPECT_EQ(done,
              rows == 2 ? Done{"INVALID_ARGUMENT"} : Done({"scan u", "scan t", "all: free map"}));
    if (rows < 2) flow.ExpectAnswer(0, rows);  // null is no value
  }
}

}  // namespace
}  // namespace eris::engine
