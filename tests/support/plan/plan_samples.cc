#include "tests/support/plan/plan_samples.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tests/support/plan/plan_interpreter.h"

namespace eris::test {
namespace {

using Kind = Expression::Kind;
using expressions::Field;
using expressions::Pair;
using expressions::Subquery;

// One of so many nodes that fail, or hand out no row, is kept.
constexpr uint64_t kKeptFailures = 12;
constexpr uint64_t kKeptEmpty = 8;
// Beyond so many nodes none is repeated.
constexpr size_t kRepeatedNodesMax = 40;

Expression NotNull(Expression value) {
  return expressions::operator!(expressions::IsNull(std::move(value)));
}

// With the nodes that they name so many places further on.
void Shift(Expression& expression, uint32_t shift) {
  if (expression.kind == Kind::kSubquery) expression.number += shift;
  for (Expression& argument : expression.arguments) Shift(argument, shift);
}
PlanNode Shifted(PlanNode node, uint32_t shift) {
  if (auto* const join = std::get_if<JoinNode>(&node)) {
    join->left += shift;
    join->right += shift;
    if (join->condition) Shift(*join->condition, shift);
  } else if (auto* const filter = std::get_if<FilterNode>(&node)) {
    filter->input += shift;
    Shift(filter->condition, shift);
  } else if (auto* const project = std::get_if<ProjectNode>(&node)) {
    project->input += shift;
    for (Expression& column : project->columns) Shift(column, shift);
  } else if (auto* const aggregate = std::get_if<AggregateNode>(&node)) {
    aggregate->input += shift;
    for (Measure& measure : aggregate->measures) {
      if (measure.argument) Shift(*measure.argument, shift);
    }
  } else if (auto* const sort = std::get_if<SortNode>(&node)) {
    sort->input += shift;
  } else if (auto* const limit = std::get_if<LimitNode>(&node)) {
    limit->input += shift;
  }
  return node;
}

}  // namespace

CellTypes PlanSamples::TypesOfNode(uint32_t node) const {
  const absl::StatusOr<std::vector<Schema>> schemas = SchemasOf(plan_, tables_);
  ERIS_CHECK(schemas.ok());
  return TypesOf((*schemas)[node]);
}

ExpressionScope PlanSamples::ScopeOf(CellTypes fields) const {
  ExpressionScope scope{.fields = std::move(fields)};
  const absl::StatusOr<std::vector<Schema>> schemas = SchemasOf(plan_, tables_);
  ERIS_CHECK(schemas.ok());
  for (const Schema& schema : *schemas) scope.nodes.push_back(TypesOf(schema));
  return scope;
}

bool PlanSamples::IsGood() {
  const absl::StatusOr<PlanAnswer> answer = Interpret(plan_, tables_);
  if (!answer.ok() || !answer->notes.determined) return false;
  if (answer->rows.size() > kSampleResultMax) return false;
  if (answer->fails) return OneIn(random_, kKeptFailures);
  const bool empty = answer->rows.size() <= answer->offset || answer->count == 0;
  return !empty || OneIn(random_, kKeptEmpty);
}

uint32_t PlanSamples::Add(PlanNode node, size_t size, uint32_t instead) {
  plan_.nodes.push_back(std::move(node));
  if (IsGood()) return static_cast<uint32_t>(plan_.nodes.size() - 1);
  plan_.nodes.resize(size);
  return instead;
}

uint32_t PlanSamples::Read() {
  auto table = tables_.begin();
  std::advance(table, Below(random_, tables_.size()));
  ReadNode read{.object = table->first};
  if (OneIn(random_, 3)) {
    const auto columns = static_cast<uint32_t>(table->second.schema.columns.size());
    for (uint32_t column = 0; column < columns; ++column) {
      if (OneIn(random_, 2)) read.columns.push_back(column);
    }
    if (OneIn(random_, 2)) std::reverse(read.columns.begin(), read.columns.end());
  }
  plan_.nodes.push_back(std::move(read));
  return static_cast<uint32_t>(plan_.nodes.size() - 1);
}

uint32_t PlanSamples::Values() {
  // Some columns, and values, of a table, so that joins find partners.
  auto table = tables_.begin();
  std::advance(table, Below(random_, tables_.size()));
  ValuesNode values;
  std::vector<CellType> types;
  for (ColumnSchema column : table->second.schema.columns) {
    if (!types.empty() && OneIn(random_, 2)) continue;
    column.nullable = OneIn(random_, 3);
    types.push_back({column.type, column.scale});
    values.columns.push_back(std::move(column));
  }
  values.rows.resize(OneIn(random_, 4) ? Below(random_, 200) : Below(random_, 4));
  for (std::vector<Value>& row : values.rows) {
    for (size_t i = 0; i < types.size(); ++i) {
      const bool null = values.columns[i].nullable && OneIn(random_, 4);
      row.push_back(null ? Value() : ValueOf(SampleCell(random_, types[i], Reach::kNear)));
    }
  }
  plan_.nodes.push_back(std::move(values));
  return static_cast<uint32_t>(plan_.nodes.size() - 1);
}

uint32_t PlanSamples::OneValue(int depth) {
  const size_t size = plan_.nodes.size();
  const uint32_t input = Node(depth - 1);
  if (OneIn(random_, 3)) {
    // Any number of rows, more than one included.
    const ExpressionScope scope = ScopeOf(TypesOfNode(input));
    ExpressionSamples expressions(random_, scope);
    const size_t kept = plan_.nodes.size();
    const uint32_t filter = Add(FilterNode{input, expressions.Condition(1)}, kept, input);
    const size_t before = plan_.nodes.size();
    return Add(ProjectNode{filter, {expressions.AnyValue(1)}}, before, filter);
  }
  plan_.nodes.push_back(AggregateOf(input, 0, 1));
  if (IsGood()) return static_cast<uint32_t>(plan_.nodes.size() - 1);
  plan_.nodes.resize(size);
  return Read();
}

uint32_t PlanSamples::Filter(int depth) {
  const uint32_t input = Node(depth - 1);
  const size_t size = plan_.nodes.size();
  const CellTypes types = TypesOfNode(input);
  uint32_t subquery = input;
  const bool compares = OneIn(random_, 4);
  if (compares) subquery = OneValue(depth - 1);
  const ExpressionScope scope = ScopeOf(types);
  ExpressionSamples expressions(random_, scope);
  Expression condition = SampleCondition(expressions, 2);
  if (compares) {
    constexpr Kind kKinds[] = {Kind::kEqual, Kind::kLess, Kind::kGreaterEqual, Kind::kNotEqual};
    const Kind kind = kKinds[Below(random_, std::size(kKinds))];
    Expression value = Field(static_cast<uint32_t>(Below(random_, types.size())));
    Expression comparison = Pair(kind, std::move(value), Subquery(subquery));
    if (OneIn(random_, 3)) {
      comparison = Pair(Kind::kOr, std::move(condition), std::move(comparison));
    }
    condition = std::move(comparison);
    // The types may not fit: then the value is asked for nulls.
    if (!BindCondition(condition, scope).ok()) condition = NotNull(Subquery(subquery));
    if (!BindCondition(condition, scope).ok()) {
      plan_.nodes.resize(size);
      return input;
    }
  }
  return Add(FilterNode{input, std::move(condition)}, size, input);
}

uint32_t PlanSamples::Project(int depth) { return ProjectOf(Node(depth - 1), depth); }

uint32_t PlanSamples::ProjectOf(uint32_t input, int depth) {
  const size_t size = plan_.nodes.size();
  const CellTypes types = TypesOfNode(input);
  uint32_t subquery = input;
  const bool has_subquery = OneIn(random_, 5);
  if (has_subquery) subquery = OneValue(depth - 1);
  const ExpressionScope scope = ScopeOf(types);
  ExpressionSamples expressions(random_, scope);
  ProjectNode project{.input = input};
  for (uint64_t columns = 1 + Below(random_, 4); columns > 0; --columns) {
    project.columns.push_back(expressions.AnyValue(3));
  }
  if (has_subquery) project.columns.push_back(Subquery(subquery));
  if (has_subquery && OneIn(random_, 2) && expressions.has_numbers()) {
    Expression sum = Pair(Kind::kAdd, expressions.Number(1), Subquery(subquery));
    if (BindValue(sum, scope).ok()) project.columns.back() = std::move(sum);
  }
  return Add(std::move(project), size, input);
}

uint32_t PlanSamples::Join(int depth) {
  const uint32_t left = Node(depth - 1);
  const size_t size = plan_.nodes.size();
  const bool repeats = size < kRepeatedNodesMax && OneIn(random_, 12);
  const uint32_t right = repeats ? Repeated(left) : OneIn(random_, 6) ? left : Node(depth - 1);
  return JoinOf(left, right, static_cast<JoinType>(1 + Below(random_, 4)), size);
}

uint32_t PlanSamples::JoinTree(int depth) {
  uint32_t tree = OneIn(random_, 3) ? Node(depth - 1) : Read();
  for (uint64_t inputs = 1 + Below(random_, 4); inputs > 0; --inputs) {
    const size_t size = plan_.nodes.size();
    const uint32_t input = OneIn(random_, 3) ? Node(std::min(depth - 1, 3)) : Read();
    const bool test = OneIn(random_, 3);
    const JoinType type = !test               ? JoinType::kInner
                          : OneIn(random_, 3) ? JoinType::kAnti
                                              : JoinType::kSemi;
    // The new input may also be the left side.
    const bool turned = !test && OneIn(random_, 4);
    tree = turned ? JoinOf(input, tree, type, plan_.nodes.size()) : JoinOf(tree, input, type, size);
    if (OneIn(random_, 5)) tree = SomeColumns(tree);
    if (!OneIn(random_, 5)) continue;
    const ExpressionScope scope = ScopeOf(TypesOfNode(tree));
    ExpressionSamples expressions(random_, scope);
    FilterNode filter{tree, SampleCondition(expressions, 1)};
    tree = Add(std::move(filter), plan_.nodes.size(), tree);
  }
  return tree;
}

uint32_t PlanSamples::SomeColumns(uint32_t input) {
  const uint64_t columns = TypesOfNode(input).size();
  ProjectNode project{.input = input};
  for (uint64_t i = 1 + Below(random_, columns); i > 0; --i) {
    project.columns.push_back(Field(static_cast<uint32_t>(Below(random_, columns))));
  }
  return Add(std::move(project), plan_.nodes.size(), input);
}

uint32_t PlanSamples::Repeated(uint32_t node) {
  const auto shift = static_cast<uint32_t>(plan_.nodes.size());
  for (uint32_t i = 0; i <= node; ++i) plan_.nodes.push_back(Shifted(plan_.nodes[i], shift));
  // Sometimes nearly the same: with a join of another type that hands out the same columns.
  auto* const join = std::get_if<JoinNode>(&plan_.nodes.back());
  if (join == nullptr || OneIn(random_, 2)) return node + shift;
  constexpr JoinType kOther[] = {JoinType::kLeft, JoinType::kInner, JoinType::kAnti,
                                 JoinType::kSemi};
  join->type = kOther[static_cast<size_t>(join->type) - 1];
  if (IsGood()) return node + shift;
  plan_.nodes.resize(shift);
  return node;
}

Expression PlanSamples::SampleCondition(ExpressionSamples& expressions, int depth) {
  if (!OneIn(random_, 3)) return expressions.Condition(depth);
  const Expression common = expressions.Condition(0);
  std::vector<Expression> alternatives;
  for (uint64_t i = 2 + Below(random_, 2); i > 0; --i) {
    std::vector<Expression> parts = {expressions.Condition(0), expressions.Condition(0)};
    if (!OneIn(random_, 6)) parts[Below(random_, 2)] = common;
    alternatives.push_back(expressions::Of(Kind::kAnd, std::move(parts)));
  }
  return expressions::Of(Kind::kOr, std::move(alternatives));
}

uint32_t PlanSamples::JoinOf(uint32_t left, uint32_t right, JoinType type, size_t size) {
  const CellTypes left_types = TypesOfNode(left);
  CellTypes right_types = TypesOfNode(right);
  JoinNode join{.left = left, .type = type};
  std::vector<JoinNode::Key> pairs;
  for (uint32_t l = 0; l < left_types.size(); ++l) {
    for (uint32_t r = 0; r < right_types.size(); ++r) {
      const bool numbers = IsNumber(left_types[l]) && IsNumber(right_types[r]);
      if (numbers || left_types[l].type == right_types[r].type) pairs.push_back({l, r});
    }
  }
  if (pairs.empty() || OneIn(random_, 10)) {
    if (!OneIn(random_, 10)) {
      plan_.nodes.push_back(AggregateOf(right, 0, 1));
      right = static_cast<uint32_t>(plan_.nodes.size() - 1);
      right_types = TypesOfNode(right);
    }
  } else {
    for (uint64_t keys = OneIn(random_, 4) ? 2 : 1; keys > 0; --keys) {
      join.keys.push_back(pairs[Below(random_, pairs.size())]);
    }
  }
  join.right = right;
  if (OneIn(random_, 3)) {
    const ExpressionScope scope = ScopeOf(Together(left_types, right_types));
    ExpressionSamples expressions(random_, scope);
    join.condition = SampleCondition(expressions, 1);
  }
  return Add(std::move(join), size, left);
}

// The same node twice, or another one with columns of the same types, or numbers cast to
// them.
uint32_t PlanSamples::Union(int depth) {
  const uint32_t left = Node(depth - 1);
  const size_t size = plan_.nodes.size();
  UnionNode all{.inputs = {left}};
  if (OneIn(random_, 5)) all.inputs.push_back(left);
  for (uint64_t more = all.inputs.size() > 1 ? Below(random_, 2) : 1 + Below(random_, 2); more > 0;
       --more) {
    const uint32_t right = Node(depth - 1);
    const CellTypes types = TypesOfNode(right);
    ProjectNode project{.input = right};
    for (const CellType& type : TypesOfNode(left)) {
      const auto column = static_cast<uint32_t>(Below(random_, types.size()));
      const bool numbers = IsNumber(type) && IsNumber(types[column]);
      Expression value =
          types[column] == type ? Field(column)
          : numbers             ? expressions::Cast(Field(column), type.type, type.scale)
                    : expressions::Cast(expressions::Literal(Value()), type.type, type.scale);
      project.columns.push_back(std::move(value));
    }
    const uint32_t projected = Add(std::move(project), plan_.nodes.size(), left);
    all.inputs.push_back(projected);
  }
  return Add(std::move(all), size, left);
}

Measure PlanSamples::SampleMeasure(ExpressionSamples& expressions, const CellTypes& types) {
  Measure measure;
  if (OneIn(random_, 5)) return measure;
  measure.function = static_cast<AggregateFunction>(1 + Below(random_, 6));
  measure.distinct = OneIn(random_, 4);
  const bool sums = measure.function == AggregateFunction::kSum ||
                    measure.function == AggregateFunction::kAverage ||
                    measure.function == AggregateFunction::kMedian;
  if (expressions.has_numbers() && (sums || OneIn(random_, 3))) {
    measure.argument = expressions.Number(2);
    return measure;
  }
  const auto column = static_cast<uint32_t>(Below(random_, types.size()));
  if (sums) measure.function = AggregateFunction::kCount;
  measure.argument = Field(column);
  return measure;
}

AggregateNode PlanSamples::AggregateOf(uint32_t input, uint64_t keys, uint64_t measures) {
  const CellTypes types = TypesOfNode(input);
  const ExpressionScope scope = ScopeOf(types);
  ExpressionSamples expressions(random_, scope);
  AggregateNode aggregate{.input = input};
  for (; keys > 0; --keys) {
    const auto key = static_cast<uint32_t>(Below(random_, types.size()));
    const auto found = std::find(aggregate.keys.begin(), aggregate.keys.end(), key);
    if (found == aggregate.keys.end()) aggregate.keys.push_back(key);
  }
  for (; measures > 0; --measures) {
    aggregate.measures.push_back(SampleMeasure(expressions, types));
    if (aggregate.measures.size() == 1 || !OneIn(random_, 4)) continue;
    Measure& last = aggregate.measures.back();
    last.distinct = last.argument.has_value();  // often next to one of another argument
  }
  return aggregate;
}

uint32_t PlanSamples::Aggregate(int depth) {
  const uint32_t input = Node(depth - 1);
  const size_t size = plan_.nodes.size();
  const uint64_t keys = Below(random_, 4);
  const uint64_t measures = keys > 0 ? Below(random_, 4) : 1 + Below(random_, 3);
  return Add(AggregateOf(input, keys, measures), size, input);
}

SortKey PlanSamples::SampleSortKey(uint32_t column) {
  SortKey key{.column = column};
  key.descending = OneIn(random_, 2);
  key.nulls_first = OneIn(random_, 2);
  return key;
}

uint32_t PlanSamples::SortedByAny(uint32_t input) {
  const size_t size = plan_.nodes.size();
  const size_t columns = TypesOfNode(input).size();
  SortNode sort{.input = input};
  for (uint64_t keys = 1 + Below(random_, 3); keys > 0; --keys) {
    sort.keys.push_back(SampleSortKey(static_cast<uint32_t>(Below(random_, columns))));
  }
  return Add(std::move(sort), size, input);
}

// With a sort by all columns, so that only equal rows are tied.
uint32_t PlanSamples::TopRows(int depth) {
  const uint32_t input = Node(depth - 1);
  const size_t size = plan_.nodes.size();
  SortNode sort{.input = input};
  const auto columns = static_cast<uint32_t>(TypesOfNode(input).size());
  const auto shift = static_cast<uint32_t>(Below(random_, columns));
  for (uint32_t i = 0; i < columns; ++i) sort.keys.push_back(SampleSortKey((i + shift) % columns));
  const uint32_t sorted = Add(std::move(sort), size, input);
  if (sorted == input) return input;
  LimitNode limit{.input = OneIn(random_, 3) ? ProjectOf(sorted, depth) : sorted};
  limit.offset = OneIn(random_, 2) ? 0 : Below(random_, 6);
  limit.count = Below(random_, 12);
  return Add(limit, size, input);
}

uint32_t PlanSamples::Node(int depth) {
  if (!plan_.nodes.empty() && OneIn(random_, 7)) {
    const auto shared = static_cast<uint32_t>(Below(random_, plan_.nodes.size()));
    // What a limit without an order leaves is only for the end of a plan.
    if (!std::holds_alternative<LimitNode>(plan_.nodes[shared])) {
      const bool repeats = plan_.nodes.size() < kRepeatedNodesMax && OneIn(random_, 3);
      return repeats ? Repeated(shared) : shared;
    }
  }
  if (OneIn(random_, 12)) return Values();
  if (depth <= 1) return Read();
  switch (Below(random_, 13)) {
    case 0:
      return Read();
    case 1:
    case 2:
      return Filter(depth);
    case 3:
      return Project(depth);
    case 4:
    case 5:
    case 6:
      return Join(depth);
    case 7:
    case 8:
      return Aggregate(depth);
    case 9:
    case 10:
      return JoinTree(depth);
    case 11:
      return Union(depth);
    default:
      return TopRows(depth);
  }
}

QueryPlan PlanSamples::Plan() {
  plan_ = {};
  uint32_t last = Node(2 + static_cast<int>(Below(random_, kSampleDepthMax - 1)));
  if (OneIn(random_, 3)) {
    const uint32_t sorted = SortedByAny(last);
    last = sorted != last && OneIn(random_, 2) ? ProjectOf(sorted, 1) : sorted;
  }
  for (uint64_t limits = OneIn(random_, 3) ? 1 + Below(random_, 2) : 0; limits > 0; --limits) {
    LimitNode limit{.input = last};
    limit.offset = OneIn(random_, 2) ? 0 : Below(random_, 8);
    limit.count = Below(random_, 20);
    last = Add(limit, plan_.nodes.size(), last);
    if (OneIn(random_, 4)) last = ProjectOf(last, 1);
  }
  // The last node is the answer.
  plan_.nodes.resize(last + 1);
  return std::move(plan_);
}

}  // namespace eris::test
