// ExpressionText, and the text of a single value.
#include <charconv>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "eris/column_type.h"
#include "eris/key_text.h"
#include "text/expression_text.h"
#include "text/expression_token.h"

namespace eris::text {
namespace {

using Kind = Expression::Kind;

// Precedence of the operators.
enum Strength { kOrs = 1, kAnds, kNots, kComparisons, kSums, kProducts, kSigns, kPrimaries };

bool IsNegative(const Int128Halves& halves) { return halves.high >> 63 != 0; }
bool IsNegative(const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number < 0;
  if (const auto* decimal = std::get_if<Decimal>(&value)) return decimal->unscaled < 0;
  if (const auto* wide = std::get_if<WideDecimal>(&value)) return IsNegative(wide->unscaled);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr && *real < 0;
}

Strength StrengthOf(const Expression& expression) {
  switch (expression.kind) {
    case Kind::kLiteral:
      return IsNegative(expression.value) ? kSigns : kPrimaries;
    case Kind::kColumn:
    case Kind::kDatePart:
    case Kind::kCase:
    case Kind::kCast:
    case Kind::kSubstring:
    case Kind::kField:
    case Kind::kSubquery:
      return kPrimaries;
    case Kind::kMultiply:
    case Kind::kDivide:
    case Kind::kQuotient:
    case Kind::kRemainder:
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
  } else if (const auto* wide = std::get_if<WideDecimal>(&value)) {
    AppendDecimal(wide->unscaled, wide->scale, &out);
    if (wide->scale == 0) out += '.';
  } else if (const auto* date = std::get_if<Date>(&value)) {
    const std::string text = DateText(date->days);
    constexpr size_t kBareBytes = 10;
    if (text.size() == kBareBytes && text[0] != '-') {
      out += text;
    } else {
      absl::StrAppend(&out, "date '", text, "'");
    }
  } else if (const auto* time = std::get_if<Timestamp>(&value)) {
    absl::StrAppend(&out, "timestamp '", TimestampText(time->micros), "'");
  } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
    absl::StrAppend(&out, "x'", absl::BytesToHexString(bytes->bytes), "'");
  } else {
    AppendQuoted('\'', std::get<std::string>(value), out);
  }
}

void Append(const Expression& expression, Strength needed, std::string& out);

void AppendCase(const std::vector<Expression>& arguments, std::string& out) {
  out += "case";
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_last = i + 1 == arguments.size();
    out += i % 2 == 1 ? " then " : is_last ? " else " : " when ";
    Append(arguments[i], kOrs, out);
  }
  out += " end";
}

void AppendCast(const Expression& cast, std::string& out) {
  out += "cast(";
  Append(cast.arguments[0], kOrs, out);
  absl::StrAppend(&out, " as ", ColumnTypeName(cast.type));
  if (cast.type == ColumnType::kDecimal || cast.type == ColumnType::kInt128) {
    absl::StrAppend(&out, "(", uint32_t{cast.scale}, ")");
  }
  out += ')';
}

void AppendCall(absl::string_view name, const std::vector<Expression>& arguments,
                std::string& out) {
  absl::StrAppend(&out, name, "(");
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) out += ", ";
    Append(arguments[i], kOrs, out);
  }
  out += ')';
}

void AppendOperators(const Expression& expression, std::string& out) {
  const Strength own = StrengthOf(expression);
  // Chains of `and` and `or` are one TreeNode; a - b - c is (a - b) - c.
  const bool leans_left = own == kSums || own == kProducts;
  const auto stronger = static_cast<Strength>(own + 1);
  for (size_t i = 0; i < expression.arguments.size(); ++i) {
    if (i > 0) absl::StrAppend(&out, " ", OperatorText(expression.kind), " ");
    Append(expression.arguments[i], i == 0 && leans_left ? own : stronger, out);
  }
}

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
      return AppendCall("date_part", arguments, out);
    case Kind::kSubstring:
      return AppendCall("substring", arguments, out);
    case Kind::kCase:
      return AppendCase(arguments, out);
    case Kind::kCast:
      return AppendCast(expression, out);
    case Kind::kField:
      return absl::StrAppend(&out, "field ", expression.number);
    case Kind::kSubquery:
      return absl::StrAppend(&out, "node ", expression.number);
    default:
      return AppendOperators(expression, out);
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
  const auto low = static_cast<uint64_t>(unscaled);
  AppendDecimal(Int128Halves{low, unscaled < 0 ? ~uint64_t{0} : 0}, scale, text);
}

void AppendDecimal(const Int128Halves& unscaled, uint8_t scale, std::string* text) {
  const absl::uint128 bits = absl::MakeUint128(unscaled.high, unscaled.low);
  // Works for the lowest number too.
  const absl::uint128 digits = IsNegative(unscaled) ? 0 - bits : bits;
  std::string all;
  if (absl::Uint128High64(digits) == 0) {
    all = absl::StrCat(absl::Uint128Low64(digits));
  } else {
    std::ostringstream stream;
    stream << digits;
    all = stream.str();
  }
  if (all.size() <= scale) all.insert(0, scale + 1 - all.size(), '0');
  if (IsNegative(unscaled)) *text += '-';
  text->append(all, 0, all.size() - scale);
  if (scale == 0) return;
  *text += '.';
  text->append(all, all.size() - scale, scale);
}

}  // namespace eris::text
