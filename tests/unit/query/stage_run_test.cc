// Stages at 1, 3 and 8 AEUs without an engine: no row is lost or doubled on its way, rows with
// equal keys meet, others' envelopes stay whole, and nothing is left, also when memory is refused
// at any place.
#include "storage/query/stage_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/query/plans/expression_tools.h"
#include "tests/unit/query/stage_lab.h"
#include "tests/unit/query/whole_query.h"

namespace eris::storage {
namespace {

constexpr int kNulls = 20;  // percent

class StageRunTest : public testing::TestWithParam<uint32_t> {
 protected:
  Random random_{Seed()};
};
INSTANTIATE_TEST_SUITE_P(Aeus, StageRunTest, testing::Values(1, 3, 8));

const std::vector<ColumnType> kStageTypes{ColumnType::kInt32, ColumnType::kString,
                                          ColumnType::kFloat64, ColumnType::kInt128};

std::vector<CellRow> SomeRows(StageLab& lab, RowSet set, size_t count, Random& random,
                              Values values = Values::kFew) {
  return RandomRows(lab.all.columns[set], count, values, kNulls, random);
}

// From one AEU, by the columns 0 and 1.
std::set<std::string> KeysOf(StageLab& lab, uint32_t aeu, RowSet set) {
  const std::vector<EnvelopeColumn>& columns = lab.all.columns[set];
  std::set<std::string> keys;
  for (const CellRow& row : lab.RowsOf(aeu, set)) {
    keys.insert(RowText({columns.data(), 2}, {row[0], row[1]}));
  }
  return keys;
}

TEST_P(StageRunTest, SentRowsAreReceivedOnce) {
  for (const Values values : {Values::kFew, Values::kAny}) {
    StageLab lab(GetParam(), 2, random_);
    for (const RowSet set : {0u, 1u}) lab.SetColumns(set, kStageTypes);
    const auto rows = SomeRows(lab, 0, 20'000, random_, values);
    lab.Put(0, rows);
    ASSERT_TRUE(lab.Run({{SendTask{.from = 0, .to = 1, .keys = {0, 1}}}}).ok());
    ASSERT_TRUE(lab.Run({{FreeTask{{0}}, ReceiveTask{.set = 1}}}).ok());
    EXPECT_EQ(lab.TextsOf(1), lab.TextsOf(1, rows)) << SeedText();
    EXPECT_TRUE(lab.TextsOf(0).empty());
    // Equal keys are at one AEU, nulls among them.
    std::set<std::string> all;
    size_t keys = 0;
    for (uint32_t aeu = 0; aeu < lab.aeus(); ++aeu) {
      const std::set<std::string> own = KeysOf(lab, aeu, 1);
      keys += own.size();
      all.insert(own.begin(), own.end());
    }
    EXPECT_EQ(all.size(), keys) << SeedText();
  }
}

TEST_P(StageRunTest, RowsWithANullKeyStay) {
  StageLab lab(GetParam(), 2, random_);
  for (const RowSet set : {0u, 1u}) lab.SetColumns(set, kStageTypes);
  const auto rows = SomeRows(lab, 0, 9000, random_);
  lab.Put(0, rows);
  const auto stay = [&](RowSet set) {
    std::vector<std::multiset<std::string>> by_aeu(lab.aeus());
    for (uint32_t aeu = 0; aeu < lab.aeus(); ++aeu) {
      for (const CellRow& row : lab.RowsOf(aeu, set)) {
        if (row[0].null || row[2].null) by_aeu[aeu].insert(RowText(lab.all.columns[set], row));
      }
    }
    return by_aeu;
  };
  const auto before = stay(0);
  const SendTask send{.from = 0, .to = 1, .keys = {0, 2}, .nulls_stay = true};
  ASSERT_TRUE(lab.Run({{{send}}, {{ReceiveTask{.set = 1}}}}).ok());
  EXPECT_EQ(stay(1), before) << SeedText();
  EXPECT_EQ(lab.TextsOf(1), lab.TextsOf(1, rows)) << SeedText();
}

// Strings that no envelope has room for at first.
TEST_P(StageRunTest, LongStringsAreSent) {
  StageLab lab(GetParam(), 2, random_);
  for (const RowSet set : {0u, 1u}) lab.SetColumns(set, {ColumnType::kInt64, ColumnType::kString});
  std::vector<CellRow> rows;
  for (int64_t i = 0; i < 40; ++i) {
    rows.push_back({Cell{.number = i}, Cell{.text = std::string(i % 3 == 0 ? 60'000 : 10, 'x')}});
  }
  lab.Put(0, rows, 5);
  ASSERT_TRUE(lab.Run({{{SendTask{.from = 0, .to = 1, .keys = {0}}}}, {{ReceiveTask{1}}}}).ok());
  EXPECT_EQ(lab.TextsOf(1), lab.TextsOf(1, rows));
}

TEST_P(StageRunTest, AllShareAndEachSpreadEnvelopeIsOnes) {
  StageLab lab(GetParam(), 3, random_);
  for (const RowSet set : {0u, 1u, 2u}) lab.SetColumns(set, kStageTypes);
  const auto rows = SomeRows(lab, 0, 9000, random_);
  lab.Put(0, rows, 30);  // more envelopes than a piece looks at
  // What the engine has read counts, too.
  const auto more = SomeRows(lab, 0, 500, random_);
  AddRows(lab.engine().memory(), lab.engine().Output(0), more, random_, 30);
  auto all = rows;
  all.insert(all.end(), more.begin(), more.end());
  ASSERT_TRUE(lab.Run({{ShareTask{.from = 0, .to = 1}, SpreadTask{.from = 0, .to = 2}}}).ok());
  uint32_t most = 0, least = UINT32_MAX;
  for (uint32_t aeu = 0; aeu < lab.aeus(); ++aeu) {
    EXPECT_EQ(lab.TextsOf(1, lab.RowsOf(aeu, 1)), lab.TextsOf(1, all)) << SeedText();
    most = std::max(most, lab.part(aeu).list(2)->size());
    least = std::min(least, lab.part(aeu).list(2)->size());
  }
  EXPECT_EQ(lab.TextsOf(2), lab.TextsOf(2, all)) << SeedText();
  EXPECT_LE(most - least, 1u);
  // Those that refer go without the others' envelopes, in any order.
  ASSERT_TRUE(lab.Run({{FreeTask{{1, 2}}}}).ok());
  EXPECT_EQ(lab.TextsOf(0), lab.TextsOf(0, rows));
  ASSERT_TRUE(lab.Run({{FreeTask{{0}}}}).ok());
}

// What an AEU refers to then is on its own NumaNode; the rest it has, or a neighbour, has copied.
TEST_P(StageRunTest, RowsOfOtherNumaNodesAreCopiedOnce) {
  for (const bool at_home : {false, true}) {
    StageLab lab(GetParam(), 3, random_);
    for (const RowSet set : {0u, 1u, 2u}) lab.SetColumns(set, kStageTypes);
    const auto rows = SomeRows(lab, 0, 9000, random_);
    lab.Put(0, rows, 30);
    const auto more = SomeRows(lab, 0, 500, random_);
    AddRows(lab.engine().memory(), lab.engine().Output(0), more, random_, 30);
    auto all = rows;
    all.insert(all.end(), more.begin(), more.end());
    const int one = at_home ? 0 : -1;
    ASSERT_TRUE(lab.Run({{CopyTask{.from = 0, .to = 1, .divided = !at_home}}}, one).ok());
    ASSERT_TRUE(lab.Run({{ShareTask{.from = 0, .to = 2, .copies = 1}}}, one).ok());
    for (uint32_t aeu = 0; aeu < (at_home ? 1 : lab.aeus()); ++aeu) {
      EXPECT_EQ(lab.TextsOf(2, lab.RowsOf(aeu, 2)), lab.TextsOf(2, all)) << SeedText();
      std::set<const Envelope*> near;
      for (uint32_t other = 0; other < lab.all.parts.size(); ++other) {
        if (lab.all.AreFar(aeu, other)) continue;
        for (const RowSet set : {0u, 1u}) {
          const EnvelopeList* const list = lab.part(other).list(set);
          for (uint32_t e = 0; list != nullptr && e < list->size(); ++e) near.insert(list->at(e));
        }
      }
      const EnvelopeList& shared = *lab.part(aeu).list(2);
      for (uint32_t e = 0; e < shared.size(); ++e) EXPECT_TRUE(near.contains(shared.at(e)));
      EXPECT_EQ(lab.part(aeu).TakeFigures().rows_crossed,
                all.size() - lab.part(aeu).list(0)->rows());
    }
    ASSERT_TRUE(lab.Run({{FreeTask{{1, 2}}}}).ok());
    EXPECT_EQ(lab.TextsOf(0), lab.TextsOf(0, rows));
  }
}

TEST_P(StageRunTest, FreedSetsLeaveNothing) {
  StageLab lab(GetParam(), 3, random_);
  for (const RowSet set : {0u, 1u, 2u}) lab.SetColumns(set, kStageTypes);
  lab.Put(0, SomeRows(lab, 0, 9000, random_), 20);
  lab.Put(1, SomeRows(lab, 1, 9000, random_), 20);
  // Sent, and never received.
  ASSERT_TRUE(lab.Run({{SendTask{.from = 0, .to = 2, .keys = {1}}}}).ok());
  const uint64_t before = lab.pieces;
  ASSERT_TRUE(lab.Run({{FreeTask{{0, 1, 2}}}}).ok());
  EXPECT_EQ(lab.used_bytes(), 0);
  EXPECT_EQ(lab.budget.used(), 0u);
  EXPECT_GT(lab.pieces - before, 9000 / 20 / 64);      // piece by piece
  ASSERT_TRUE(lab.Run({{FreeTask{{0, 1, 2}}}}).ok());  // there is nothing left
}

// A set that an AEU has nothing of is one without rows.
TEST_P(StageRunTest, SetsMayBeMissing) {
  StageLab lab(GetParam(), 5, random_);
  for (RowSet set = 0; set < 5; ++set) lab.SetColumns(set, kStageTypes);
  const std::vector<Stage> stages{{{ShareTask{0, 1}, SpreadTask{0, 2}, GroupsTask{3}}},
                                  {{SendTask{.from = 1, .to = 4, .keys = {0}}}},
                                  {{ReceiveTask{4}, FreeTask{{0, 1, 2, 3, 4}}}}};
  EXPECT_TRUE(lab.Run(stages).ok());
}

TEST_P(StageRunTest, ExchangedRowsJoinAsAllTogether) {
  for (const JoinType type :
       {JoinType::kInner, JoinType::kLeft, JoinType::kSemi, JoinType::kAnti}) {
    StageLab lab(GetParam(), WholeQuery::kSets, random_);
    const WholeQuery query(type);
    query.Fill(lab, 600, random_);
    const auto expected = JoinedRows(lab, type);
    ASSERT_FALSE(expected.empty());
    ASSERT_TRUE(query.Run(lab).ok());
    EXPECT_EQ(lab.TextsOf(WholeQuery::kMapped), expected) << SeedText();
    EXPECT_EQ(lab.TextsOf(WholeQuery::kSorted), expected) << SeedText();
    // Sorted, nulls first or last, at the one that has sorted.
    const auto sorted = lab.RowsOf(lab.aeus() - 1, WholeQuery::kSorted);
    EXPECT_EQ(sorted.size(), expected.size());
    EXPECT_TRUE(
        std::is_sorted(sorted.begin(), sorted.end(), [](const CellRow& a, const CellRow& b) {
          return !a[0].null && !b[0].null && a[0].number < b[0].number;
        }));
  }
}

// Each row has 10,000 partners, and its first one is a match: a pair of each row says so. A piece
// of work makes 2048 pairs at most, so all of them would take 5 pieces a row.
TEST(StageRunJoinTest, RowsOfSemiAndAntiJoinsStopAtTheirFirstMatch) {
  constexpr RowSet kLeft = 0, kRight = 1, kJoined = 2;
  constexpr int64_t kRows = 1500;
  Random random(Seed());
  for (const JoinType type : {JoinType::kSemi, JoinType::kAnti}) {
    for (const bool matches : {true, false}) {
      StageLab lab(1, 3, random);
      for (RowSet set = 0; set < 3; ++set) {
        lab.SetColumns(set, {ColumnType::kInt64, ColumnType::kInt64});
      }
      std::vector<CellRow> left, right;
      // Without a match only few rows, since all of their pairs are made.
      for (int64_t i = 0; i < (matches ? kRows : 3); ++i) {
        left.push_back({Cell{.number = 7}, Cell{.number = i}});
      }
      for (int64_t i = 0; i < 10'000; ++i) {
        right.push_back({Cell{.number = 7}, Cell{.number = i}});
      }
      lab.Put(kLeft, left, kSegmentRows);
      lab.Put(kRight, right, kSegmentRows);
      Schema schema;
      for (const char* const name : {"a", "b"}) {
        schema.columns.push_back({name, ColumnType::kInt64, 0, true});
      }
      JoinTask join{.left_schema = schema,
                    .right_schema = schema,
                    .left = kLeft,
                    .right = kRight,
                    .to = kJoined};
      join.step.type = type;
      join.step.keys = {{.left = 0, .right = 0}};
      using namespace expressions;
      join.step.condition = Field(3) >= Literal(matches ? 0 : 10'000);
      join.step.columns = {0, 1};
      ASSERT_TRUE(lab.Run(Stage{{join}}).ok());
      const bool all = matches == (type == JoinType::kSemi);
      EXPECT_EQ(lab.TextsOf(kJoined), lab.TextsOf(kJoined, all ? left : std::vector<CellRow>()));
      EXPECT_LT(lab.pieces, 200u);
    }
  }
}

// The first allocation of one AEU is refused, then the second, and so on: the error is told, and
// what there is can be freed (StageLab).
TEST_P(StageRunTest, NothingIsLeftWhereverMemoryIsRefused) {
  const WholeQuery query;
  const uint32_t aeu = GetParam() - 1;
  uint64_t refused = 0;
  for (uint64_t nth = 1;; ++nth) {
    Random random(Seed());
    StageLab lab(GetParam(), WholeQuery::kSets, random);
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

// The same for the budget of all queries.
TEST_P(StageRunTest, NothingIsLeftWhateverTheBudgetIs) {
  const WholeQuery query;
  bool any_refused = false;
  for (uint64_t bytes = 1 << 20;; bytes += bytes / 8) {
    Random random(Seed());
    StageLab lab(GetParam(), WholeQuery::kSets, random);
    query.Fill(lab, 300, random);
    const uint64_t used = lab.budget.used();
    ASSERT_LT(bytes, uint64_t{1} << 40);
    ASSERT_TRUE(lab.budget.Take((uint64_t{1} << 40) - used - bytes));
    const absl::Status status = query.Run(lab);
    lab.budget.Give((uint64_t{1} << 40) - used - bytes);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    any_refused = true;
  }
  EXPECT_TRUE(any_refused);
}

// At any piece.
TEST_P(StageRunTest, AStageCanBeLeftAtAnyPiece) {
  const WholeQuery query;
  for (uint64_t pieces = 0; pieces < 60; ++pieces) {
    StageLab lab(GetParam(), WholeQuery::kSets, random_);
    query.Fill(lab, 300, random_);
    ASSERT_TRUE(lab.Run(query.everywhere[0]).ok());
    StageRun run(lab.part(0), query.everywhere[1]);
    for (uint64_t piece = 0; piece < pieces; ++piece) ASSERT_TRUE(run.Advance().ok());
  }
}

// One AEU of each NumaNode makes a filter of all parts' keys, and all of the node see it.
TEST_P(StageRunTest, AFilterOfAllKeysIsOnEachNumaNode) {
  StageLab lab(GetParam(), 1, random_);
  lab.SetColumns(0, {ColumnType::kString, ColumnType::kInt64});
  lab.Put(0, SomeRows(lab, 0, 5000, random_, Values::kDense));
  ASSERT_TRUE(lab.Run({{FilterTask{.from = 0, .column = 1, .filter = 3}}}).ok());
  for (uint32_t aeu = 0; aeu < lab.aeus(); ++aeu) {
    EXPECT_EQ(lab.part(aeu).filter(3) != nullptr, aeu < 2);
    const std::vector<ColumnFilter> filters =
        lab.part(aeu).FiltersOf(std::vector<ScanFilter>{{.column = 7, .filter = 3}});
    ASSERT_EQ(filters.size(), 1u);
    EXPECT_EQ(filters[0].column, 7u);
    EXPECT_EQ(filters[0].filter, lab.part(aeu % 2).filter(3));
    for (uint32_t other = 0; other < lab.aeus(); ++other) {
      const EnvelopeList& rows = *lab.part(other).list(0);
      for (uint32_t e = 0; e < rows.size(); ++e) {
        std::vector<uint64_t> mask((rows[e].rows() + 63) / 64, ~uint64_t{0});
        filters[0].filter->Keep(rows[e].column(1), 0, rows[e].rows(), mask.data());
        for (uint32_t r = 0; r < rows[e].rows(); ++r) {
          EXPECT_EQ(BitAt(mask.data(), r), !CellAt(rows[e].column(1), r).null);
        }
      }
    }
  }
  ASSERT_TRUE(lab.Run({{FreeTask{.sets = {}, .filters = {3}}}}).ok());
  EXPECT_EQ(lab.part(0).filter(3), nullptr);
}

// A scan goes without a filter for which there was no memory.
TEST_P(StageRunTest, AFilterWithoutMemoryIsNone) {
  StageLab lab(GetParam(), 1, random_);
  lab.SetColumns(0, {ColumnType::kInt64});
  lab.Put(0, SomeRows(lab, 0, 500, random_, Values::kDense));
  lab.caches[0]->ArmFailures(1, StageLab::kOnce);
  ASSERT_TRUE(lab.Run({{FilterTask{.from = 0, .column = 0, .filter = 0}}}).ok());
  EXPECT_EQ(lab.part(0).filter(0), nullptr);
  EXPECT_TRUE(lab.part(0).FiltersOf(std::vector<ScanFilter>{{0, 0}}).empty());
  // If it must be there, the query ends.
  lab.caches[0]->ArmFailures(1, StageLab::kOnce);
  const absl::Status status = lab.Run({{FilterTask{.filter = 0, .required = true}}});
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_NE(status.message().find("key filter: "), std::string::npos) << status;
}

}  // namespace
}  // namespace eris::storage
