// Random plans over random tables, through an engine: the answers are those of the interpreter.
#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/engine_impl.h"
#include "engine/query/plan_steps.h"
#include "eris/engine.h"
#include "storage/query/plans/plan_schemas.h"
#include "tests/support/objects.h"
#include "tests/support/plan/chunk_cells.h"
#include "tests/support/plan/plan_differs.h"
#include "tests/support/plan/plan_interpreter.h"
#include "tests/support/plan/plan_samples.h"
#include "tests/support/plan/plan_text.h"
#include "tests/support/plan/table_samples.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris::test {
namespace {

class QueryPlans {
 public:
  // The numbers of NumaNodes and of AEUs on each; whether rows are sent to others wherever that is
  // possible: few rows would stay at one AEU; and how steps are scheduled, all that can be divided.
  explicit QueryPlans(const std::tuple<uint32_t, uint32_t, bool, TaskScheduling>& how) {
    const auto [numa_nodes, aeus, sends, scheduling] = how;
    engine::QueryFlowLimits few{.merged_at_home = 2, .stay_at_home = 4, .built_per_row = 0};
    Options options;
    options.topology =
        "numa:" + std::to_string(numa_nodes) + " core:" + std::to_string(aeus) + " pu:1";
    options.aeu_count = numa_nodes * aeus;
    options.memory_limit_bytes = uint64_t{1} << 30;
    options.task_scheduling = scheduling;
    auto engine = engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kStart);
    EXPECT_TRUE(engine.ok()) << engine.status();
    if (sends) (*engine)->core().query_limits = few;
    // Rows of other NumaNodes are copied, however few.
    (*engine)->core().query_limits.copied_rows = 0;
    (*engine)->core().query_limits.divided_rows = 0;
    // Even ones, too, wherever rows are sent anyway.
    if (sends) (*engine)->core().query_limits.uneven_quarters = 0;
    engine_ = *std::move(engine);
    session_ = engine_->NewSession();
  }

  void Load(const PlanTables& tables) {
    for (const auto& [name, table] : tables) {
      const bool has_key = table.schema.has_key();
      const ObjectKind kind = has_key ? ObjectKind::kTable : ObjectKind::kHeapTable;
      ASSERT_TRUE(engine_->Create(name, {.kind = kind, .schema = table.schema}).ok());
      if (table.rows.empty()) continue;
      Rows batch = BatchOf(table);
      const auto object = session_->Open(name);
      ASSERT_TRUE(object.ok());
      const BatchResult result = session_->Write(
          *object,
          {.mode = has_key ? WriteMode::kUpsert : WriteMode::kAppend, .rows = batch.batch()});
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
    const absl::StatusOr<std::string> steps = session_->ExplainQuery(plan);
    carrying += steps.ok() && steps->find(", carrying ") != std::string::npos;
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
  int carrying = 0;  // plans of which a grouping carries keys

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

class QueryPlansTest
    : public testing::TestWithParam<std::tuple<uint32_t, uint32_t, bool, TaskScheduling>> {};
constexpr auto kOwn = TaskScheduling::kOwn;
constexpr auto kLas = TaskScheduling::kLocalityAware;
constexpr auto kNls = TaskScheduling::kBlind;
INSTANTIATE_TEST_SUITE_P(
    Aeus, QueryPlansTest,
    testing::Values(std::tuple(1, 1, false, kOwn), std::tuple(1, 3, false, kLas),
                    std::tuple(1, 8, false, kNls), std::tuple(1, 3, true, kLas),
                    std::tuple(1, 8, true, kLas), std::tuple(3, 1, false, kLas),
                    std::tuple(2, 2, false, kOwn), std::tuple(2, 2, true, kLas),
                    std::tuple(2, 2, true, kNls)));

TEST_P(QueryPlansTest, AnswersAreThoseOfTheInterpreter) {
  QueryPlans engine(GetParam());
  const uint64_t first = Seed();
  for (uint64_t seed = first; seed < first + Fewer(60, 20); ++seed) {
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
  EXPECT_GT(engine.carrying, Fewer(10, 1));
}

// Joins of a few tables, mostly by their keys, and groups by some of these and by columns that they
// may determine.
class KeyedPlans {
 public:
  KeyedPlans(PlanRandom& random, const PlanTables& tables) : random_(random), tables_(tables) {}

  QueryPlan Plan() {
    uint32_t last = Input();
    for (uint64_t joins = Below(random_, 3); joins > 0; --joins) last = Join(last);
    if (OneIn(random_, 2)) last = Project(last);
    for (uint64_t groups = 1 + Below(random_, 2); groups > 0; --groups) last = Group(last);
    return std::move(plan_);
  }

 private:
  // A column, and whether it is of a key, or made of other columns: half of the groupings have it.
  struct Column {
    ColumnSchema schema{};
    bool key = false;
  };

  uint32_t Add(PlanNode node, std::vector<Column> columns) {
    plan_.nodes.push_back(std::move(node));
    columns_.push_back(std::move(columns));
    return static_cast<uint32_t>(plan_.nodes.size() - 1);
  }
  uint32_t Read() {
    auto table = tables_.begin();
    std::advance(table, Below(random_, tables_.size()));
    const Schema& schema = table->second.schema;
    std::vector<Column> columns;
    for (const ColumnSchema& column : schema.columns) columns.push_back({column});
    for (const uint32_t key : schema.key) columns[key].key = true;
    return Add(ReadNode{.object = table->first}, std::move(columns));
  }
  // A table, its groups, or with further columns.
  uint32_t Input() {
    const uint32_t read = Read();
    const uint64_t kind = Below(random_, 5);
    return kind == 0 ? Group(read) : kind == 1 ? Project(read) : read;
  }
  // All columns, a constant, and what tells zeros apart.
  uint32_t Project(uint32_t input) {
    std::vector<Column> columns = columns_[input];
    ProjectNode project{.input = input};
    for (uint32_t i = 0; i < columns.size(); ++i) project.columns.push_back(expressions::Field(i));
    for (uint32_t i = 0; i < columns_[input].size(); ++i) {
      if (columns[i].schema.type != ColumnType::kFloat64) continue;
      project.columns.push_back(
          expressions::operator/(expressions::Literal(1), expressions::Field(i)));
      columns.push_back({columns[i].schema, true});
    }
    project.columns.push_back(expressions::Literal(7));
    columns.push_back({{.name = "", .type = ColumnType::kInt64}, true});
    return Add(std::move(project), std::move(columns));
  }
  uint32_t Join(uint32_t left) {
    const uint32_t right = Input();
    std::vector<JoinNode::Key> pairs, good;
    for (uint32_t l = 0; l < columns_[left].size(); ++l) {
      for (uint32_t r = 0; r < columns_[right].size(); ++r) {
        const ColumnSchema& one = columns_[left][l].schema;
        const ColumnSchema& other = columns_[right][r].schema;
        if (one.type != other.type) continue;
        pairs.push_back({l, r});
        const bool real = one.type == ColumnType::kFloat64;
        if (real || columns_[left][l].key || columns_[right][r].key) good.push_back({l, r});
      }
    }
    const auto& from = good.empty() || OneIn(random_, 5) ? pairs : good;
    if (from.empty()) return left;
    const auto type = static_cast<JoinType>(1 + Below(random_, OneIn(random_, 3) ? 4 : 2));
    JoinNode join{.left = left, .right = right, .type = type};
    for (uint64_t keys = OneIn(random_, 4) ? 2 : 1; keys > 0; --keys) {
      join.keys.push_back(from[Below(random_, from.size())]);
    }
    const auto width = static_cast<uint32_t>(columns_[left].size());
    if (OneIn(random_, 3)) {
      const JoinNode::Key& pair = pairs[Below(random_, pairs.size())];
      join.condition = expressions::operator<(expressions::Field(pair.left),
                                              expressions::Field(width + pair.right));
    }
    std::vector<Column> columns = columns_[left];
    if (type == JoinType::kInner || type == JoinType::kLeft) {
      columns.insert(columns.end(), columns_[right].begin(), columns_[right].end());
    }
    return Add(std::move(join), std::move(columns));
  }
  uint32_t Group(uint32_t input) {
    AggregateNode aggregate{.input = input};
    std::vector<Column> columns;
    for (uint32_t i = 0; i < columns_[input].size() && aggregate.keys.size() < 12; ++i) {
      if (!OneIn(random_, columns_[input][i].key ? 2 : 3)) continue;
      aggregate.keys.push_back(i);
      columns.push_back(columns_[input][i]);
    }
    if (aggregate.keys.empty()) return input;
    const auto any = static_cast<uint32_t>(Below(random_, columns_[input].size()));
    aggregate.measures = {{}, {.argument = expressions::Field(any), .distinct = OneIn(random_, 2)}};
    columns.resize(columns.size() + 2, {{.name = "", .type = ColumnType::kUint64}});
    return Add(std::move(aggregate), std::move(columns));
  }

  PlanRandom& random_;
  const PlanTables& tables_;
  QueryPlan plan_;
  std::vector<std::vector<Column>> columns_;  // by node
};

TEST_P(QueryPlansTest, KeysThatOthersDetermineAreThoseOfTheirRows) {
  QueryPlans engine(GetParam());
  const uint64_t first = Seed();
  for (uint64_t seed = first; seed < first + Fewer(20, 7); ++seed) {
    PlanRandom random(seed);
    const PlanTables tables = SampleTables(random, 25);
    engine.Load(tables);
    for (int i = 0; i < 30; ++i) {
      const QueryPlan plan = KeyedPlans(random, tables).Plan();
      ASSERT_EQ(engine.Wrong(plan, tables), "") << SeedText(seed) << " plan " << i << "\n"
                                                << engine.FirstWrong(plan, tables) << "\n"
                                                << TextOf(plan) << "\n"
                                                << TextOf(tables);
    }
    engine.Drop(tables);
  }
  EXPECT_GT(engine.carrying, Fewer(60, 20));
}

// Aggregates of several distinct arguments whose keys are what joins do not join: nulls, NaNs, and
// zeros of both signs.
TEST_P(QueryPlansTest, DistinctValuesOfSeveralArguments) {
  QueryPlans engine(GetParam());
  const uint64_t first = Seed();
  for (uint64_t seed = first; seed < first + Fewer(20, 7); ++seed) {
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

// Medians of all columns of numbers, some of distinct values, next to other aggregates.
TEST_P(QueryPlansTest, MediansAreThoseOfTheInterpreter) {
  QueryPlans engine(GetParam());
  const uint64_t first = Seed();
  for (uint64_t seed = first; seed < first + Fewer(25, 8); ++seed) {
    PlanRandom random(seed);
    const PlanTables tables = SampleTables(random);
    engine.Load(tables);
    for (const auto& [name, table] : tables) {
      const auto columns = static_cast<uint32_t>(table.schema.columns.size());
      AggregateNode aggregate{.input = 0};
      for (uint64_t keys = Below(random, 3); keys > 0; --keys) {
        aggregate.keys.push_back(static_cast<uint32_t>(Below(random, columns)));
      }
      aggregate.measures.emplace_back();
      for (uint32_t column = 0; column < columns; ++column) {
        const ColumnSchema& schema = table.schema.columns[column];
        if (!IsNumber(CellType{schema.type, schema.scale})) continue;
        aggregate.measures.push_back({.function = AggregateFunction::kMedian,
                                      .argument = expressions::Field(column),
                                      .distinct = OneIn(random, 6)});
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
