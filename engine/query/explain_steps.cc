#include "engine/query/explain_steps.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "engine/query/groups/two_phase_groups.h"
#include "engine/query/key_filter_plan.h"
#include "storage/query/plans/expression_tools.h"
#include "storage/query/plans/subquery_values.h"
#include "storage/table/plan/plan_compiler.h"

namespace eris::engine {
namespace {

using storage::JoinStep;
using storage::MapStep;
using storage::ScanStep;
using storage::SortStep;
using storage::UnionStep;
using storage::ValuesStep;

// What the columns of a step's input are called in its line.
using Names = std::vector<std::string>;

absl::string_view JoinName(JoinType type) {
  switch (type) {
    case JoinType::kInner:
      return "inner";
    case JoinType::kLeft:
      return "left";
    case JoinType::kSemi:
      return "semi";
    case JoinType::kAnti:
      return "anti";
  }
  return "unknown";
}

std::string Text(const Expression& expression, const Names& names) {
  const std::optional<Expression> named = storage::Replaced(
      expression, [&](uint32_t field) { return expressions::Column(names[field]); },
      [](uint32_t step) {
        return expressions::Column(absl::StrCat("(value of step ", step, ")"));
      });
  return storage::ExpressionText(named ? *named : expression);
}

class Explainer {
 public:
  Explainer(const storage::QuerySteps& steps, storage::SchemaOf schema_of)
      : steps_(steps.steps), schema_of_(schema_of), targets_(steps.steps.size()) {}

  absl::StatusOr<std::vector<std::string>> Run() {
    FindTargets();
    filters_ = OrderSteps(steps_).filters;
    std::vector<std::string> out;
    for (uint32_t step = 0; step < steps_.size(); ++step) {
      ERIS_ASSIGN_OR_RETURN(
          const std::string line,
          std::visit([&](const auto& what) { return LineOf(what, step); }, steps_[step].what));
      const std::optional<uint64_t> rows = steps_[step].rows_about;
      const std::string about = rows ? absl::StrCat("; ~", *rows, " rows") : "";
      out.push_back(absl::StrCat("step ", step, ": ", line, about, " -> ",
                                 absl::StrJoin(targets_[step], ", ")));
    }
    return out;
  }

 private:
  // Which steps take the rows of each.
  void FindTargets() {
    for (uint32_t step = 0; step < steps_.size(); ++step) {
      std::visit([&](const auto& what) { AddTarget(what, step); }, steps_[step].what);
    }
    targets_.back().push_back("answer");
  }
  void AddTarget(const ScanStep& scan, uint32_t step) { AddValueTargets(scan.query, step); }
  void AddTarget(const MapStep& map, uint32_t step) {
    targets_[map.input].push_back(absl::StrCat("step ", step));
    AddValueTargets(map.query, step);
  }
  void AddTarget(const JoinStep& join, uint32_t step) {
    targets_[join.left].push_back(absl::StrCat("step ", step));
    targets_[join.right].push_back(absl::StrCat("step ", step, " (table)"));
    if (join.condition) AddValueTargets(*join.condition, step);
  }
  void AddTarget(const SortStep& sort, uint32_t step) {
    targets_[sort.input].push_back(absl::StrCat("step ", step));
  }
  void AddTarget(const UnionStep& all, uint32_t step) {
    for (const UnionStep::Input& input : all.inputs) {
      targets_[input.step].push_back(absl::StrCat("step ", step));
    }
  }
  void AddTarget(const ValuesStep&, uint32_t) {}
  template <class Named>  // an expression or a query
  void AddValueTargets(const Named& named, uint32_t step) {
    storage::ForSubqueries(named, [&](uint32_t value) {
      targets_[value].push_back(absl::StrCat("step ", step, " (value)"));
    });
  }

  absl::StatusOr<std::string> LineOf(const ScanStep& scan, uint32_t step) const {
    ERIS_ASSIGN_OR_RETURN(const Schema schema, schema_of_(scan.object));
    Names names;
    for (const ColumnSchema& column : schema.columns) names.push_back(column.name);
    const bool groups = MakesGroups(scan.query);
    return absl::StrCat(groups ? "scan and group " : "scan ", scan.object,
                        KeysText(scan, schema.columns, step), QueryText(scan, names, step));
  }
  // By which keys of other steps it is filtered.
  std::string KeysText(const ScanStep& scan, const std::vector<ColumnSchema>& columns,
                       uint32_t step) const {
    std::string text;
    for (const KeyFilterPlan& filter : filters_) {
      if (filter.scan != step) continue;
      const std::optional<uint32_t> column = TableColumnOf(scan, filter.scan_column, columns);
      if (!column) continue;
      absl::StrAppend(&text, "; ", columns[*column].name, " among ",
                      storage::FieldName(filter.made_column), " of step ", filter.made);
    }
    return text;
  }
  absl::StatusOr<std::string> LineOf(const MapStep& map, uint32_t step) const {
    const bool groups = MakesGroups(map.query);
    return absl::StrCat(groups ? "group step " : "compute from step ", map.input,
                        QueryText(map, FieldsOf(map.input), step));
  }
  absl::StatusOr<std::string> LineOf(const JoinStep& join, uint32_t step) const {
    Names both;
    for (const std::string& name : FieldsOf(join.left)) both.push_back("left." + name);
    for (const std::string& name : FieldsOf(join.right)) both.push_back("right." + name);
    std::vector<std::string> keys;
    for (const JoinNode::Key& key : join.keys) {
      keys.push_back(absl::StrCat("left.", storage::FieldName(key.left), " = right.",
                                  storage::FieldName(key.right)));
    }
    std::string out =
        absl::StrCat(JoinName(join.type), " join, step ", join.left, " with a table of step ",
                     join.right, "; on ", keys.empty() ? "no key" : absl::StrJoin(keys, " and "));
    if (join.condition) absl::StrAppend(&out, "; where ", Text(*join.condition, both));
    std::vector<std::string> gives;
    for (const uint32_t column : join.columns) gives.push_back(both[column]);
    return absl::StrCat(out, GivesText(step, gives));
  }
  absl::StatusOr<std::string> LineOf(const SortStep& sort, uint32_t step) const {
    std::string out = absl::StrCat(sort.keys.empty() ? "limit step " : "sort step ", sort.input);
    std::vector<std::string> keys;
    for (const SortKey& key : sort.keys) {
      keys.push_back(absl::StrCat(storage::FieldName(key.column), key.descending ? " desc" : "",
                                  key.nulls_first ? " nulls first" : ""));
    }
    if (!keys.empty()) absl::StrAppend(&out, "; by ", absl::StrJoin(keys, ", "));
    if (sort.offset > 0) absl::StrAppend(&out, "; without the first ", sort.offset, " rows");
    if (sort.count != storage::kAllRows) absl::StrAppend(&out, "; first ", sort.count, " rows");
    return absl::StrCat(out, GivesText(step, FieldsOf(sort.input)));
  }

  absl::StatusOr<std::string> LineOf(const UnionStep& all, uint32_t step) const {
    std::vector<std::string> inputs;
    for (const UnionStep::Input& input : all.inputs) {
      inputs.push_back(absl::StrCat("step ", input.step, " (", FieldNames(input.columns), ")"));
    }
    return absl::StrCat("union of ", absl::StrJoin(inputs, ", "), GivesText(step, FieldsOf(step)));
  }
  absl::StatusOr<std::string> LineOf(const ValuesStep& values, uint32_t step) const {
    return absl::StrCat("values, ", values.rows.size(), values.rows.size() == 1 ? " row" : " rows",
                        GivesText(step, FieldsOf(step)));
  }
  static std::string FieldNames(const std::vector<uint32_t>& fields) {
    return absl::StrJoin(fields, ", ", [](std::string* out, uint32_t field) {
      out->append(storage::FieldName(field));
    });
  }

  template <class Step>  // a scan or a map
  std::string QueryText(const Step& what, const Names& names, uint32_t step) const {
    const Query& query = what.query;
    std::string out;
    if (query.filter) absl::StrAppend(&out, "; where ", Text(*query.filter, names));
    Names compared, carried;
    for (size_t i = 0; i < query.group_by.size(); ++i) {
      ((what.carried >> i & 1) != 0 ? carried : compared).push_back(query.group_by[i]);
    }
    if (!compared.empty()) absl::StrAppend(&out, "; by ", absl::StrJoin(compared, ", "));
    if (!carried.empty()) absl::StrAppend(&out, ", carrying ", absl::StrJoin(carried, ", "));
    std::vector<std::string> gives = query.group_by;
    if (query.columns.empty() && query.aggregates.empty() && gives.empty()) gives = names;
    for (const NamedExpression& column : query.columns) {
      gives.push_back(Text(column.expression, names));
    }
    for (const AggregateColumn& aggregate : query.aggregates) {
      gives.push_back(absl::StrCat(AggregateFunctionName(aggregate.function), "(",
                                   aggregate.argument ? Text(*aggregate.argument, names) : "*",
                                   ")"));
    }
    return absl::StrCat(out, GivesText(step, gives));
  }
  // `what`: what each column is. Only the answer's columns have names that a plan gives.
  std::string GivesText(uint32_t step, const std::vector<std::string>& what) const {
    const bool last = step + 1 == steps_.size();
    std::string out = "; gives ";
    for (size_t i = 0; i < what.size(); ++i) {
      const std::string name =
          last ? steps_[step].schema.columns[i].name : storage::FieldName(static_cast<uint32_t>(i));
      absl::StrAppend(&out, i > 0 ? ", " : "", name);
      if (what[i] != name) absl::StrAppend(&out, " = ", what[i]);
    }
    return out;
  }

  Names FieldsOf(uint32_t step) const {
    Names names;
    for (uint32_t i = 0; i < steps_[step].schema.columns.size(); ++i) {
      names.push_back(storage::FieldName(i));
    }
    return names;
  }

  const std::vector<storage::QueryStep>& steps_;
  const storage::SchemaOf schema_of_;
  std::vector<std::vector<std::string>> targets_;  // by step
  std::vector<KeyFilterPlan> filters_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> StepLines(const storage::QuerySteps& steps,
                                                   storage::SchemaOf schema_of) {
  return Explainer(steps, schema_of).Run();
}

absl::StatusOr<std::string> ExplainSteps(const storage::QuerySteps& steps,
                                         storage::SchemaOf schema_of) {
  ERIS_ASSIGN_OR_RETURN(const std::vector<std::string> lines, StepLines(steps, schema_of));
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

}  // namespace eris::engine
