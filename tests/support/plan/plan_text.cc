#include "tests/support/plan/plan_text.h"

#include <cstdint>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace eris::test {
namespace {

using Kind = Expression::Kind;

std::string NameOf(Kind kind) {
  switch (kind) {
    case Kind::kBetween:
      return "between";
    case Kind::kIn:
      return "in";
    case Kind::kIsNull:
      return "is_null";
    case Kind::kNot:
      return "not";
    case Kind::kLike:
      return "like";
    case Kind::kDatePart:
      return "date_part";
    case Kind::kCase:
      return "case";
    case Kind::kCast:
      return "cast";
    case Kind::kSubstring:
      return "substring";
    default:
      return absl::StrCat("kind ", static_cast<int>(kind));
  }
}

std::string LiteralText(const Value& value) {
  const Cell cell = CellOf(value);
  const bool tells_type = cell.null || HasText(cell.type) || cell.type == CellType{};
  return tells_type ? CellText(cell) : absl::StrCat(CellText(cell), ":", TypeText(cell.type));
}

std::string FieldsText(const std::vector<uint32_t>& fields) {
  return absl::StrJoin(fields, ", ",
                       [](std::string* out, uint32_t field) { absl::StrAppend(out, "#", field); });
}

std::string MeasureText(const Measure& measure) {
  return absl::StrCat(AggregateFunctionName(measure.function), "(",
                      measure.distinct ? "distinct " : "",
                      measure.argument.has_value() ? TextOf(*measure.argument) : "*", ")");
}

struct NodeText {
  std::string operator()(const ReadNode& read) const {
    return absl::StrCat("read ", read.object, " [", FieldsText(read.columns), "]");
  }
  std::string operator()(const FilterNode& filter) const {
    return absl::StrCat("filter ", filter.input, " where ", TextOf(filter.condition));
  }
  std::string operator()(const ProjectNode& project) const {
    return absl::StrCat(
        "project ", project.input, " to ",
        absl::StrJoin(project.columns, ", ", [](std::string* out, const Expression& column) {
          absl::StrAppend(out, TextOf(column));
        }));
  }
  std::string operator()(const JoinNode& join) const {
    constexpr const char* kTypes[] = {"?", "inner", "left", "semi", "anti"};
    std::string text = absl::StrCat("join ", kTypes[static_cast<size_t>(join.type)], " of ",
                                    join.left, " and ", join.right);
    for (const JoinNode::Key& key : join.keys) {
      absl::StrAppend(&text, " on #", key.left, " = #", key.right);
    }
    if (join.condition.has_value()) absl::StrAppend(&text, " where ", TextOf(*join.condition));
    return text;
  }
  std::string operator()(const AggregateNode& aggregate) const {
    return absl::StrCat(
        "aggregate ", aggregate.input, " by [", FieldsText(aggregate.keys), "] to ",
        absl::StrJoin(aggregate.measures, ", ", [](std::string* out, const Measure& measure) {
          absl::StrAppend(out, MeasureText(measure));
        }));
  }
  std::string operator()(const SortNode& sort) const {
    std::string text = absl::StrCat("sort ", sort.input, " by");
    for (const SortKey& key : sort.keys) {
      absl::StrAppend(&text, " #", key.column, key.descending ? " descending" : "",
                      key.nulls_first ? " nulls first" : " nulls last");
    }
    return text;
  }
  std::string operator()(const LimitNode& limit) const {
    return absl::StrCat("limit ", limit.input, " to ", limit.count, " after ", limit.offset);
  }
  std::string operator()(const UnionNode& all) const {
    return absl::StrCat("union of ", absl::StrJoin(all.inputs, " and "));
  }
  std::string operator()(const ValuesNode& values) const {
    std::string text = "values";
    for (const std::vector<Value>& row : values.rows) {
      const char* before = " (";
      for (const Value& value : row) {
        absl::StrAppend(&text, before, LiteralText(value));
        before = ", ";
      }
      text += ")";
    }
    return text;
  }
};

std::string RowsText(const std::vector<Cells>& rows) {
  std::string text;
  for (const Cells& row : rows) absl::StrAppend(&text, "  ", CellsText(row), "\n");
  return text;
}

}  // namespace

std::string TextOf(const Expression& expression) {
  switch (expression.kind) {
    case Kind::kLiteral:
      return LiteralText(expression.value);
    case Kind::kColumn:
      return expression.column;
    case Kind::kField:
      return absl::StrCat("#", expression.number);
    case Kind::kSubquery:
      return absl::StrCat("subquery(", expression.number, ")");
    default:
      break;
  }
  const std::string between(OperatorText(expression.kind));
  std::vector<std::string> arguments;
  for (const Expression& one : expression.arguments) arguments.push_back(TextOf(one));
  if (!between.empty()) {
    return absl::StrCat("(", absl::StrJoin(arguments, absl::StrCat(" ", between, " ")), ")");
  }
  if (expression.kind == Kind::kCast) {
    arguments.push_back(TypeText({expression.type, expression.scale}));
  }
  return absl::StrCat(NameOf(expression.kind), "(", absl::StrJoin(arguments, ", "), ")");
}

std::string TextOf(const QueryPlan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    absl::StrAppend(&text, i, ": ", std::visit(NodeText{}, plan.nodes[i]), "\n");
  }
  return text;
}

std::string TextOf(const PlanTables& tables) {
  std::string text;
  for (const auto& [name, table] : tables) {
    absl::StrAppend(&text, name, ":");
    for (const CellType& type : TypesOf(table.schema)) absl::StrAppend(&text, " ", TypeText(type));
    absl::StrAppend(&text, "\n", RowsText(table.rows));
  }
  return text;
}

std::string TextOf(const PlanAnswer& answer) {
  if (answer.fails) return "an error\n";
  return absl::StrCat(answer.notes.determined ? "" : "not determined; ", answer.rows.size(),
                      " rows, of which ", answer.count, " after ", answer.offset, ":\n",
                      RowsText(answer.rows));
}

}  // namespace eris::test
