// Conditions on strings: comparisons with a text, sets, and patterns.
#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/table/plan/plan_compiler.h"

namespace eris::storage {
absl::StatusOr<uint32_t> PlanCompiler::CompareString(uint32_t value, Kind kind,
                                                     const std::string& literal, bool negated) {
  PredicateNode node{.kind = PredicateNode::Kind::kString, .negated = negated, .value = value};
  if (kind == Kind::kEqual) {
    node.strings.push_back(literal);
    return AddPredicate(std::move(node));
  }
  node.test = PredicateNode::StringTest::kRange;
  if (kind == Kind::kLess || kind == Kind::kLessEqual) {
    node.range = {.has_hi = true, .hi_included = kind == Kind::kLessEqual, .hi = literal};
  } else {
    node.range = {.has_lo = true, .lo_included = kind == Kind::kGreaterEqual, .lo = literal};
  }
  return AddPredicate(std::move(node));
}

uint32_t PlanCompiler::Set(uint32_t value, std::vector<std::string> strings, bool negated) {
  if (strings.empty()) return Constant(false);
  std::sort(strings.begin(), strings.end());
  strings.erase(std::unique(strings.begin(), strings.end()), strings.end());
  return AddPredicate({.kind = PredicateNode::Kind::kString,
                       .negated = negated,
                       .value = value,
                       .strings = std::move(strings)});
}

absl::StatusOr<uint32_t> PlanCompiler::Like(const Expression& expression, bool negated) {
  const Expression& what = expression.arguments[0];
  std::string_view texts[2];  // the pattern, and the escape
  for (size_t i = 1; i < expression.arguments.size(); ++i) {
    const Expression& argument = expression.arguments[i];
    if (argument.kind != Kind::kLiteral) {
      return absl::InvalidArgumentError(
          absl::StrCat("`like` takes a literal, not ", ExpressionText(argument)));
    }
    const auto* text = std::get_if<std::string>(&argument.value);
    if (text != nullptr) {
      texts[i - 1] = *text;
    } else if (!IsNullLiteral(argument)) {
      return absl::InvalidArgumentError(
          absl::StrCat("`like` takes a string, not ", ExpressionText(argument)));
    }
  }
  ERIS_ASSIGN_OR_RETURN(LikePattern pattern, LikePattern::Create(texts[0], texts[1]));
  const bool null =
      IsNullLiteral(expression.arguments[1]) || IsNullLiteral(expression.arguments.back());
  if (what.kind == Kind::kLiteral) {
    const auto* text = std::get_if<std::string>(&what.value);
    if (null || IsNullLiteral(what)) return Constant(false);
    if (text != nullptr) return Constant(pattern.Matches(*text) != negated);
  }
  ERIS_ASSIGN_OR_RETURN(const uint32_t value, Value(what));
  const ValueNode& node = body_.values[value];
  if (node.type != ColumnType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(node), " is not a string, which `like` takes"));
  }
  if (null) return Constant(false);
  if (pattern.MatchesAll()) return negated ? Constant(false) : NotNull(value);
  if (const std::string* const only = pattern.OnlyText(); only != nullptr) {
    return Set(value, std::vector<std::string>{*only}, negated);
  }
  return AddPredicate({.kind = PredicateNode::Kind::kString,
                       .negated = negated,
                       .value = value,
                       .test = PredicateNode::StringTest::kLike,
                       .pattern = std::move(pattern)});
}

}  // namespace eris::storage
