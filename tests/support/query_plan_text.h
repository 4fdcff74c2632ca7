// A QueryPlan as text, one line a node, for tests that compare plans:
//   0: read lineitem [4 10]
//   1: filter 0 (<= #1 date:10471)
//   2: aggregate 1 keys [] measures [sum(#0)]
// Columns are numbers behind a #, values of other nodes behind a $.
#ifndef ERIS_TESTS_SUPPORT_QUERY_PLAN_TEXT_H_
#define ERIS_TESTS_SUPPORT_QUERY_PLAN_TEXT_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eris/query_plan.h"

namespace eris::test {

inline std::string TextOfValue(const Value& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(int64_t number) const { return absl::StrCat(number); }
    std::string operator()(uint64_t number) const { return absl::StrCat(number, "u"); }
    std::string operator()(double number) const { return absl::StrCat("double:", number); }
    std::string operator()(const Decimal& decimal) const {
      return absl::StrCat(decimal.unscaled, "e-", int{decimal.scale});
    }
    std::string operator()(const Date& date) const { return absl::StrCat("date:", date.days); }
    std::string operator()(const Timestamp& time) const { return absl::StrCat("us:", time.micros); }
    std::string operator()(const std::string& text) const { return absl::StrCat("'", text, "'"); }
    std::string operator()(const Bytes& bytes) const {
      return absl::StrCat("bytes:", absl::BytesToHexString(bytes.bytes));
    }
    std::string operator()(const WideDecimal& wide) const {
      return absl::StrCat("wide:", wide.unscaled.high, ":", wide.unscaled.low, "e-",
                          int{wide.scale});
    }
  };
  return std::visit(Visitor{}, value);
}

inline std::string NameOfKind(Expression::Kind kind) {
  switch (kind) {
    case Expression::Kind::kBetween:
      return "between";
    case Expression::Kind::kIn:
      return "in";
    case Expression::Kind::kIsNull:
      return "is_null";
    case Expression::Kind::kNot:
      return "not";
    case Expression::Kind::kLike:
      return "like";
    case Expression::Kind::kDatePart:
      return "part";
    case Expression::Kind::kCase:
      return "case";
    case Expression::Kind::kSubstring:
      return "substring";
    default:
      return std::string(OperatorText(kind));
  }
}

inline std::string TextOf(const Expression& expression) {
  switch (expression.kind) {
    case Expression::Kind::kLiteral:
      return TextOfValue(expression.value);
    case Expression::Kind::kColumn:
      return expression.column;
    case Expression::Kind::kField:
      return absl::StrCat("#", expression.number);
    case Expression::Kind::kSubquery:
      return absl::StrCat("$", expression.number);
    default:
      break;
  }
  std::string text = absl::StrCat("(", NameOfKind(expression.kind));
  if (expression.kind == Expression::Kind::kCast) {
    absl::StrAppend(&text, "cast:", ColumnTypeName(expression.type), ":", int{expression.scale});
  }
  for (const Expression& argument : expression.arguments) {
    absl::StrAppend(&text, " ", TextOf(argument));
  }
  return text + ")";
}

inline std::string TextOf(const Measure& measure) {
  return absl::StrCat(std::string(AggregateFunctionName(measure.function)), "(",
                      measure.distinct ? "distinct " : "",
                      measure.argument ? TextOf(*measure.argument) : "", ")");
}

struct PlanNodeText {
  template <class T>
  static std::string List(const std::vector<T>& items, auto text) {
    return absl::StrCat(
        "[",
        absl::StrJoin(items, " ", [&](std::string* out, const T& item) { *out += text(item); }),
        "]");
  }
  static std::string Number(uint32_t number) { return absl::StrCat(number); }

  std::string operator()(const ReadNode& node) const {
    return absl::StrCat("read ", node.object, " ", List(node.columns, Number));
  }
  std::string operator()(const FilterNode& node) const {
    return absl::StrCat("filter ", node.input, " ", TextOf(node.condition));
  }
  std::string operator()(const ProjectNode& node) const {
    return absl::StrCat("project ", node.input, " ",
                        List(node.columns, [](const Expression& e) { return TextOf(e); }));
  }
  std::string operator()(const JoinNode& node) const {
    constexpr const char* kTypes[] = {"?", "inner", "left", "semi", "anti"};
    const auto key = [](const JoinNode::Key& k) { return absl::StrCat(k.left, "=", k.right); };
    return absl::StrCat("join ", kTypes[static_cast<size_t>(node.type)], " ", node.left, " ",
                        node.right, " ", List(node.keys, key),
                        node.condition ? " " + TextOf(*node.condition) : "");
  }
  std::string operator()(const AggregateNode& node) const {
    return absl::StrCat("aggregate ", node.input, " keys ", List(node.keys, Number), " measures ",
                        List(node.measures, [](const Measure& m) { return TextOf(m); }));
  }
  std::string operator()(const SortNode& node) const {
    const auto key = [](const SortKey& k) {
      return absl::StrCat(k.column, k.descending ? " desc" : "", k.nulls_first ? " first" : "");
    };
    return absl::StrCat("sort ", node.input, " ", List(node.keys, key));
  }
  std::string operator()(const LimitNode& node) const {
    return absl::StrCat("limit ", node.input, " ", node.offset, " ", node.count);
  }
  std::string operator()(const UnionNode& node) const {
    return absl::StrCat("union ", List(node.inputs, Number));
  }
  std::string operator()(const ValuesNode& node) const {
    const auto column = [](const ColumnSchema& c) {
      return absl::StrCat(ColumnTypeName(c.type), ":", int{c.scale}, c.nullable ? "?" : "");
    };
    const auto row = [](const std::vector<Value>& values) { return List(values, TextOfValue); };
    return absl::StrCat("values ", List(node.columns, column), " ", List(node.rows, row));
  }
};

inline std::string TextOf(const QueryPlan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    absl::StrAppend(&text, i, ": ", std::visit(PlanNodeText{}, plan.nodes[i]), "\n");
  }
  return text;
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_QUERY_PLAN_TEXT_H_
