// Random plans over random tables, through an engine: the answers are those of the interpreter.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/engine_impl.h"
#include "engine/query/plan_steps.h"
#include "eris/engine.h"
#include "storage/query/plan_schemas.h"
#include "tests/support/objects.h"
#include "tests/support/plan/chunk_cells.h"
#include "tests/support/plan/plan_differs.h"
#include "tests/support/plan/plan_interpreter.h"
#include "tests/support/plan/plan_samples.h"
#include "tests/support/plan/plan_text.h"
#include "tests/support/plan/table_samples.h"
#include "tests/support/seed.h"

namespace eris::test {
namespace {

class QueryPlans {
 public:
  // The number of AEUs, and whether rows are sent to others wherever that is possible: few rows
  // would stay at one AEU.
  explicit QueryPlans(const std::tuple<uint32_t, bool>& how) {
    const auto [aeus, sends] = how;
    const engine::QueryFlowLimits few{.merged_at_home = 2, .stay_at_home = 4, .built_per_row = 0};
    Options options;
    options.topology = "numa:1 core:" + std::to_string(aeus) + " pu:1";
    options.aeu_count = aeus;
    options.memory_limit_bytes = uint64_t{1} << 30;
    auto engine = engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kStart);
    EXPECT_TRUE(engine.ok()) << engine.status();
    if (sends) (*engine)->core().query_limits = few;
    engine_ = *std::move(engine);
    session_ = engine_->NewSession();
  }

  void Load(const PlanTables& tables) {
    for (const auto& [name, table] : tables) {
      ASSERT_TRUE(
          engine_->Create(name, {.kind = ObjectKind::kHeapTable, .schema = table.schema}).ok());
      if (table.rows.empty()) continue;
      Rows batch = BatchOf(table);
      const auto object = session_->Open(name);
      ASSERT_TRUE(object.ok());
      const BatchResult result =
          session_->Write(*object, {.mode = WriteMode::kAppend, .rows = batch.batch()});
      ASSERT_TRUE(result.status.ok()) << result.status;
    }
  }
  void Drop(const PlanTables& tables) {
    for (const auto& [name, table] : tables) ASSERT_TRUE(engine_->Drop(name).ok());
  }

  // What is wrong with the engine's answer; empty: nothing.
  std::string Wrong(const QueryPlan& plan, const PlanTables& tables) {
    const auto schema_of = [&](absl::string_view name) -> absl::StatusOr<Schema> {
      return tables.at(std::string(name)).schema;
    };
    const auto schemas = storage::PlanSchemas(plan, schema_of);
    if (!schemas.ok()) return schemas.status().ToString();
    const auto expected = Interpret(plan, tables, *schemas);
    if (!expected.ok()) return expected.status().ToString();
    absl::StatusOr<std::vector<Cells>> actual = absl::UnknownError("");
    auto query = session_->OpenQuery(plan);
    actual = query.ok() ? ReadAllCells(**query) : query.status();
    if (expected->fails) {
      ++errors;
      if (actual.ok()) {
        ++errors_not_met;
        return "";
      }
    }
    return Differs(*expected, actual, AcceptedErrors::kOutOfOrder);
  }

  // The first node whose rows are wrong, if it is taken as the answer.
  std::string FirstWrong(const QueryPlan& plan, const PlanTables& tables) {
    QueryPlan part;
    for (size_t node = 0; node < plan.nodes.size(); ++node) {
      part.nodes.push_back(plan.nodes[node]);
      const std::string wrong = Wrong(part, tables);
      if (!wrong.empty()) return "node " + std::to_string(node) + ": " + wrong;
    }
    return "no node by itself";
  }

  // Plans that fail in the interpreter, and those of them that the engine answers. It need not
  // compute what decides nothing: in "x is null" of an x that never is, or for "not in (null, 1)",
  // which is never true.
  int errors = 0;
  int errors_not_met = 0;

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

class QueryPlansTest : public testing::TestWithParam<std::tuple<uint32_t, bool>> {};
INSTANTIATE_TEST_SUITE_P(Aeus, QueryPlansTest,
                         testing::Values(std::tuple(1, false), std::tuple(3, false),
                                         std::tuple(8, false), std::tuple(3, true),
                                         std::tuple(8, true)));

TEST_P(QueryPlansTest, AnswersAreThoseOfTheInterpreter) {
  QueryPlans engine(GetParam());
  const uint64_t first = Seed();
  for (uint64_t seed = first; seed < first + 60; ++seed) {
    PlanRandom random(seed);
    const PlanTables tables = SampleTables(random);
    engine.Load(tables);
    for (int i = 0; i < 10; ++i) {
      const QueryPlan plan = PlanSamples(random, tables).Plan();
      const std::string wrong = engine.Wrong(plan, tables);
      ASSERT_EQ(wrong, "") << SeedText(seed) << " plan " << i << "\n"
                           << engine.FirstWrong(plan, tables) << "\n"
                           << TextOf(plan) << "\n"
                           << TextOf(tables);
    }
    engine.Drop(tables);
  }
  EXPECT_LE(engine.errors_not_met, 1 + engine.errors / 10);
}

// Aggregates of several distinct arguments whose keys are what joins do not join: nulls, NaNs, and
// zeros of both signs.
TEST_P(QueryPlansTest, DistinctValuesOfSeveralArguments) {
  QueryPlans engine(GetParam());
  const uint64_t first = Seed();
  for (uint64_t seed = first; seed < first + 20; ++seed) {
    PlanRandom random(seed);
    const PlanTables tables = SampleTables(random);
    engine.Load(tables);
    for (const auto& [name, table] : tables) {
      const auto columns = static_cast<uint32_t>(table.schema.columns.size());
      AggregateNode aggregate{.input = 0};
      for (uint64_t keys = Below(random, 5); keys > 0; --keys) {
        aggregate.keys.push_back(static_cast<uint32_t>(Below(random, columns)));
      }
      for (uint32_t i = 0; i < 5; ++i) {
        const auto column = static_cast<uint32_t>(Below(random, columns));
        aggregate.measures.push_back({.argument = expressions::Field(column), .distinct = i != 2});
      }
      const QueryPlan plan{.nodes = {ReadNode{.object = name}, aggregate}, .names = {}};
      ASSERT_EQ(engine.Wrong(plan, tables), "") << SeedText(seed) << "\n"
                                                << TextOf(plan) << "\n"
                                                << TextOf(tables);
    }
    engine.Drop(tables);
  }
}

}  // namespace
}  // namespace eris::test
