#include "engine/query/plan_steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"
#include "engine/query/distinct_plan.h"
#include "engine/query/join_key_plan.h"
#include "engine/query/planner/better_plan.h"
#include "engine/query/planner/carried_keys.h"
#include "engine/query/planner/plan_needs.h"
#include "storage/query/plans/expression_tools.h"
#include "storage/query/plans/subquery_values.h"
#include "storage/table/plan/table_plan.h"

namespace eris::engine {
namespace {

using expressions::Field;
using expressions::Literal;
using storage::JoinStep;
using storage::MapStep;
using storage::QueryStep;
using storage::ScanStep;
using storage::SortStep;
using storage::UnionStep;
using storage::ValuesStep;

// The rows of a node that no step of its own makes so far: those of an object, or of a step, for
// which the filter is true.
struct NodeRows {
  std::optional<std::string> object{};
  uint32_t step = 0;  // unless there is an object
  std::optional<Expression> filter{};
  // The node's columns, over those of the object or the step. Of columns that nobody needs any.
  std::vector<Expression> columns{};
};

bool IsField(const Expression& expression) { return expression.kind == Expression::Kind::kField; }

class StepMaker {
 public:
  StepMaker(const QueryPlan& plan, const std::vector<Schema>& schemas,
            const std::vector<NodeSize>& sizes, const std::vector<CarriedSet>& carried,
            const PlanObjects& objects)
      : plan_(plan),
        schemas_(schemas),
        sizes_(sizes),
        carried_(carried),
        schema_of_(objects.schema_of),
        is_table_(objects.is_table),
        needs_(NeedsOf(plan, schemas)),
        rows_(plan.nodes.size()) {}

  absl::StatusOr<storage::QuerySteps> Run() {
    const auto last = static_cast<uint32_t>(plan_.nodes.size() - 1);
    for (uint32_t node = 0; node <= last; ++node) {
      if (needs_.uses[node] == 0) continue;
      ERIS_ASSIGN_OR_RETURN(
          rows_[node],
          std::visit([&](const auto& one) { return RowsOf(one, node); }, plan_.nodes[node]));
      NoteSize(node);
      const bool plain = std::holds_alternative<ReadNode>(plan_.nodes[node]);
      if (needs_.uses[node] > 1 && !plain) ERIS_RETURN_IF_ERROR(Make(node));
    }
    ERIS_RETURN_IF_ERROR(Make(last));
    if (!MakesAll(last)) ERIS_RETURN_IF_ERROR(AddColumns(last));
    Schema& answer = steps_.steps.back().schema;
    const std::vector<std::string> names = storage::AnswerNames(plan_, schemas_.back());
    for (size_t i = 0; i < names.size(); ++i) answer.columns[i].name = names[i];
    return std::move(steps_);
  }

 private:
  absl::StatusOr<NodeRows> RowsOf(const ReadNode& read, uint32_t node) {
    NodeRows rows{.object = read.object};
    for (uint32_t i = 0; i < schemas_[node].columns.size(); ++i) {
      rows.columns.push_back(Field(read.columns.empty() ? i : read.columns[i]));
    }
    if (is_table_(read.object)) return rows;
    // A scan of an index hands out all of its columns.
    ERIS_ASSIGN_OR_RETURN(Schema schema, schema_of_(read.object));
    schema.key.clear();
    rows.step = AddStep({.what = ScanStep{.object = read.object}, .schema = std::move(schema)});
    rows.object.reset();
    return rows;
  }

  absl::StatusOr<NodeRows> RowsOf(const FilterNode& filter, uint32_t) {
    ERIS_ASSIGN_OR_RETURN(Expression condition, OverBase(filter.input, filter.condition));
    NodeRows rows = rows_[filter.input];
    if (rows.filter) {
      rows.filter = expressions::operator&&(*std::move(rows.filter), std::move(condition));
    } else {
      rows.filter = std::move(condition);
    }
    if (storage::Fits(*rows.filter)) return rows;
    ERIS_RETURN_IF_ERROR(AddColumns(filter.input));
    rows = rows_[filter.input];
    ERIS_ASSIGN_OR_RETURN(rows.filter, OverBase(filter.input, filter.condition));
    return rows;
  }

  absl::StatusOr<NodeRows> RowsOf(const ProjectNode& project, uint32_t node) {
    // One that is too large makes a step of the input, over which all are then.
    for (size_t i = 0; i < project.columns.size(); ++i) {
      if (!needs_.columns[node][i]) continue;
      ERIS_RETURN_IF_ERROR(OverBase(project.input, project.columns[i]).status());
    }
    NodeRows rows = rows_[project.input];
    rows.columns.assign(project.columns.size(), Literal(0));
    for (size_t i = 0; i < project.columns.size(); ++i) {
      if (!needs_.columns[node][i]) continue;
      ERIS_ASSIGN_OR_RETURN(rows.columns[i], OverBase(project.input, project.columns[i]));
      const ColumnSchema& column = schemas_[node].columns[i];
      const bool number = !IsByteString(column.type) && !IsTimeType(column.type);
      if (rows.columns[i].kind == Expression::Kind::kLiteral && number) {
        // A literal as such would take its type from what it is computed with.
        rows.columns[i] = expressions::Cast(std::move(rows.columns[i]), column.type, column.scale);
      }
    }
    return rows;
  }

  absl::StatusOr<NodeRows> RowsOf(const JoinNode& join, uint32_t node) {
    if (join.condition) ERIS_RETURN_IF_ERROR(MakeValues(*join.condition));
    ERIS_RETURN_IF_ERROR(Make(join.left));
    ERIS_RETURN_IF_ERROR(Make(join.right));
    const NodeRows& left = rows_[join.left];
    const NodeRows& right = rows_[join.right];
    const auto left_columns = static_cast<uint32_t>(ColumnsOf(left.step).size());
    // The columns of both nodes, as those of both steps.
    std::vector<Expression> both = left.columns;
    for (const Expression& column : right.columns) {
      both.push_back(IsField(column) ? Field(left_columns + column.number) : column);
    }
    JoinStep step{.left = left.step, .right = right.step, .type = join.type};
    for (const JoinNode::Key& key : join.keys) {
      step.keys.push_back({left.columns[key.left].number, right.columns[key.right].number});
    }
    if (join.condition) {
      ERIS_ASSIGN_OR_RETURN(step.condition, Over(both, *join.condition));
      storage::ForSubqueries(*step.condition, [&](uint32_t value) { Use(value); });
    }
    NodeRows rows;
    Schema schema;
    for (size_t i = 0; i < needs_.columns[node].size(); ++i) {
      rows.columns.push_back(Literal(0));
      if (!needs_.columns[node][i]) continue;
      rows.columns.back() = Field(static_cast<uint32_t>(step.columns.size()));
      const uint32_t column = both[i].number;
      step.columns.push_back(column);
      const bool of_left = column < left_columns;
      schema.columns.push_back(of_left ? ColumnsOf(left.step)[column]
                                       : ColumnsOf(right.step)[column - left_columns]);
      schema.columns.back().nullable |= !of_left && join.type == JoinType::kLeft;
    }
    if (step.columns.empty()) {  // only their number is asked for
      step.columns.push_back(0);
      schema.columns.push_back(ColumnsOf(left.step)[0]);
    }
    Use(left.step);
    Use(right.step);
    rows.step = AddStep({.what = std::move(step), .schema = std::move(schema)});
    return rows;
  }

  absl::StatusOr<NodeRows> RowsOf(const AggregateNode& aggregate, uint32_t node) {
    for (const uint32_t key : aggregate.keys) {
      if (IsField(rows_[aggregate.input].columns[key])) continue;
      ERIS_RETURN_IF_ERROR(Make(aggregate.input));
    }
    // An argument that is too large makes a step of the input, over which the others are then.
    std::vector<std::pair<size_t, const Measure*>> measures;  // the needed ones, by column
    for (size_t i = 0; i < aggregate.measures.size(); ++i) {
      const Measure& measure = aggregate.measures[i];
      if (!needs_.columns[node][aggregate.keys.size() + i]) continue;
      measures.emplace_back(aggregate.keys.size() + i, &measure);
      if (!measure.argument) continue;
      ERIS_RETURN_IF_ERROR(OverBase(aggregate.input, *measure.argument).status());
    }
    const NodeRows& input = rows_[aggregate.input];
    ERIS_ASSIGN_OR_RETURN(const std::vector<ColumnSchema> base, BaseColumns(input));
    Query query{.filter = input.filter};
    NodeRows rows;
    rows.columns.assign(needs_.columns[node].size(), Literal(0));
    std::map<uint32_t, uint32_t> groups;  // the place of a column of the base among the groups
    uint32_t compared = 0;                // bit: place of a column that is not carried
    for (size_t i = 0; i < aggregate.keys.size(); ++i) {
      const uint32_t column = input.columns[aggregate.keys[i]].number;
      const auto [at, is_new] = groups.emplace(column, static_cast<uint32_t>(groups.size()));
      if (is_new) query.group_by.push_back(base[column].name);
      if ((carried_[node] >> i & 1) == 0) compared |= 1u << at->second;
      rows.columns[i] = Field(at->second);
    }
    for (const auto& [column, measure] : measures) {
      rows.columns[column] = Field(static_cast<uint32_t>(groups.size() + query.aggregates.size()));
      AggregateColumn one{.function = measure->function, .name = {}};
      if (measure->argument) {
        ERIS_ASSIGN_OR_RETURN(one.argument, OverBase(aggregate.input, *measure->argument));
      }
      query.aggregates.push_back(std::move(one));
    }
    if (query.group_by.empty() && query.aggregates.empty()) query.aggregates.push_back({});
    const auto carried = static_cast<CarriedSet>(~compared & ((1u << groups.size()) - 1));
    ERIS_ASSIGN_OR_RETURN(rows.step, AddQuery(input, std::move(query), carried));
    return rows;
  }

  absl::StatusOr<NodeRows> RowsOf(const SortNode& sort, uint32_t) {
    ERIS_RETURN_IF_ERROR(Make(sort.input));
    NodeRows rows = rows_[sort.input];
    SortStep step{.input = rows.step};
    for (SortKey key : sort.keys) {
      key.column = rows.columns[key.column].number;
      step.keys.push_back(key);
    }
    return AddSort(std::move(rows), std::move(step));
  }

  absl::StatusOr<NodeRows> RowsOf(const LimitNode& limit, uint32_t) {
    if (SortStep* const sort = SortBelow(limit.input); sort != nullptr) {
      sort->offset = limit.offset;
      sort->count = limit.count;
      return rows_[limit.input];
    }
    ERIS_RETURN_IF_ERROR(Make(limit.input));
    NodeRows rows = rows_[limit.input];
    SortStep step{.input = rows.step, .offset = limit.offset, .count = limit.count};
    return AddSort(std::move(rows), std::move(step));
  }

  absl::StatusOr<NodeRows> RowsOf(const UnionNode& all, uint32_t node) {
    UnionStep step;
    for (const uint32_t input : all.inputs) {
      ERIS_RETURN_IF_ERROR(Make(input));
      UnionStep::Input& from = step.inputs.emplace_back();
      from.step = rows_[input].step;
      Use(from.step);
      for (size_t i = 0; i < needs_.columns[node].size(); ++i) {
        if (needs_.columns[node][i]) from.columns.push_back(rows_[input].columns[i].number);
      }
    }
    return AddNeeded(node, std::move(step));
  }

  absl::StatusOr<NodeRows> RowsOf(const ValuesNode& values, uint32_t node) {
    ValuesStep step;
    for (const std::vector<Value>& row : values.rows) {
      std::vector<Value>& needed = step.rows.emplace_back();
      for (size_t i = 0; i < row.size(); ++i) {
        if (needs_.columns[node][i]) needed.push_back(row[i]);
      }
    }
    return AddNeeded(node, std::move(step));
  }

  // A step that hands out the node's needed columns, in their order.
  template <class Step>
  NodeRows AddNeeded(uint32_t node, Step step) {
    NodeRows rows;
    Schema schema;
    for (size_t i = 0; i < needs_.columns[node].size(); ++i) {
      rows.columns.push_back(Literal(0));
      if (!needs_.columns[node][i]) continue;
      rows.columns.back() = Field(static_cast<uint32_t>(schema.columns.size()));
      schema.columns.push_back(schemas_[node].columns[i]);
    }
    rows.step = AddStep({.what = std::move(step), .schema = std::move(schema)});
    return rows;
  }

  // The step of a sort of which the node hands out all rows, in their order, and which nothing else
  // reads; nullptr if there is none.
  SortStep* SortBelow(uint32_t node) {
    const auto* project = std::get_if<ProjectNode>(&plan_.nodes[node]);
    while (project != nullptr && needs_.uses[node] == 1) {
      node = project->input;
      project = std::get_if<ProjectNode>(&plan_.nodes[node]);
    }
    if (!std::holds_alternative<SortNode>(plan_.nodes[node]) || needs_.uses[node] > 1)
      return nullptr;
    return std::get_if<SortStep>(&steps_.steps[rows_[node].step].what);
  }

  absl::StatusOr<NodeRows> AddSort(NodeRows rows, SortStep step) {
    Use(step.input);
    Schema schema = steps_.steps[step.input].schema;
    rows.step = AddStep({.what = std::move(step), .schema = std::move(schema)});
    return rows;
  }

  // An expression over a node's columns as one over its object or step. If that is larger than an
  // expression may be, the node gets a step of its own.
  absl::StatusOr<Expression> OverBase(uint32_t node, const Expression& expression) {
    ERIS_RETURN_IF_ERROR(MakeValues(expression));
    std::optional<Expression> over = ReplacedIn(rows_[node].columns, expression);
    if (over) return *std::move(over);
    ERIS_RETURN_IF_ERROR(AddColumns(node));
    return Over(rows_[node].columns, expression);
  }
  // REQUIRES: the columns are fields; MakeValues.
  absl::StatusOr<Expression> Over(const std::vector<Expression>& columns,
                                  const Expression& expression) {
    std::optional<Expression> over = ReplacedIn(columns, expression);
    if (over) return *std::move(over);
    return absl::InternalError("an expression that was checked is too large");
  }
  std::optional<Expression> ReplacedIn(const std::vector<Expression>& columns,
                                       const Expression& expression) {
    return storage::Replaced(
        expression, [&](uint32_t field) { return columns[field]; },
        [&](uint32_t node) { return expressions::Subquery(rows_[node].step); });
  }
  // Makes steps of the subqueries that the expression names, each with one column.
  absl::Status MakeValues(const Expression& expression) {
    std::vector<uint32_t> nodes;
    storage::ForSubqueries(expression, [&](uint32_t node) { nodes.push_back(node); });
    for (const uint32_t node : nodes) {
      ERIS_RETURN_IF_ERROR(Make(node));
      if (ColumnsOf(rows_[node].step).size() > 1) ERIS_RETURN_IF_ERROR(AddColumns(node));
    }
    return absl::OkStatus();
  }

  // Makes a step of the node, unless its rows and columns are those of one.
  absl::Status Make(uint32_t node) {
    const NodeRows& rows = rows_[node];
    bool made = !rows.object && !rows.filter;
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      made &= !needs_.columns[node][i] || IsField(rows.columns[i]);
    }
    return made ? absl::OkStatus() : AddColumns(node);
  }

  // Makes a step that hands out the needed columns of the node.
  absl::Status AddColumns(uint32_t node) {
    NodeRows& rows = rows_[node];
    Query query{.filter = rows.filter};
    std::vector<Expression> columns(rows.columns.size(), Literal(0));
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      if (!needs_.columns[node][i]) continue;
      columns[i] = Field(static_cast<uint32_t>(query.columns.size()));
      query.columns.push_back({rows.columns[i], ""});
    }
    if (query.columns.empty()) query.columns.push_back({Literal(0), ""});  // only their number
    ERIS_ASSIGN_OR_RETURN(const uint32_t step, AddQuery(rows, std::move(query)));
    rows = {.step = step, .columns = std::move(columns)};
    NoteSize(node);
    return absl::OkStatus();
  }

  // Says of the step that makes a node's rows how many there may be.
  void NoteSize(uint32_t node) {
    const NodeRows& rows = rows_[node];
    if (rows.object || rows.filter) return;
    constexpr double kMost = 1e18;
    steps_.steps[rows.step].rows_about =
        static_cast<uint64_t>(std::clamp(std::round(sizes_[node].rows), 0.0, kMost));
  }

  // Whether the last step hands out exactly the node's columns.
  bool MakesAll(uint32_t node) const {
    const NodeRows& rows = rows_[node];
    if (rows.step + 1 != steps_.steps.size()) return false;
    if (ColumnsOf(rows.step).size() != rows.columns.size()) return false;
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      if (rows.columns[i].number != i) return false;
    }
    return true;
  }

  absl::StatusOr<std::vector<ColumnSchema>> BaseColumns(const NodeRows& rows) {
    if (!rows.object) return storage::NamedByField(ColumnsOf(rows.step));
    ERIS_ASSIGN_OR_RETURN(Schema schema, schema_of_(*rows.object));
    return std::move(schema.columns);
  }
  absl::StatusOr<uint32_t> AddQuery(const NodeRows& rows, Query query, CarriedSet carried = 0) {
    ERIS_ASSIGN_OR_RETURN(const std::vector<ColumnSchema> base, BaseColumns(rows));
    std::vector<ColumnSchema> values;
    for (const QueryStep& step : steps_.steps) values.push_back(step.schema.columns[0]);
    ERIS_ASSIGN_OR_RETURN(const auto made,
                          storage::TablePlan::Create(base, query, values, carried));
    UseValues(query);
    QueryStep step{.schema = made->result()};
    if (rows.object) {
      step.what = ScanStep{*rows.object, std::move(query), carried};
    } else {
      Use(rows.step);
      step.what = MapStep{rows.step, std::move(query), carried};
    }
    return AddStep(std::move(step));
  }
  void UseValues(const Query& query) {
    storage::ForSubqueries(query, [&](uint32_t step) { Use(step); });
  }

  const std::vector<ColumnSchema>& ColumnsOf(uint32_t step) const {
    return steps_.steps[step].schema.columns;
  }
  void Use(uint32_t step) { ++steps_.steps[step].uses; }
  uint32_t AddStep(QueryStep step) {
    steps_.steps.push_back(std::move(step));
    return static_cast<uint32_t>(steps_.steps.size() - 1);
  }

  const QueryPlan& plan_;
  const std::vector<Schema>& schemas_;
  const std::vector<NodeSize>& sizes_;
  const std::vector<CarriedSet>& carried_;
  const storage::SchemaOf schema_of_;
  const IsTable is_table_;
  const PlanNeeds needs_;
  std::vector<NodeRows> rows_;  // by node
  storage::QuerySteps steps_;
};

}  // namespace

absl::StatusOr<storage::QuerySteps> PlanSteps(const QueryPlan& plan, const PlanObjects& objects) {
  const storage::SchemaOf schema_of = objects.schema_of;
  ERIS_ASSIGN_OR_RETURN(const QueryPlan better, BetterPlan(plan, schema_of, objects.rows_of));
  ERIS_ASSIGN_OR_RETURN(std::vector<Schema> schemas, storage::PlanSchemas(better, schema_of));
  const QueryPlan alike = WithAlikeKeys(better, schemas);
  ERIS_ASSIGN_OR_RETURN(schemas, storage::PlanSchemas(alike, schema_of));
  ERIS_ASSIGN_OR_RETURN(const QueryPlan plain, WithoutDistinct(alike, schemas));
  ERIS_ASSIGN_OR_RETURN(schemas, storage::PlanSchemas(plain, schema_of));
  ERIS_ASSIGN_OR_RETURN(const std::vector<NodeSize> sizes,
                        PlanSizes(plain, schemas, schema_of, objects.rows_of));
  ERIS_ASSIGN_OR_RETURN(const std::vector<CarriedSet> carried,
                        CarriedKeys(plain, schemas, schema_of));
  return StepMaker(plain, schemas, sizes, carried, objects).Run();
}

}  // namespace eris::engine
