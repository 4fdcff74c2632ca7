// What an expression may look like whatever its columns are: numbers of arguments, sizes, literals;
// and its text for errors.
#include <optional>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "eris/key_text.h"
#include "storage/table/plan/plan_compiler.h"
#include "storage/table/plan/utf8_text.h"

namespace eris::storage {
namespace {

using Kind = Expression::Kind;

constexpr size_t kTextBytesMax = 200;

absl::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kColumn:
      return "a column";
    case Kind::kLiteral:
      return "a literal";
    case Kind::kBetween:
      return "between";
    case Kind::kIn:
      return "in";
    case Kind::kIsNull:
      return "is null";
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
    case Kind::kField:
      return "a field";
    case Kind::kSubquery:
      return "a subquery";
    default:
      return OperatorText(kind);
  }
}

void AppendText(const Expression& expression, std::string& out, bool inside) {
  if (out.size() > kTextBytesMax) return;
  if (expression.kind == Kind::kColumn) {
    absl::StrAppend(&out, expression.column);
    return;
  }
  if (expression.kind == Kind::kLiteral) {
    absl::StrAppend(&out, LiteralText(expression.value));
    return;
  }
  if (expression.kind == Kind::kField || expression.kind == Kind::kSubquery) {
    const bool field = expression.kind == Kind::kField;
    absl::StrAppend(&out, field ? "field " : "subquery of node ", expression.number);
    return;
  }
  const bool prefix = OperatorText(expression.kind).empty();
  const bool brackets = inside || prefix;
  if (prefix) absl::StrAppend(&out, KindName(expression.kind));
  if (brackets) out.push_back('(');
  for (size_t i = 0; i < expression.arguments.size(); ++i) {
    if (i > 0) {
      const absl::string_view between = OperatorText(expression.kind);
      absl::StrAppend(&out, between.empty() ? "," : " ", between, " ");
    }
    AppendText(expression.arguments[i], out, true);
  }
  if (expression.kind == Kind::kCast) {
    absl::StrAppend(&out, " as ", ColumnTypeName(expression.type));
    if (expression.scale > 0) absl::StrAppend(&out, "(", uint32_t{expression.scale}, ")");
  }
  if (brackets) out.push_back(')');
}

absl::Status WrongArguments(const Expression& expression, size_t min, size_t max) {
  const size_t given = expression.arguments.size();
  return absl::InvalidArgumentError(absl::StrCat(
      KindName(expression.kind), " takes ", min,
      max > min && max < kExpressionSizeMax ? absl::StrCat(" to ", max) : "",
      max == 1 ? " argument" : " arguments", max == kExpressionSizeMax ? " or more, " : ", ", given,
      given == 1 ? " is given" : " are given"));
}

absl::Status CheckScale(absl::string_view what, uint8_t scale, uint8_t max) {
  if (scale <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " has scale ", static_cast<int>(scale),
                                                 ", at most ", static_cast<int>(max)));
}

struct ArgumentCount {
  size_t min = 2;
  size_t max = 2;
};

// nullopt: there is no such kind.
std::optional<ArgumentCount> ArgumentsOf(Kind kind) {
  switch (kind) {
    case Kind::kColumn:
    case Kind::kLiteral:
    case Kind::kField:
    case Kind::kSubquery:
      return ArgumentCount{0, 0};
    case Kind::kNot:
    case Kind::kIsNull:
    case Kind::kCast:
      return ArgumentCount{1, 1};
    case Kind::kBetween:
      return ArgumentCount{3, 3};
    case Kind::kIn:
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kCase:
      return ArgumentCount{2, kExpressionSizeMax};
    case Kind::kLike:
    case Kind::kSubstring:
      return ArgumentCount{2, 3};
    case Kind::kAdd:
    case Kind::kSubtract:
    case Kind::kMultiply:
    case Kind::kDivide:
    case Kind::kQuotient:
    case Kind::kRemainder:
    case Kind::kDatePart:
    case Kind::kEqual:
    case Kind::kNotEqual:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kGreater:
    case Kind::kGreaterEqual:
      return ArgumentCount{};
  }
  return std::nullopt;
}

absl::Status CheckTree(const Expression& expression, uint32_t depth, uint32_t& size) {
  if (depth > kExpressionDepthMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expression is deeper than ", kExpressionDepthMax, " levels"));
  }
  if (++size > kExpressionSizeMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expression has more than ", kExpressionSizeMax, " parts"));
  }
  const std::optional<ArgumentCount> count = ArgumentsOf(expression.kind);
  if (!count) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expression is of the unknown kind ", static_cast<int>(expression.kind)));
  }
  const size_t arguments = expression.arguments.size();
  if (arguments < count->min || arguments > count->max) {
    return WrongArguments(expression, count->min, count->max);
  }
  if (const auto* decimal = std::get_if<Decimal>(&expression.value); decimal != nullptr) {
    ERIS_RETURN_IF_ERROR(CheckScale("a decimal literal", decimal->scale, kDecimalScaleMax));
  }
  if (const auto* wide = std::get_if<WideDecimal>(&expression.value); wide != nullptr) {
    ERIS_RETURN_IF_ERROR(CheckScale("a decimal literal", wide->scale, kWideScaleMax));
  }
  if (const auto* text = std::get_if<std::string>(&expression.value);
      text != nullptr && !base::IsUtf8(*text)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the string literal of the bytes ", LiteralText(Bytes{*text}), " is not UTF-8 from byte ",
        base::Utf8Bytes(*text), " on; columns of bytes are compared with literals of bytes"));
  }
  for (const Expression& argument : expression.arguments) {
    ERIS_RETURN_IF_ERROR(CheckTree(argument, depth + 1, size));
  }
  return absl::OkStatus();
}

}  // namespace

std::string LiteralText(const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<uint64_t>(&value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<double>(&value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<Decimal>(&value)) {
    return DecimalText(number->unscaled, number->scale);
  }
  if (const auto* number = std::get_if<WideDecimal>(&value)) {
    return DecimalText(NumberOfHalves(number->unscaled), number->scale);
  }
  if (const auto* date = std::get_if<Date>(&value)) return DateText(date->days);
  if (const auto* time = std::get_if<Timestamp>(&value)) return TimestampText(time->micros);
  if (const auto* text = std::get_if<std::string>(&value)) {
    const bool whole = text->size() <= kTextBytesMax;
    const std::string_view shown = CutAtCharacter(*text, kTextBytesMax);
    return absl::StrCat("'", absl::string_view(shown.data(), shown.size()), whole ? "'" : "...");
  }
  if (const auto* bytes = std::get_if<Bytes>(&value)) {
    const bool whole = bytes->bytes.size() <= kTextBytesMax;
    return absl::StrCat("x'", absl::BytesToHexString(bytes->bytes.substr(0, kTextBytesMax)),
                        whole ? "'" : "...");
  }
  return "null";
}

std::string ExpressionText(const Expression& expression) {
  std::string text;
  AppendText(expression, text, false);
  if (text.size() > kTextBytesMax) {
    text.resize(CutAtCharacter(text, kTextBytesMax).size());
    text += "...";
  }
  return text;
}

absl::Status PlanCompiler::CheckShape(const Expression& expression) {
  uint32_t size = 0;
  return CheckTree(expression, 1, size);
}

}  // namespace eris::storage
