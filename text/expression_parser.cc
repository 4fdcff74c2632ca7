#include "text/expression_parser.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eris/schema.h"
#include "text/expression_text.h"

namespace eris::text {

absl::Status ExpressionParser::Begin() {
  if (text_.size() > kExpressionTextBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the text has ", text_.size(), " bytes, must have at most ", kExpressionTextBytesMax));
  }
  return Advance();
}

absl::Status ExpressionParser::Advance() {
  last_end_ = token_.end;
  absl::StatusOr<Token> next = NextExpressionToken(text_, token_.end);
  if (!next.ok()) return next.status();
  token_ = *std::move(next);
  return absl::OkStatus();
}

absl::Status ExpressionParser::Expect(absl::string_view symbol) {
  if (!token_.IsSymbol(symbol)) return Unexpected(absl::StrCat("'", symbol, "'"));
  return Advance();
}

absl::Status ExpressionParser::Unexpected(absl::string_view expected) const {
  return ExpressionError(token_.begin,
                         absl::StrCat("expected ", expected, ", found ", token_.Shown(text_)));
}

std::string ExpressionParser::TextFrom(size_t begin) const {
  return std::string(text_.substr(begin, last_end_ - begin));
}

absl::Status ExpressionParser::Whole(Expression& out) {
  size_ = 0;
  uint32_t depth = 0;
  return Or(out, depth);
}

absl::Status ExpressionParser::Name(std::string& name) {
  if (token_.kind != Token::Kind::kWord && token_.kind != Token::Kind::kQuoted) {
    return Unexpected("a name");
  }
  name = token_.text;
  return Advance();
}

absl::Status ExpressionParser::Join(Kind kind, std::vector<Expression> arguments, Expression& out,
                                    uint32_t& depth) {
  ERIS_TEXT_TRY(Count());
  if (++depth > kExpressionDepthMax) return TooDeep();
  out = Expression{.kind = kind, .arguments = std::move(arguments)};
  return absl::OkStatus();
}

absl::Status ExpressionParser::Count() {
  if (++size_ <= kExpressionSizeMax) return absl::OkStatus();
  return ExpressionError(
      token_.begin, absl::StrCat("the expression has more than ", kExpressionSizeMax, " terms"));
}

absl::Status ExpressionParser::TooDeep() const {
  return ExpressionError(
      token_.begin, absl::StrCat("the expression has more than ", kExpressionDepthMax, " levels"));
}

template <class Operand>
absl::Status ExpressionParser::Chain(Kind kind, absl::string_view word, Operand operand,
                                     Expression& out, uint32_t& depth) {
  ERIS_TEXT_TRY((this->*operand)(out, depth));
  if (!token_.IsKeyword(word)) return absl::OkStatus();
  std::vector<Expression> arguments;
  arguments.push_back(std::move(out));
  while (token_.IsKeyword(word)) {
    ERIS_TEXT_TRY(Advance());
    uint32_t other = 0;
    ERIS_TEXT_TRY((this->*operand)(arguments.emplace_back(), other));
    depth = std::max(depth, other);
  }
  return Join(kind, std::move(arguments), out, depth);
}

// Adds a second operand; `out` is the first.
template <class Operand>
absl::Status ExpressionParser::Second(Kind kind, Operand operand, Expression& out,
                                      uint32_t& depth) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(out));
  uint32_t other = 0;
  ERIS_TEXT_TRY((this->*operand)(arguments.emplace_back(), other));
  depth = std::max(depth, other);
  return Join(kind, std::move(arguments), out, depth);
}

absl::Status ExpressionParser::Or(Expression& out, uint32_t& depth) {
  return Chain(Kind::kOr, "or", &ExpressionParser::And, out, depth);
}

absl::Status ExpressionParser::And(Expression& out, uint32_t& depth) {
  return Chain(Kind::kAnd, "and", &ExpressionParser::Not, out, depth);
}

absl::Status ExpressionParser::Not(Expression& out, uint32_t& depth) {
  if (!token_.IsKeyword("not")) return Comparison(out, depth);
  if (++nesting_ > kExpressionDepthMax) return TooDeep();
  ERIS_TEXT_TRY(Advance());
  std::vector<Expression> arguments(1);
  ERIS_TEXT_TRY(Not(arguments[0], depth));
  --nesting_;
  return Join(Kind::kNot, std::move(arguments), out, depth);
}

absl::Status ExpressionParser::Comparison(Expression& out, uint32_t& depth) {
  ERIS_TEXT_TRY(Sum(out, depth));
  for (const Kind kind : {Kind::kEqual, Kind::kNotEqual, Kind::kLess, Kind::kLessEqual,
                          Kind::kGreater, Kind::kGreaterEqual}) {
    if (!token_.IsSymbol(OperatorText(kind))) continue;
    ERIS_TEXT_TRY(Advance());
    return Second(kind, &ExpressionParser::Sum, out, depth);
  }
  if (token_.IsKeyword("is")) return IsNull(out, depth);
  bool negated = false;
  if (token_.IsKeyword("not")) {
    ERIS_TEXT_TRY(Advance());
    negated = true;
  }
  if (token_.IsKeyword("between")) {
    ERIS_TEXT_TRY(Between(out, depth));
  } else if (token_.IsKeyword("in")) {
    ERIS_TEXT_TRY(In(out, depth));
  } else if (token_.IsKeyword("like")) {
    ERIS_TEXT_TRY(Like(out, depth));
  } else if (negated) {
    return Unexpected("'between', 'in' or 'like' behind 'not'");
  }
  return negated ? Negate(out, depth) : absl::OkStatus();
}

absl::Status ExpressionParser::Negate(Expression& out, uint32_t& depth) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(out));
  return Join(Kind::kNot, std::move(arguments), out, depth);
}

absl::Status ExpressionParser::IsNull(Expression& out, uint32_t& depth) {
  ERIS_TEXT_TRY(Advance());
  const bool negated = token_.IsKeyword("not");
  if (negated) ERIS_TEXT_TRY(Advance());
  if (!token_.IsKeyword("null")) return Unexpected("'null'");
  ERIS_TEXT_TRY(Advance());
  std::vector<Expression> arguments;
  arguments.push_back(std::move(out));
  ERIS_TEXT_TRY(Join(Kind::kIsNull, std::move(arguments), out, depth));
  return negated ? Negate(out, depth) : absl::OkStatus();
}

absl::Status ExpressionParser::Between(Expression& out, uint32_t& depth) {
  ERIS_TEXT_TRY(Advance());
  std::vector<Expression> arguments;
  arguments.push_back(std::move(out));
  for (int end = 0; end < 2; ++end) {
    uint32_t other = 0;
    ERIS_TEXT_TRY(Sum(arguments.emplace_back(), other));
    depth = std::max(depth, other);
    if (end == 1) break;
    if (!token_.IsKeyword("and")) return Unexpected("'and' of 'between'");
    ERIS_TEXT_TRY(Advance());
  }
  return Join(Kind::kBetween, std::move(arguments), out, depth);
}

absl::Status ExpressionParser::In(Expression& out, uint32_t& depth) {
  ERIS_TEXT_TRY(Advance());
  ERIS_TEXT_TRY(Expect("("));
  std::vector<Expression> arguments;
  arguments.push_back(std::move(out));
  for (;;) {
    Expression& literal = arguments.emplace_back();
    const size_t begin = token_.begin;
    uint32_t other = 0;
    ERIS_TEXT_TRY(Unary(literal, other));
    if (literal.kind != Kind::kLiteral) {
      return ExpressionError(begin, "expected a literal of 'in'");
    }
    if (!token_.IsSymbol(",")) break;
    ERIS_TEXT_TRY(Advance());
  }
  ERIS_TEXT_TRY(Expect(")"));
  return Join(Kind::kIn, std::move(arguments), out, depth);
}

absl::Status ExpressionParser::Like(Expression& out, uint32_t& depth) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(out));
  for (const absl::string_view what : {"a pattern of 'like'", "a character of 'escape'"}) {
    ERIS_TEXT_TRY(Advance());
    const size_t begin = token_.begin;
    uint32_t other = 0;
    ERIS_TEXT_TRY(Primary(arguments.emplace_back(), other));
    const Value& value = arguments.back().value;
    if (arguments.back().kind != Kind::kLiteral ||
        !(std::holds_alternative<std::string>(value) ||
          std::holds_alternative<std::monostate>(value))) {
      return ExpressionError(begin, absl::StrCat("expected a string as ", what));
    }
    if (!token_.IsWord("escape")) break;
  }
  depth = std::max(depth, 1u);
  return Join(Kind::kLike, std::move(arguments), out, depth);
}

absl::Status ExpressionParser::Sum(Expression& out, uint32_t& depth) {
  ERIS_TEXT_TRY(Product(out, depth));
  while (token_.IsSymbol("+") || token_.IsSymbol("-")) {
    const Kind kind = token_.text == "+" ? Kind::kAdd : Kind::kSubtract;
    ERIS_TEXT_TRY(Advance());
    ERIS_TEXT_TRY(Second(kind, &ExpressionParser::Product, out, depth));
  }
  return absl::OkStatus();
}

absl::Status ExpressionParser::Product(Expression& out, uint32_t& depth) {
  ERIS_TEXT_TRY(Unary(out, depth));
  for (;;) {
    Kind kind = Kind::kMultiply;
    if (token_.IsSymbol("/")) {
      kind = Kind::kDivide;
    } else if (token_.IsSymbol("%")) {
      kind = Kind::kRemainder;
    } else if (token_.IsWord("div")) {
      kind = Kind::kQuotient;
    } else if (!token_.IsSymbol("*")) {
      return absl::OkStatus();
    }
    ERIS_TEXT_TRY(Advance());
    ERIS_TEXT_TRY(Second(kind, &ExpressionParser::Unary, out, depth));
  }
}

absl::Status ExpressionParser::Unary(Expression& out, uint32_t& depth) {
  if (!token_.IsSymbol("-")) return Primary(out, depth);
  if (++nesting_ > kExpressionDepthMax) return TooDeep();
  ERIS_TEXT_TRY(Advance());
  if (token_.kind == Token::Kind::kLiteral) {
    ERIS_TEXT_TRY(NegateLiteral());
    ERIS_TEXT_TRY(Primary(out, depth));
  } else {
    Expression zero{.kind = Kind::kLiteral, .value = Value(int64_t{0})};
    ERIS_TEXT_TRY(Count());
    depth = 1;
    out = std::move(zero);
    ERIS_TEXT_TRY(Second(Kind::kSubtract, &ExpressionParser::Unary, out, depth));
  }
  --nesting_;
  return absl::OkStatus();
}

absl::Status ExpressionParser::NegateLiteral() {
  // Its negative is the lowest int64, also as a decimal's digits.
  constexpr uint64_t kLowest = uint64_t{1} << 63;
  Value& value = token_.value;
  if (auto* number = std::get_if<int64_t>(&value)) {
    *number = -*number;
  } else if (auto* decimal = std::get_if<Decimal>(&value)) {
    decimal->unscaled = -decimal->unscaled;
  } else if (auto* real = std::get_if<double>(&value)) {
    *real = -*real;
  } else if (auto* large = std::get_if<uint64_t>(&value)) {
    if (*large == kLowest) {
      value = std::numeric_limits<int64_t>::min();
    } else {
      value = WideDecimal{{0 - *large, ~uint64_t{0}}, 0};
    }
  } else if (auto* wide = std::get_if<WideDecimal>(&value)) {
    auto& [low, high] = wide->unscaled;
    if (low == kLowest && high == 0 && wide->scale <= kDecimalScaleMax) {
      value = Decimal{std::numeric_limits<int64_t>::min(), wide->scale};
    } else {
      high = ~high + (low == 0 ? 1 : 0);
      low = 0 - low;
    }
  } else {
    return ExpressionError(
        token_.begin, absl::StrCat("expected a number behind '-', found ", token_.Shown(text_)));
  }
  return absl::OkStatus();
}

}  // namespace eris::text
