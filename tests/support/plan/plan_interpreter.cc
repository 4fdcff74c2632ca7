#include "tests/support/plan/plan_interpreter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "tests/support/plan/relation.h"

namespace eris::test {
namespace {

using Code = absl::StatusCode;

bool SameTypes(const CellTypes& ours, const CellTypes& given) {
  const auto same = [](CellType a, CellType b) {
    if (a.type == ColumnType::kInt32) a.type = ColumnType::kInt64;
    if (b.type == ColumnType::kInt32) b.type = ColumnType::kInt64;
    return a == b;
  };
  return std::equal(ours.begin(), ours.end(), given.begin(), given.end(), same);
}

// Whether an engine that computes the expression for other rows may meet OutOfRange.
bool MayOverflow(const BoundExpression& expression) {
  using Kind = Expression::Kind;
  const Kind kind = expression.kind;
  const bool exact = IsNumber(expression.type) && !IsReal(expression.type);
  const bool computes = kind == Kind::kAdd || kind == Kind::kSubtract || kind == Kind::kMultiply ||
                        kind == Kind::kQuotient || kind == Kind::kRemainder ||
                        kind == Kind::kCase || kind == Kind::kCast;
  if (computes && exact && !expression.condition) return true;
  return std::any_of(expression.arguments.begin(), expression.arguments.end(), MayOverflow);
}

void CollectSubqueries(const BoundExpression& expression, std::vector<uint32_t>& nodes) {
  if (expression.kind == Expression::Kind::kSubquery) nodes.push_back(expression.number);
  for (const BoundExpression& one : expression.arguments) CollectSubqueries(one, nodes);
}

class Interpreter {
 public:
  Interpreter(const QueryPlan& plan, const PlanTables& tables, std::vector<CellTypes> types,
              PlanFault fault)
      : plan_(plan),
        tables_(tables),
        types_(std::move(types)),
        fault_(fault),
        relations_(plan.nodes.size()),
        values_(notes_, fault, [this](uint32_t node) { return SubqueryCell(node); }) {}

  const Relation& RowsOf(uint32_t node) {
    static const Relation kNothing;
    if (relations_[node].has_value()) {
      return fault_ == PlanFault::kSharedNodeOnce ? kNothing : *relations_[node];
    }
    Relation rows =
        std::visit([&](const auto& one) { return Computed(node, one); }, plan_.nodes[node]);
    for (PlanRow& row : rows.rows) {
      for (size_t i = 0; i < row.cells.size(); ++i) row.cells[i].type = types_[node][i];
    }
    relations_[node] = std::move(rows);
    return *relations_[node];
  }

  PlanNotes& notes() { return notes_; }

 private:
  Cell SubqueryCell(uint32_t node) {
    const CellType type = types_[node][0];
    if (const auto found = subqueries_.find(node); found != subqueries_.end()) return found->second;
    const Relation& relation = RowsOf(node);
    Cell cell = NullCell(type);
    size_t sure = 0;
    Code error = relation.error;
    for (const PlanRow& row : relation.rows) {
      sure += row.error == Code::kOk;
      if (row.error != Code::kOk) error = row.error;
    }
    if (sure > 1) {
      error = Code::kInvalidArgument;
      notes_.possible.insert(error);
    }
    if (error != Code::kOk) {
      cell = FailedCell(type, error);
    } else if (sure == 1) {
      cell = relation.rows[0].cells[0];
    }
    subqueries_.emplace(node, cell);
    return cell;
  }

  // An engine may compute subqueries and fail before it looks whether there is a row that needs
  // them.
  BoundExpression Ready(absl::StatusOr<BoundExpression> bound) {
    ERIS_CHECK(bound.ok());
    std::vector<uint32_t> subqueries;
    CollectSubqueries(*bound, subqueries);
    for (const uint32_t subquery : subqueries) SubqueryCell(subquery);
    if (MayOverflow(*bound)) notes_.out_of_order.insert(Code::kOutOfRange);
    return *std::move(bound);
  }
  ExpressionScope ScopeOf(uint32_t node, CellTypes fields) const {
    return {std::move(fields), {types_.begin(), types_.begin() + node}};
  }

  Relation Computed(uint32_t, const ReadNode& read) {
    const PlanTable& table = tables_.at(read.object);
    Relation out;
    for (const Cells& row : table.rows) {
      ERIS_CHECK(row.size() == table.schema.columns.size());
      PlanRow& copy = out.rows.emplace_back();
      if (read.columns.empty()) copy.cells = row;
      for (const uint32_t column : read.columns) copy.cells.push_back(row[column]);
    }
    return out;
  }

  Relation Computed(uint32_t node, const FilterNode& filter) {
    const Relation& input = RowsOf(filter.input);
    const BoundExpression condition =
        Ready(BindCondition(filter.condition, ScopeOf(node, types_[filter.input])));
    Relation out{.rows = {}, .error = input.error, .order = {}};
    for (const PlanRow& row : input.rows) {
      const Verdict verdict = values_.Holds(condition, row.cells);
      if (!verdict.failed() && !verdict.IsTrue()) continue;
      out.rows.push_back(row);
      if (verdict.failed()) out.rows.back().error = verdict.error;
    }
    return out;
  }

  Relation Computed(uint32_t node, const ProjectNode& project) {
    const Relation& input = RowsOf(project.input);
    const ExpressionScope scope = ScopeOf(node, types_[project.input]);
    std::vector<BoundExpression> columns;
    for (const Expression& one : project.columns) columns.push_back(Ready(BindValue(one, scope)));
    Relation out{.rows = {}, .error = input.error, .order = input.order};
    for (const PlanRow& row : input.rows) {
      PlanRow computed{.cells = {}, .keys = row.keys, .error = row.error};
      for (const BoundExpression& one : columns) {
        computed.cells.push_back(values_.Of(one, row.cells));
      }
      out.rows.push_back(std::move(computed));
    }
    if (fault_ == PlanFault::kProjectionTurnsRows) std::reverse(out.rows.begin(), out.rows.end());
    return out;
  }

  // Whether two rows are partners.
  Verdict Partners(const JoinNode& join, const std::optional<BoundExpression>& condition,
                   const PlanRow& left, const PlanRow& right) {
    using Truth = Verdict::Truth;
    Verdict failed{Truth::kTrue, Code::kOk};
    for (const JoinNode::Key& key : join.keys) {
      const Cell& a = left.cells[key.left];
      const Cell& b = right.cells[key.right];
      Verdict verdict = values_.Equal(a, b);
      if (fault_ == PlanFault::kNullKeysJoin && a.null && b.null) verdict = {Truth::kTrue};
      if (fault_ == PlanFault::kNanKeysJoin && std::isnan(a.real) && std::isnan(b.real)) {
        verdict = {Truth::kTrue};
      }
      if (!verdict.failed() && !verdict.IsTrue()) return {Truth::kFalse};
      if (verdict.failed()) failed = verdict;
      if (fault_ == PlanFault::kFirstKeyAlone) break;
    }
    const bool ignored = fault_ == PlanFault::kAntiIgnoresResidual && join.type == JoinType::kAnti;
    if (condition.has_value() && !ignored) {
      Cells both = left.cells;
      both.insert(both.end(), right.cells.begin(), right.cells.end());
      const Verdict verdict = values_.Holds(*condition, both);
      if (!verdict.failed() && !verdict.IsTrue()) return {Truth::kFalse};
      if (verdict.failed()) failed = verdict;
    }
    if (right.error != Code::kOk) failed.error = right.error;
    return failed;
  }

  Relation Computed(uint32_t node, const JoinNode& join) {
    const Relation& left = RowsOf(join.left);
    const Relation& right = RowsOf(join.right);
    std::optional<BoundExpression> condition;
    if (join.condition.has_value()) {
      const CellTypes both = Together(types_[join.left], types_[join.right]);
      condition = Ready(BindCondition(*join.condition, ScopeOf(node, both)));
    }
    const bool many = join.keys.empty() && right.rows.size() > 1;
    if (many) notes_.possible.insert(Code::kInvalidArgument);
    Relation out;
    if (!left.failed() && left.rows.empty()) return out;
    const bool needs_both = join.type == JoinType::kInner || join.type == JoinType::kSemi;
    if (needs_both && !right.failed() && right.rows.empty()) return out;
    out.error = left.failed() ? left.error : right.error;
    if (many && !out.failed()) out.error = Code::kInvalidArgument;
    if (out.failed()) return out;
    for (const PlanRow& row : left.rows) {
      JoinRow(join, condition, row, right, CellTypesOfRight(node, join), out);
    }
    return out;
  }

  CellTypes CellTypesOfRight(uint32_t node, const JoinNode& join) const {
    return {types_[node].begin() +
                static_cast<int64_t>(std::min(types_[join.left].size(), types_[node].size())),
            types_[node].end()};
  }

  // What the join hands out for one row of `left`.
  void JoinRow(const JoinNode& join, const std::optional<BoundExpression>& condition,
               const PlanRow& row, const Relation& right, const CellTypes& right_types,
               Relation& out) {
    const bool pairs = join.type == JoinType::kInner || join.type == JoinType::kLeft;
    size_t partners = 0;
    Code doubt = Code::kOk;
    for (const PlanRow& other : right.rows) {
      const Verdict verdict = Partners(join, condition, row, other);
      if (!verdict.failed() && !verdict.IsTrue()) continue;
      if (verdict.failed()) {
        doubt = verdict.error;
      } else {
        ++partners;
      }
      if (pairs) {
        PlanRow pair = row;
        pair.cells.insert(pair.cells.end(), other.cells.begin(), other.cells.end());
        if (verdict.failed()) pair.error = verdict.error;
        out.rows.push_back(std::move(pair));
      }
    }
    PlanRow single = row;
    if (partners == 0 && doubt != Code::kOk) single.error = doubt;
    if (pairs) {
      if (join.type != JoinType::kLeft || partners > 0) return;
      if (fault_ == PlanFault::kOuterRowsDropped) return;
      for (const CellType& type : right_types) {
        single.cells.push_back(doubt == Code::kOk ? NullCell(type) : FailedCell(type, doubt));
      }
      out.rows.push_back(std::move(single));
      return;
    }
    const bool anti = join.type == JoinType::kAnti;
    const bool kept = anti ? partners == 0 : partners > 0 || doubt != Code::kOk;
    const bool repeats = fault_ == PlanFault::kSemiJoinRepeats && !anti;
    for (size_t i = 0; kept && i < (repeats ? std::max<size_t>(partners, 1) : 1); ++i) {
      out.rows.push_back(single);
    }
  }

  Relation Computed(uint32_t node, const AggregateNode& aggregate) {
    const Relation& input = RowsOf(aggregate.input);
    const ExpressionScope scope = ScopeOf(node, types_[aggregate.input]);
    std::vector<BoundExpression> bound(aggregate.measures.size());
    std::vector<const BoundExpression*> arguments;
    for (size_t i = 0; i < bound.size(); ++i) {
      const auto& argument = aggregate.measures[i].argument;
      if (argument.has_value()) bound[i] = Ready(BindValue(*argument, scope));
      arguments.push_back(argument.has_value() ? &bound[i] : nullptr);
    }
    return Aggregated({aggregate, input, arguments, types_[node]}, values_, notes_, fault_);
  }

  Relation Computed(uint32_t node, const ValuesNode& values) {
    Relation out;
    for (const std::vector<Value>& row : values.rows) {
      PlanRow& made = out.rows.emplace_back();
      for (size_t i = 0; i < row.size(); ++i) {
        made.cells.push_back(CellOf(row[i], types_[node][i]));
      }
    }
    return out;
  }

  Relation Computed(uint32_t, const UnionNode& all) {
    Relation out;
    for (const uint32_t input : all.inputs) {
      const Relation& rows = RowsOf(input);
      if (rows.failed()) out.error = rows.error;
      for (const PlanRow& row : rows.rows) {
        const auto same = [&](const PlanRow& one) { return SameCells(one.cells, row.cells); };
        const bool dropped = fault_ == PlanFault::kUnionIsASet &&
                             std::any_of(out.rows.begin(), out.rows.end(), same);
        if (!dropped) out.rows.push_back(row);
      }
    }
    return out;
  }

  Relation Computed(uint32_t, const SortNode& sort) {
    return Sorted(RowsOf(sort.input), sort.keys, fault_);
  }
  Relation Computed(uint32_t, const LimitNode& limit) {
    return Limited(RowsOf(limit.input), limit.offset, limit.count, notes_, fault_);
  }

  const QueryPlan& plan_;
  const PlanTables& tables_;
  const std::vector<CellTypes> types_;
  const PlanFault fault_;
  PlanNotes notes_;
  std::vector<std::optional<Relation>> relations_;
  std::map<uint32_t, Cell> subqueries_;
  ExpressionValue values_;
};

// The rows of a relation, or that they cannot be known.
void TakeRows(const Relation& relation, PlanAnswer& answer) {
  answer.fails = relation.failed();
  for (const PlanRow& row : relation.rows) {
    answer.fails |= row.error != Code::kOk;
    for (const Cell& cell : row.cells) answer.fails |= cell.failed();
    answer.rows.push_back(row.cells);
  }
  if (answer.fails) answer.rows.clear();
}

// Whether it depends on the engine what the limits at the end take: the order of the rows is not
// exact, or some of the rows cannot be computed.
bool CutsWhatIsNotExact(const Relation& relation, const PlanAnswer& answer) {
  if (answer.offset == 0 && answer.count >= relation.rows.size()) return false;
  for (const PlanRow& row : relation.rows) {
    if (row.error != Code::kOk) return true;
    for (const Cell& cell : row.cells) {
      if (cell.failed()) return true;
    }
  }
  return !OrderIsExact(relation);
}

// The end of a plan: what its limits take together, and the nodes below them.
struct PlanEnd {
  uint64_t offset = 0;
  uint64_t count = std::numeric_limits<uint64_t>::max();
  uint32_t below = 0;                   // the node whose rows they take, a sort if there is one
  std::vector<uint32_t> projections{};  // above that sort, the last one first
  // The sort keys as columns of the answer. Empty: there is no sort, or one of them is no column.
  std::vector<SortKey> order{};

  void Add(const LimitNode& limit) {
    // What is above so far takes from what this one leaves.
    count = std::min(count, limit.count - std::min(limit.count, offset));
    const uint64_t most = std::numeric_limits<uint64_t>::max();
    offset = limit.offset > most - offset ? most : limit.offset + offset;
  }
};

// The column of the answer that is column `number` of the sort below the projections.
std::optional<uint32_t> ColumnOfAnswer(const QueryPlan& plan, const PlanEnd& end, uint32_t number) {
  for (auto at = end.projections.rbegin(); at != end.projections.rend(); ++at) {
    const auto& columns = std::get<ProjectNode>(plan.nodes[*at]).columns;
    const auto found = std::find(columns.begin(), columns.end(), expressions::Field(number));
    if (found == columns.end()) return std::nullopt;
    number = static_cast<uint32_t>(found - columns.begin());
  }
  return number;
}

PlanEnd EndOf(const QueryPlan& plan) {
  PlanEnd limits{.below = static_cast<uint32_t>(plan.nodes.size() - 1)};
  while (const auto* const limit = std::get_if<LimitNode>(&plan.nodes[limits.below])) {
    limits.Add(*limit);
    limits.below = limit->input;
  }
  PlanEnd end = limits;
  for (;;) {
    const PlanNode& node = plan.nodes[end.below];
    if (const auto* const limit = std::get_if<LimitNode>(&node)) {
      end.Add(*limit);
      end.below = limit->input;
    } else if (const auto* const project = std::get_if<ProjectNode>(&node)) {
      end.projections.push_back(end.below);
      end.below = project->input;
    } else {
      break;
    }
  }
  const auto* const sort = std::get_if<SortNode>(&plan.nodes[end.below]);
  if (sort == nullptr) return limits;
  for (SortKey key : sort->keys) {
    const std::optional<uint32_t> column = ColumnOfAnswer(plan, end, key.column);
    if (!column.has_value()) {
      end.order.clear();
      break;
    }
    key.column = *column;
    end.order.push_back(key);
  }
  return end;
}

// Says of each row how many rows with smaller keys there are, if the order is exact.
void TakeRanks(const Relation& relation, PlanAnswer& answer) {
  if (relation.order.empty() || !OrderIsExact(relation)) return;
  const auto& rows = relation.rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool tied = i > 0 && CompareSorted(rows[i - 1].keys, rows[i].keys, relation.order) == 0;
    answer.ranks.push_back(tied ? answer.ranks.back() : i);
  }
}

}  // namespace

absl::StatusOr<PlanAnswer> Interpret(const QueryPlan& plan, const PlanTables& tables,
                                     const std::vector<Schema>& schemas) {
  if (plan.nodes.empty()) return absl::InvalidArgumentError("a plan has no node");
  ERIS_CHECK(schemas.size() == plan.nodes.size());
  std::vector<CellTypes> types;
  for (const Schema& schema : schemas) types.push_back(TypesOf(schema));
  for (uint32_t node = 0; node < types.size(); ++node) {
    ERIS_ASSIGN_OR_RETURN(const CellTypes ours, NodeTypes(plan, node, types, tables));
    if (SameTypes(ours, types[node])) continue;
    return absl::InternalError(
        absl::StrCat("node ", node, " has types other than the headers say"));
  }
  PlanEnd end = EndOf(plan);
  PlanAnswer answer{
      .types = types.back(), .order = end.order, .offset = end.offset, .count = end.count};
  // The projections above the sort once more, without limits between them.
  QueryPlan unlimited = plan;
  uint32_t last = end.below;
  for (auto at = end.projections.rbegin(); at != end.projections.rend(); ++at) {
    ProjectNode project = std::get<ProjectNode>(plan.nodes[*at]);
    project.input = std::exchange(last, static_cast<uint32_t>(unlimited.nodes.size()));
    unlimited.nodes.push_back(std::move(project));
    types.push_back(types[*at]);
  }
  Interpreter interpreter(unlimited, tables, std::move(types), PlanFault::kNone);
  const Relation& relation = interpreter.RowsOf(last);
  if (answer.count > 0) {
    TakeRows(relation, answer);
    if (!answer.fails) TakeRanks(relation, answer);
  }
  answer.notes = interpreter.notes();
  if (!relation.failed() && CutsWhatIsNotExact(relation, answer)) {
    answer.fails = false;
    answer.notes.determined = false;
  }
  return answer;
}

absl::StatusOr<PlanAnswer> Interpret(const QueryPlan& plan, const PlanTables& tables) {
  ERIS_ASSIGN_OR_RETURN(const std::vector<Schema> schemas, SchemasOf(plan, tables));
  return Interpret(plan, tables, schemas);
}

absl::StatusOr<std::vector<Cells>> RunWithFault(const QueryPlan& plan, const PlanTables& tables,
                                                PlanFault fault) {
  if (plan.nodes.empty()) return absl::InvalidArgumentError("a plan has no node");
  ERIS_ASSIGN_OR_RETURN(const std::vector<Schema> schemas, SchemasOf(plan, tables));
  std::vector<CellTypes> types;
  for (const Schema& schema : schemas) types.push_back(TypesOf(schema));
  Interpreter interpreter(plan, tables, std::move(types), fault);
  PlanAnswer answer;
  TakeRows(interpreter.RowsOf(static_cast<uint32_t>(plan.nodes.size() - 1)), answer);
  if (!answer.fails) return answer.rows;
  const auto& possible = interpreter.notes().possible;
  return absl::Status(possible.empty() ? Code::kInternal : *possible.begin(), "failed");
}

}  // namespace eris::test
