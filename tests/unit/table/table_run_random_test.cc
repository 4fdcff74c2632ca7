// Rows handed out by runs against the oracle: random rows in a few segments, random queries, each
// answered both ways.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/table/query/table_run.h"
#include "tests/support/seed.h"
#include "tests/unit/table/query_maker.h"
#include "tests/unit/table/random_runs.h"

namespace eris::storage {
namespace {

struct RunAnswer {
  std::vector<std::string> rows{};
  bool fails = false;      // a value that is computed is outside its type
  bool uncertain = false;  // or one that a condition may look at
};

RunAnswer WantedRows(const Query& query, const Segments& segments) {
  QueryOracle oracle(QuerySchema());
  RunAnswer answer;
  for (const auto& segment : segments) {
    for (const uint32_t i : PassingRows(oracle, query, *segment)) {
      QueryOracle::Row row;
      for (const NamedExpression& column : query.columns) {
        row.push_back(oracle.ValueOf(column.expression, segment->row(i)));
      }
      if (query.columns.empty()) row = segment->row(i);
      answer.rows.push_back(TextOf(row));
    }
  }
  answer.fails = oracle.TakeOverflow();
  answer.uncertain = oracle.TakeUncertain();
  return answer;
}

// Runs one segment, into small and odd results, so that blocks are left and entered in the middle.
void RunSegment(TableRun& run, const QuerySegment& segment, const Schema& result,
                QueryRandom& random, RunAnswer& answer) {
  if (segment.rows() == 0 || !run.BeginSegment(segment.view())) return;
  uint32_t at = 0;
  while (at < segment.rows() && !answer.fails) {
    ResultMemory memory(result, 1 + static_cast<uint32_t>(random() % 300),
                        48 + static_cast<uint32_t>(random() % 300));
    TableRun::Outcome outcome = TableRun::Outcome::kDone;
    while (at < segment.rows() && outcome == TableRun::Outcome::kDone) {
      outcome = run.RunBlock(at, &memory.rows);
    }
    answer.fails = outcome == TableRun::Outcome::kError;
    if (outcome == TableRun::Outcome::kFull) {
      ASSERT_GT(memory.rows.rows, 0u);
    }
    for (uint32_t i = 0; i < memory.rows.rows; ++i) {
      QueryOracle::Row row;
      for (size_t c = 0; c < result.columns.size(); ++c) {
        row.push_back(memory.At(c, i, result.columns[c].scale));
      }
      answer.rows.push_back(TextOf(row));
    }
    if (!answer.fails && random() % 4 == 0) {
      ASSERT_TRUE(run.BeginSegment(segment.view()));
    }
  }
}

Query SomeRunQuery(QueryRandom& random) {
  QueryMaker maker(random);
  Query query;
  if (random() % 8 != 0) query.filter = maker.Condition(2);
  for (uint64_t i = random() % 4; i > 0; --i) {
    query.columns.push_back(
        {random() % 4 == 0 ? maker.AnyColumn() : maker.Any(3), "c" + std::to_string(i)});
  }
  return query;
}

TEST(TableRunTest, RowsHandedOutAreThoseOfTheOracle) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  QueryRandom random(seed);
  uint32_t compared = 0;
  uint32_t errors = 0;
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    const Query query = SomeRunQuery(random);
    const auto plan = TablePlan::Create(QueryLayout()->schema().columns, query);
    if (!plan.ok()) {
      ASSERT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << plan.status();
      continue;
    }
    const Segments segments = SomeSegments(random);
    const RunAnswer wanted = WantedRows(query, segments);
    auto run = TableRun::Create(*plan);
    ASSERT_TRUE(run.ok());
    RunAnswer got;
    for (const auto& segment : segments) {
      RunSegment(**run, *segment, (*plan)->result(), random, got);
      if (got.fails || testing::Test::HasFatalFailure()) break;
    }
    if (got.fails) {
      ++errors;
      EXPECT_EQ((*run)->status().code(), absl::StatusCode::kOutOfRange);
      ASSERT_TRUE(wanted.fails || wanted.uncertain) << (*run)->status() << TextOf(query);
    } else if (!wanted.uncertain) {
      ++compared;
      ASSERT_FALSE(wanted.fails) << TextOf(query);
      ASSERT_EQ(got.rows, wanted.rows) << TextOf(query);
    }
  }
  EXPECT_GT(compared, 500u);
  EXPECT_GT(errors, 0u);
}

}  // namespace
}  // namespace eris::storage
