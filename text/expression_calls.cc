// What an expression is made of: columns, literals, parentheses, calls and cases.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "eris/column_type.h"
#include "eris/schema.h"
#include "text/expression_parser.h"

namespace eris::text {
namespace {

constexpr absl::string_view kCastForms =
    "int32, int64, uint64, float64, decimal(SCALE), decimal(DIGITS, SCALE), int128(SCALE), date or "
    "timestamp";

}  // namespace

std::optional<AggregateFunction> AggregateFunctionOf(absl::string_view small_letters) {
  return AggregateFunctionFromName(small_letters == "average" ? "avg" : small_letters);
}

absl::Status ExpressionParser::Primary(Expression& out, uint32_t& depth) {
  if (token_.IsSymbol("(")) {
    if (++nesting_ > kExpressionDepthMax) return TooDeep();
    ERIS_TEXT_TRY(Advance());
    ERIS_TEXT_TRY(Or(out, depth));
    --nesting_;
    return Expect(")");
  }
  ERIS_TEXT_TRY(Count());
  depth = 1;
  if (token_.IsKeyword("case")) return Case(out, depth);
  if (token_.kind == Token::Kind::kLiteral || token_.IsKeyword("null")) {
    out = Expression{.kind = Kind::kLiteral, .value = std::move(token_.value)};
  } else if (token_.kind == Token::Kind::kWord || token_.kind == Token::Kind::kQuoted) {
    const Token name = token_;
    out = Expression{.kind = Kind::kColumn, .column = name.text};
    ERIS_TEXT_TRY(Advance());
    const bool calls = name.kind == Token::Kind::kWord && token_.IsSymbol("(");
    return calls ? Call(name, out, depth) : absl::OkStatus();
  } else {
    return Unexpected("a column, a literal or '('");
  }
  return Advance();
}

absl::Status ExpressionParser::Call(const Token& name, Expression& out, uint32_t& depth) {
  if (++nesting_ > kExpressionDepthMax) return TooDeep();
  depth = 0;
  Expression call;
  if (name.IsWord("date_part")) {
    ERIS_TEXT_TRY(DatePart(name, call, depth));
  } else if (name.IsWord("cast")) {
    ERIS_TEXT_TRY(Cast(call, depth));
  } else if (name.IsWord("substring")) {
    ERIS_TEXT_TRY(Substring(call, depth));
  } else {
    return NoFunction(name);
  }
  ERIS_TEXT_TRY(Expect(")"));
  --nesting_;
  if (++depth > kExpressionDepthMax) return TooDeep();
  out = std::move(call);
  return absl::OkStatus();
}

absl::Status ExpressionParser::Argument(Expression& call, uint32_t& depth) {
  ERIS_TEXT_TRY(Advance());
  uint32_t other = 0;
  ERIS_TEXT_TRY(Or(call.arguments.emplace_back(), other));
  depth = std::max(depth, other);
  return absl::OkStatus();
}

absl::Status ExpressionParser::DatePart(const Token& name, Expression& call, uint32_t& depth) {
  constexpr size_t kTakes = 2;
  call.kind = Kind::kDatePart;
  do {
    ERIS_TEXT_TRY(Argument(call, depth));
  } while (token_.IsSymbol(","));
  if (!token_.IsSymbol(")") || call.arguments.size() == kTakes) return absl::OkStatus();
  return ExpressionError(name.begin, absl::StrCat("date_part takes a part and a date, ",
                                                  call.arguments.size(), " arguments are given"));
}

absl::Status ExpressionParser::Cast(Expression& call, uint32_t& depth) {
  call.kind = Kind::kCast;
  ERIS_TEXT_TRY(Argument(call, depth));
  if (!token_.IsKeyword("as")) return Unexpected("'as' of 'cast'");
  ERIS_TEXT_TRY(Advance());
  return CastType(call);
}

absl::Status ExpressionParser::CastType(Expression& cast) {
  const auto* const type =
      std::find_if(std::begin(kCastTypes), std::end(kCastTypes),
                   [this](ColumnType one) { return token_.IsWord(ColumnTypeName(one)); });
  if (type == std::end(kCastTypes)) return Unexpected(kCastForms);
  cast.type = *type;
  ERIS_TEXT_TRY(Advance());
  if (*type == ColumnType::kInt128) {
    ERIS_TEXT_TRY(Expect("("));
    ERIS_TEXT_TRY(CastDigits("the scale of an int128", kExactDigitsMax, cast.scale));
    return Expect(")");
  }
  if (*type != ColumnType::kDecimal) return absl::OkStatus();
  ERIS_TEXT_TRY(Expect("("));
  const Token first = token_;
  uint8_t digits = 0;
  ERIS_TEXT_TRY(CastDigits("a number of decimal()", kExactDigitsMax, digits));
  if (token_.IsSymbol(",")) {  // the digits were SQL's precision
    ERIS_TEXT_TRY(Advance());
    ERIS_TEXT_TRY(CastDigits("the scale of the decimal", digits, cast.scale));
    if (digits > kDecimalScaleMax) cast.type = ColumnType::kInt128;
  } else if (digits <= kDecimalScaleMax) {
    cast.scale = digits;
  } else {
    return ExpressionError(
        first.begin, absl::StrCat("the scale of a decimal is ", digits, ", must be at most ",
                                  uint32_t{kDecimalScaleMax}, ": write int128(", digits, ")"));
  }
  return Expect(")");
}

absl::Status ExpressionParser::CastDigits(absl::string_view what, uint8_t most, uint8_t& digits) {
  const auto* const number = std::get_if<int64_t>(&token_.value);
  if (token_.kind != Token::Kind::kLiteral || number == nullptr) {
    return Unexpected(absl::StrCat(what, ", 0 to ", uint32_t{most}));
  }
  if (*number > most) {
    return ExpressionError(
        token_.begin, absl::StrCat(what, " is ", *number, ", must be at most ", uint32_t{most}));
  }
  digits = static_cast<uint8_t>(*number);
  return Advance();
}

absl::Status ExpressionParser::Substring(Expression& call, uint32_t& depth) {
  call.kind = Kind::kSubstring;
  ERIS_TEXT_TRY(Argument(call, depth));
  const bool in_words = token_.IsWord("from");
  if (!in_words && !token_.IsSymbol(",")) return Unexpected("',' or 'from' of 'substring'");
  for (const absl::string_view what : {"first character", "number of characters"}) {
    ERIS_TEXT_TRY(Advance());
    const size_t begin = token_.begin;
    Expression& literal = call.arguments.emplace_back();
    uint32_t other = 0;
    ERIS_TEXT_TRY(Unary(literal, other));
    if (!std::holds_alternative<int64_t>(literal.value)) {
      return ExpressionError(begin,
                             absl::StrCat("expected an integer as the ", what, " of 'substring'"));
    }
    if (!(in_words ? token_.IsWord("for") : token_.IsSymbol(","))) break;
  }
  return absl::OkStatus();
}

absl::Status ExpressionParser::Case(Expression& out, uint32_t& depth) {
  if (++nesting_ > kExpressionDepthMax) return TooDeep();
  ERIS_TEXT_TRY(Advance());
  if (!token_.IsWord("when")) return Unexpected("'when' of 'case'");
  depth = 0;
  Expression made{.kind = Kind::kCase};
  while (token_.IsWord("when")) {
    ERIS_TEXT_TRY(Argument(made, depth));
    if (!token_.IsWord("then")) return Unexpected("'then' of 'when'");
    ERIS_TEXT_TRY(Argument(made, depth));
  }
  if (token_.IsWord("else")) {
    ERIS_TEXT_TRY(Argument(made, depth));
    if (!token_.IsWord("end")) return Unexpected("'end' of 'case'");
  } else if (!token_.IsWord("end")) {
    return Unexpected("'when', 'else' or 'end' of 'case'");
  }
  --nesting_;
  if (++depth > kExpressionDepthMax) return TooDeep();
  out = std::move(made);
  return Advance();
}

absl::Status ExpressionParser::NoFunction(const Token& name) const {
  const std::string word = absl::AsciiStrToLower(name.text);
  return ExpressionError(
      name.begin,
      AggregateFunctionOf(word)
          ? absl::StrCat("'", word,
                         "' is for aggregates alone, not for the inside of an expression")
          : absl::StrCat(name.Shown(text_), " is no function: an expression has columns, ",
                         "literals, operators, case, cast, date_part and substring"));
}

}  // namespace eris::text
