// Analysed queries on three AEUs: what each step says that it has done is what it has done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "aeu/state/reserve_more.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kAnalysisAeus = 3;
constexpr uint64_t kLargeRows = 9000;  // of "large", spread over all AEUs
constexpr uint64_t kFew = 30;     // of "small"
constexpr auto kOnce = memory::FailurePoint::Mode::kOnce;

QueryPlan Joined() {
  QueryPlan plan;
  plan.nodes = {ReadNode{.object = "large"}, ReadNode{.object = "small"},
                JoinNode{.left = 0, .right = 1, .keys = {{.left = 0, .right = 1}}}};
  return plan;
}

class QueryAnalysisTest : public testing::Test {
 protected:
  explicit QueryAnalysisTest(const char* topology = "numa:1 core:3 pu:1")
      : engine_(kAnalysisAeus, [topology](Options& options) { options.topology = topology; }) {
    Load("large", kLargeRows);
    Load("small", kFew);
  }

  // Key and value i; reversed: the value rows - 1 - i.
  void Load(const char* name, uint64_t rows, bool reversed = false) {
    const Object object =
        engine_.Create(name, {.kind = ObjectKind::kTable, .expected = {0, rows - 1}});
    std::vector<uint64_t> keys(rows);
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<uint64_t> values = keys;
    if (reversed) std::reverse(values.begin(), values.end());
    const ColumnView columns[] = {test::ColumnOf(keys), test::ColumnOf(values)};
    EXPECT_TRUE(
        engine_.While([&] {
                 return session_->Write(object, {.rows = {rows, columns}}).status;
               })
            .ok());
  }

  absl::StatusOr<std::string> Analyze(const QueryPlan& plan) {
    return engine_.While([&] { return session_->AnalyzeQuery(plan); });
  }
  // The line of the figures of the first step whose own line has `what`.
  std::string Figures(const QueryPlan& plan, const std::string& what) {
    const absl::StatusOr<std::string> text = Analyze(plan);
    if (!text.ok()) return text.status().ToString();
    const std::vector<std::string> lines = absl::StrSplit(*text, '\n');
    for (size_t i = 0; i + 1 < lines.size(); ++i) {
      if (lines[i].find(what) != std::string::npos) return lines[i + 1];
    }
    return "no step: " + *text;
  }
  void ExpectNothingLeft() {
    engine_.StepUntil([&] {
      return engine_->core().in_flight.count() == 0 && engine_->core().queries.size() == 0 &&
             engine_->core().query_memory->used() == 0;
    });
  }

  test::HandEngine engine_;
  std::unique_ptr<Session> session_ = engine_->NewSession();
};

// Each AEU on a NumaNode of its own.
class NumaQueryAnalysisTest : public QueryAnalysisTest {
 protected:
  NumaQueryAnalysisTest() : QueryAnalysisTest("numa:3 core:1 pu:1") {}
};

TEST_F(QueryAnalysisTest, LinesOfExplainAreAmongItsLines) {
  const absl::StatusOr<std::string> text = Analyze(Joined());
  ASSERT_TRUE(text.ok()) << text.status();
  const auto explained = session_->ExplainQuery(Joined());
  ASSERT_TRUE(explained.ok());
  for (const absl::string_view line : absl::StrSplit(*explained, '\n', absl::SkipEmpty())) {
    EXPECT_THAT(*text, HasSubstr(absl::StrCat(line, "\n        ")));
  }
  EXPECT_THAT(*text, HasSubstr("answer: 30 rows in "));
  ExpectNothingLeft();
}

TEST_F(QueryAnalysisTest, RowsOfAScanStayWhereTheyAre) {
  engine_->core().query_limits = {.filter_keys = 0};
  const std::string scan = Figures(Joined(), "scan large");
  EXPECT_THAT(scan, HasSubstr("9000 rows; at all 3 AEUs; "));
  EXPECT_THAT(scan, HasSubstr("AEUs worked "));
  EXPECT_THAT(scan, Not(HasSubstr("crossed")));
}

// The small side is there before the large one is read.
TEST_F(QueryAnalysisTest, KeysOfOneSideFilterTheScanOfTheOther) {
  const std::string scan = Figures(Joined(), "scan large");
  EXPECT_THAT(scan, HasSubstr("30 rows; at all 3 AEUs; "));
  EXPECT_THAT(scan, HasSubstr("filtered by keys of 30 rows of step 1; "));
  EXPECT_THAT(scan, HasSubstr("crossed 21 rows, 168 bytes"));
}

// All keys of the small side are in the first AEU's part of the large one: only there are they
// read.
TEST_F(NumaQueryAnalysisTest, ANumaNodeReadsTheKeysThatItMayMeet) {
  const std::string scan = Figures(Joined(), "scan large");
  EXPECT_THAT(scan, HasSubstr("30 rows; at all 3 AEUs; "));
  EXPECT_THAT(scan, HasSubstr("crossed 21 rows, 168 bytes"));
}

TEST_F(NumaQueryAnalysisTest, RowsThatAreCopiedCrossOnce) {
  engine_->core().query_limits.copied_rows = 0;
  EXPECT_THAT(Figures(Joined(), "inner join"), HasSubstr("crossed 60 rows, 960 bytes"));
}

// Both tables are cut alike.
TEST_F(QueryAnalysisTest, RowsThatAreApartDoNotCross) {
  engine_->core().query_limits = {.merged_at_home = 0, .stay_at_home = 0, .built_per_row = 0};
  QueryPlan plan = Joined();
  plan.nodes[1] = ReadNode{.object = "large"};
  const std::string join = Figures(plan, "inner join");
  EXPECT_THAT(join, HasSubstr("9000 rows; at all 3 AEUs; "));
  EXPECT_THAT(join, Not(HasSubstr("crossed")));
}

// All AEUs refer to the small side, each to what the two others have: 30 rows of two u64 and bits,
// for three AEUs, without their own.
TEST_F(QueryAnalysisTest, RowsReferredToCrossOncePerOtherAeu) {
  const std::string join = Figures(Joined(), "inner join");
  EXPECT_THAT(join, HasSubstr("30 rows; at all 3 AEUs; "));
  EXPECT_THAT(join, HasSubstr("30 rows of step 1 referred to by all AEUs; "));
  EXPECT_THAT(join, HasSubstr("crossed 60 rows, 960 bytes"));
}

// Rows of both sides with equal keys go to the same AEU; two of three are not there before.
TEST_F(QueryAnalysisTest, RowsSentByHashCrossUnlessTheyAreThere) {
  engine_->core().query_limits = {.merged_at_home = 0, .stay_at_home = 0, .built_per_row = 0};
  QueryPlan plan = Joined();
  Load("reversed", kLargeRows, true);
  plan.nodes[1] = ReadNode{.object = "reversed"};
  const std::string join = Figures(plan, "inner join");
  EXPECT_THAT(join, HasSubstr("9000 rows; at all 3 AEUs; "));
  std::smatch crossed;
  ASSERT_TRUE(std::regex_search(join, crossed, std::regex("crossed (\\d+) rows, ([\\d.]+) KiB")))
      << join;
  const uint64_t rows = std::stoull(crossed[1]);
  EXPECT_GT(rows, kLargeRows * 2 * 6 / 10);
  EXPECT_LT(rows, kLargeRows * 2 * 7 / 10);
  EXPECT_NEAR(std::stod(crossed[2]), static_cast<double>(rows) * 16 / 1024, 0.1);
}

TEST_F(QueryAnalysisTest, RowsAtHomeDoNotCross) {
  QueryPlan plan{.nodes = {ReadNode{.object = "large"},
                           AggregateNode{.input = 0, .keys = {}, .measures = {{}}},
                           SortNode{.input = 1, .keys = {{.column = 0}}}},
                 .names = {}};
  // A group of each AEU, of which one is at home.
  EXPECT_THAT(Figures(plan, "scan and group large"),
              testing::AllOf(HasSubstr("        1 rows; at all 3 AEUs, then at home; "),
                             HasSubstr("3 rows gathered at home; "),
                             HasSubstr("crossed 2 rows, 16 bytes")));
  const std::string sort = Figures(plan, "sort step");
  EXPECT_THAT(sort, HasSubstr("        1 rows; at home; "));
  EXPECT_THAT(sort, HasSubstr("the AEU worked "));
  EXPECT_THAT(sort, Not(HasSubstr("crossed")));
}

TEST_F(QueryAnalysisTest, ErrorsAreThoseOfTheQuery) {
  QueryPlan unknown = Joined();
  unknown.nodes[0] = ReadNode{.object = "none"};
  EXPECT_EQ(Analyze(unknown).status().code(), absl::StatusCode::kNotFound);

  auto cancelled = test::OrDie(session_->OpenAnalysis(Joined()));
  cancelled->Cancel();
  EXPECT_EQ(engine_.While([&] { return cancelled->Next(); }).status().code(),
            absl::StatusCode::kCancelled);
  cancelled.reset();

  EXPECT_EQ(session_->AnalyzeQuery(Joined(), {}, absl::Now()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  ExpectNothingLeft();

  int refused = 0;
  for (uint64_t nth = 1; nth < 20; ++nth) {
    aeu::ReserveFailures().Arm(nth, kOnce);
    const absl::StatusOr<std::string> text = Analyze(Joined());
    if (!text.ok()) {
      EXPECT_EQ(text.status().code(), absl::StatusCode::kResourceExhausted);
      ++refused;
    }
    ExpectNothingLeft();
    aeu::ReserveFailures().Arm(0, kOnce);
  }
  EXPECT_GT(refused, 0);
}

TEST_F(QueryAnalysisTest, TheTextIsTheOnlyRow) {
  auto query = test::OrDie(session_->OpenAnalysis(Joined()));
  ASSERT_EQ(query->schema().columns.size(), 1u);
  EXPECT_EQ(query->schema().columns[0].name, "analysis");
  auto chunk = engine_.While([&] { return query->Next(); });
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  EXPECT_EQ((*chunk)->rows(), 1u);
  const std::string text((*chunk)->String(0, 0));
  const ColumnBuffers taken = (*chunk)->TakeColumn(0);
  EXPECT_EQ(taken.values, text);
  EXPECT_EQ(*engine_.While([&] { return query->Next(); }), nullptr);
  chunk->reset();
  query.reset();
  ExpectNothingLeft();
}

}  // namespace
}  // namespace eris
