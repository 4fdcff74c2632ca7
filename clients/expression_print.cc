// ExpressionText, and the text of a single value.
#include <charconv>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/expression_text.h"
#include "clients/expression_token.h"
#include "eris/key_text.h"

namespace eris::client {
namespace {

using Kind = Expression::Kind;

// Precedence of the operators.
enum Strength { kOrs = 1, kAnds, kNots, kComparisons, kSums, kProducts, kSigns, kPrimaries };

bool IsNegative(const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number < 0;
  if (const auto* decimal = std::get_if<Decimal>(&value)) return decimal->unscaled < 0;
  const auto* real = std::get_if<double>(&value);
  return real != nullptr && *real < 0;
}

Strength StrengthOf(const Expression& expression) {
  switch (expression.kind) {
    case Kind::kColumn:
      return kPrimaries;
    case Kind::kLiteral:
      return IsNegative(expression.value) ? kSigns : kPrimaries;
    case Kind::kDatePart:
      return kPrimaries;
    case Kind::kMultiply:
    case Kind::kDivide:
      return kProducts;
    case Kind::kAdd:
    case Kind::kSubtract:
      return kSums;
    case Kind::kNot:
      return kNots;
    case Kind::kAnd:
      return kAnds;
    case Kind::kOr:
      return kOrs;
    default:
      return kComparisons;
  }
}

void AppendQuoted(char quote, absl::string_view text, std::string& out) {
  out += quote;
  for (const char c : text) {
    if (c == quote) out += quote;
    out += c;
  }
  out += quote;
}

void AppendValue(const Value& value, std::string& out) {
  if (std::holds_alternative<std::monostate>(value)) {
    out += "null";
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    absl::StrAppend(&out, *number);
  } else if (const auto* large = std::get_if<uint64_t>(&value)) {
    absl::StrAppend(&out, *large);
  } else if (const auto* real = std::get_if<double>(&value)) {
    char digits[64];
    const auto end =
        std::to_chars(digits, digits + sizeof(digits), *real, std::chars_format::scientific);
    out.append(digits, end.ptr);
  } else if (const auto* decimal = std::get_if<Decimal>(&value)) {
    AppendDecimal(decimal->unscaled, decimal->scale, &out);
    if (decimal->scale == 0) out += '.';
  } else if (const auto* date = std::get_if<Date>(&value)) {
    const std::string text = DateText(date->days);
    constexpr size_t kBareBytes = 10;
    if (text.size() == kBareBytes && text[0] != '-') {
      out += text;
    } else {
      absl::StrAppend(&out, "date '", text, "'");
    }
  } else {
    AppendQuoted('\'', std::get<std::string>(value), out);
  }
}

void Append(const Expression& expression, Strength needed, std::string& out);

void AppendInside(const Expression& expression, std::string& out) {
  const std::vector<Expression>& arguments = expression.arguments;
  switch (expression.kind) {
    case Kind::kColumn:
      if (IsPlainName(expression.column)) {
        out += expression.column;
      } else {
        AppendQuoted('"', expression.column, out);
      }
      return;
    case Kind::kLiteral:
      return AppendValue(expression.value, out);
    case Kind::kNot:
      out += "not ";
      return Append(arguments[0], kNots, out);
    case Kind::kIsNull:
      Append(arguments[0], kSums, out);
      out += " is null";
      return;
    case Kind::kBetween:
      Append(arguments[0], kSums, out);
      out += " between ";
      Append(arguments[1], kSums, out);
      out += " and ";
      return Append(arguments[2], kSums, out);
    case Kind::kIn:
      Append(arguments[0], kSums, out);
      for (size_t i = 1; i < arguments.size(); ++i) {
        out += i == 1 ? " in (" : ", ";
        Append(arguments[i], kSigns, out);
      }
      out += ')';
      return;
    case Kind::kLike:
      Append(arguments[0], kSums, out);
      for (size_t i = 1; i < arguments.size(); ++i) {
        out += i == 1 ? " like " : " escape ";
        Append(arguments[i], kPrimaries, out);
      }
      return;
    case Kind::kDatePart:
      out += "date_part(";
      Append(arguments[0], kOrs, out);
      out += ", ";
      Append(arguments[1], kOrs, out);
      out += ')';
      return;
    default:
      break;
  }
  const Strength own = StrengthOf(expression);
  // Chains of `and` and `or` are one TreeNode; a - b - c is (a - b) - c.
  const bool leans_left = own == kSums || own == kProducts;
  const auto stronger = static_cast<Strength>(own + 1);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) absl::StrAppend(&out, " ", OperatorText(expression.kind), " ");
    Append(arguments[i], i == 0 && leans_left ? own : stronger, out);
  }
}

void Append(const Expression& expression, Strength needed, std::string& out) {
  const bool parentheses = StrengthOf(expression) < needed;
  if (parentheses) out += '(';
  AppendInside(expression, out);
  if (parentheses) out += ')';
}

}  // namespace

std::string ExpressionText(const Expression& expression) {
  std::string out;
  Append(expression, kOrs, out);
  return out;
}

void AppendDecimal(int64_t unscaled, uint8_t scale, std::string* text) {
  // Works for the lowest number too.
  const uint64_t digits =
      unscaled < 0 ? 0 - static_cast<uint64_t>(unscaled) : static_cast<uint64_t>(unscaled);
  std::string all = absl::StrCat(digits);
  if (all.size() <= scale) all.insert(0, scale + 1 - all.size(), '0');
  if (unscaled < 0) *text += '-';
  text->append(all, 0, all.size() - scale);
  if (scale == 0) return;
  *text += '.';
  text->append(all, all.size() - scale, scale);
}

}  // namespace eris::client
