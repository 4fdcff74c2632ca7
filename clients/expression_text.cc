#include "clients/expression_text.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "clients/cut_text.h"
#include "clients/expression_token.h"
#include "eris/schema.h"

namespace eris::client {
namespace {

using Kind = Expression::Kind;
using Token = ExpressionToken;

#define ERIS_TEXT_TRY(expression)         \
  do {                                    \
    absl::Status one_step = (expression); \
    if (!one_step.ok()) return one_step;  \
  } while (false)

std::optional<AggregateFunction> FunctionOf(absl::string_view small_letters) {
  return AggregateFunctionFromName(small_letters == "average" ? "avg" : small_letters);
}

// One text, from left to right. The methods each read one level of the grammar into `out`, and say
// how many levels of TreeNodes it has.
class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::Status Begin() {
    if (text_.size() > kExpressionTextBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the text has ", text_.size(), " bytes, must have at most ", kExpressionTextBytesMax));
    }
    return Advance();
  }
  const Token& token() const { return token_; }
  absl::Status Advance() {
    last_end_ = token_.end;
    absl::StatusOr<Token> next = NextExpressionToken(text_, token_.end);
    if (!next.ok()) return next.status();
    token_ = *std::move(next);
    return absl::OkStatus();
  }
  // Takes the token if it is the symbol.
  absl::StatusOr<bool> Take(absl::string_view symbol) {
    if (!token_.IsSymbol(symbol)) return false;
    ERIS_TEXT_TRY(Advance());
    return true;
  }
  absl::StatusOr<bool> TakeKeyword(absl::string_view word) {
    if (!token_.IsKeyword(word)) return false;
    ERIS_TEXT_TRY(Advance());
    return true;
  }
  absl::Status Expect(absl::string_view symbol) {
    if (!token_.IsSymbol(symbol)) return Unexpected(absl::StrCat("'", symbol, "'"));
    return Advance();
  }
  absl::Status Unexpected(absl::string_view expected) const {
    return ExpressionError(token_.begin,
                           absl::StrCat("expected ", expected, ", found ", token_.Shown(text_)));
  }
  // The text between `begin` and the last token taken.
  std::string TextFrom(size_t begin) const {
    return std::string(text_.substr(begin, last_end_ - begin));
  }

  absl::Status Whole(Expression& out) {
    size_ = 0;
    uint32_t depth = 0;
    return Or(out, depth);
  }

  absl::Status Name(std::string& name) {
    if (token_.kind != Token::Kind::kWord && token_.kind != Token::Kind::kQuoted) {
      return Unexpected("a name");
    }
    name = token_.text;
    return Advance();
  }

 private:
  // Makes `out` a TreeNode over `arguments`, the deepest of which has `depth` levels.
  absl::Status Join(Kind kind, std::vector<Expression> arguments, Expression& out,
                    uint32_t& depth) {
    ERIS_TEXT_TRY(Count());
    if (++depth > kExpressionDepthMax) return TooDeep();
    out = Expression{.kind = kind, .arguments = std::move(arguments)};
    return absl::OkStatus();
  }
  absl::Status Count() {
    if (++size_ <= kExpressionSizeMax) return absl::OkStatus();
    return ExpressionError(
        token_.begin, absl::StrCat("the expression has more than ", kExpressionSizeMax, " terms"));
  }
  absl::Status TooDeep() const {
    return ExpressionError(token_.begin, absl::StrCat("the expression has more than ",
                                                      kExpressionDepthMax, " levels"));
  }

  // One level of a chain a WORD b WORD c, all in one TreeNode.
  template <class Operand>
  absl::Status Chain(Kind kind, absl::string_view word, Operand operand, Expression& out,
                     uint32_t& depth) {
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
  absl::Status Or(Expression& out, uint32_t& depth) {
    return Chain(Kind::kOr, "or", &Parser::And, out, depth);
  }
  absl::Status And(Expression& out, uint32_t& depth) {
    return Chain(Kind::kAnd, "and", &Parser::Not, out, depth);
  }
  absl::Status Not(Expression& out, uint32_t& depth) {
    if (!token_.IsKeyword("not")) return Comparison(out, depth);
    if (++nesting_ > kExpressionDepthMax) return TooDeep();
    ERIS_TEXT_TRY(Advance());
    std::vector<Expression> arguments(1);
    ERIS_TEXT_TRY(Not(arguments[0], depth));
    --nesting_;
    return Join(Kind::kNot, std::move(arguments), out, depth);
  }

  absl::Status Comparison(Expression& out, uint32_t& depth) {
    ERIS_TEXT_TRY(Sum(out, depth));
    for (const Kind kind : {Kind::kEqual, Kind::kNotEqual, Kind::kLess, Kind::kLessEqual,
                            Kind::kGreater, Kind::kGreaterEqual}) {
      if (!token_.IsSymbol(OperatorText(kind))) continue;
      ERIS_TEXT_TRY(Advance());
      return Second(kind, &Parser::Sum, out, depth);
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
  // Adds a second operand; `out` is the first.
  template <class Operand>
  absl::Status Second(Kind kind, Operand operand, Expression& out, uint32_t& depth) {
    std::vector<Expression> arguments;
    arguments.push_back(std::move(out));
    uint32_t other = 0;
    ERIS_TEXT_TRY((this->*operand)(arguments.emplace_back(), other));
    depth = std::max(depth, other);
    return Join(kind, std::move(arguments), out, depth);
  }
  absl::Status Negate(Expression& out, uint32_t& depth) {
    std::vector<Expression> arguments;
    arguments.push_back(std::move(out));
    return Join(Kind::kNot, std::move(arguments), out, depth);
  }
  absl::Status IsNull(Expression& out, uint32_t& depth) {
    ERIS_TEXT_TRY(Advance());
    const absl::StatusOr<bool> negated = TakeKeyword("not");
    if (!negated.ok()) return negated.status();
    if (!token_.IsKeyword("null")) return Unexpected("'null'");
    ERIS_TEXT_TRY(Advance());
    std::vector<Expression> arguments;
    arguments.push_back(std::move(out));
    ERIS_TEXT_TRY(Join(Kind::kIsNull, std::move(arguments), out, depth));
    return *negated ? Negate(out, depth) : absl::OkStatus();
  }
  absl::Status Between(Expression& out, uint32_t& depth) {
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
  absl::Status In(Expression& out, uint32_t& depth) {
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

  absl::Status Like(Expression& out, uint32_t& depth) {
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
      if (token_.kind != Token::Kind::kWord || absl::AsciiStrToLower(token_.text) != "escape")
        break;
    }
    depth = std::max(depth, 1u);
    return Join(Kind::kLike, std::move(arguments), out, depth);
  }

  absl::Status Sum(Expression& out, uint32_t& depth) {
    ERIS_TEXT_TRY(Product(out, depth));
    while (token_.IsSymbol("+") || token_.IsSymbol("-")) {
      const Kind kind = token_.text == "+" ? Kind::kAdd : Kind::kSubtract;
      ERIS_TEXT_TRY(Advance());
      ERIS_TEXT_TRY(Second(kind, &Parser::Product, out, depth));
    }
    return absl::OkStatus();
  }
  absl::Status Product(Expression& out, uint32_t& depth) {
    ERIS_TEXT_TRY(Unary(out, depth));
    while (token_.IsSymbol("*") || token_.IsSymbol("/")) {
      const Kind kind = token_.text == "*" ? Kind::kMultiply : Kind::kDivide;
      ERIS_TEXT_TRY(Advance());
      ERIS_TEXT_TRY(Second(kind, &Parser::Unary, out, depth));
    }
    return absl::OkStatus();
  }
  absl::Status Unary(Expression& out, uint32_t& depth) {
    if (!token_.IsSymbol("-")) return Primary(out, depth);
    if (++nesting_ > kExpressionDepthMax) return TooDeep();
    const size_t begin = token_.begin;
    ERIS_TEXT_TRY(Advance());
    if (token_.kind == Token::Kind::kLiteral) {
      ERIS_TEXT_TRY(NegateLiteral(begin));
      ERIS_TEXT_TRY(Primary(out, depth));
    } else {
      Expression zero{.kind = Kind::kLiteral, .value = Value(int64_t{0})};
      ERIS_TEXT_TRY(Count());
      depth = 1;
      out = std::move(zero);
      ERIS_TEXT_TRY(Second(Kind::kSubtract, &Parser::Unary, out, depth));
    }
    --nesting_;
    return absl::OkStatus();
  }
  // Negates the literal token after a '-'.
  absl::Status NegateLiteral(size_t begin) {
    constexpr uint64_t kLowest = uint64_t{1} << 63;
    Value& value = token_.value;
    if (auto* number = std::get_if<int64_t>(&value)) {
      *number = -*number;
    } else if (auto* decimal = std::get_if<Decimal>(&value)) {
      decimal->unscaled = -decimal->unscaled;
    } else if (auto* real = std::get_if<double>(&value)) {
      *real = -*real;
    } else if (auto* large = std::get_if<uint64_t>(&value); large && *large == kLowest) {
      value = std::numeric_limits<int64_t>::min();
    } else if (large != nullptr) {
      return ExpressionError(
          begin, absl::StrCat("'-", *large, "' is below ", std::numeric_limits<int64_t>::min()));
    } else {
      return ExpressionError(
          begin, absl::StrCat("expected a number behind '-', found ", token_.Shown(text_)));
    }
    return absl::OkStatus();
  }

  absl::Status Primary(Expression& out, uint32_t& depth) {
    if (token_.IsSymbol("(")) {
      if (++nesting_ > kExpressionDepthMax) return TooDeep();
      ERIS_TEXT_TRY(Advance());
      ERIS_TEXT_TRY(Or(out, depth));
      --nesting_;
      return Expect(")");
    }
    ERIS_TEXT_TRY(Count());
    depth = 1;
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
  // A function; its TreeNode has been counted.
  absl::Status Call(const Token& name, Expression& out, uint32_t& depth) {
    constexpr size_t kTakes = 2;
    if (absl::AsciiStrToLower(name.text) != "date_part") return NoFunction(name);
    if (++nesting_ > kExpressionDepthMax) return TooDeep();
    depth = 0;
    std::vector<Expression> arguments;
    do {
      ERIS_TEXT_TRY(Advance());
      uint32_t other = 0;
      ERIS_TEXT_TRY(Or(arguments.emplace_back(), other));
      depth = std::max(depth, other);
    } while (token_.IsSymbol(","));
    ERIS_TEXT_TRY(Expect(")"));
    --nesting_;
    if (arguments.size() != kTakes) {
      return ExpressionError(name.begin, absl::StrCat("date_part takes a part and a date, ",
                                                      arguments.size(), " arguments are given"));
    }
    if (++depth > kExpressionDepthMax) return TooDeep();
    out = Expression{.kind = Kind::kDatePart, .arguments = std::move(arguments)};
    return absl::OkStatus();
  }
  absl::Status NoFunction(const Token& name) const {
    const std::string word = absl::AsciiStrToLower(name.text);
    return ExpressionError(
        name.begin,
        FunctionOf(word)
            ? absl::StrCat("'", word, "' stands in aggregates alone, not inside an expression")
            : absl::StrCat(name.Shown(text_), " is no function: an expression has columns, ",
                           "literals, operators and date_part"));
  }

  const absl::string_view text_;
  Token token_;
  size_t last_end_ = 0;   // of the token taken last
  uint32_t size_ = 0;     // TreeNodes of the expression being read
  uint32_t nesting_ = 0;  // of parentheses and signs, which may leave no TreeNode
};

// A list of at least one `item`, up to the end of the text.
template <class Item>
absl::Status List(Parser& parser, absl::string_view what, Item item) {
  ERIS_TEXT_TRY(parser.Begin());
  for (;;) {
    ERIS_TEXT_TRY(item());
    if (!parser.token().IsSymbol(",")) break;
    ERIS_TEXT_TRY(parser.Advance());
  }
  if (parser.token().kind != Token::Kind::kEnd) return parser.Unexpected(what);
  return absl::OkStatus();
}

// "as name", or the text itself.
absl::Status TakeName(Parser& parser, size_t begin, std::string& name) {
  if (!parser.token().IsKeyword("as")) {
    if (name.empty()) name = std::string(CutText(parser.TextFrom(begin), kColumnNameBytesMax));
    return absl::OkStatus();
  }
  ERIS_TEXT_TRY(parser.Advance());
  return parser.Name(name);
}

// Reads the arguments up to `)`: the first one into `out`, unless it is the * of count, and their
// number into `given`.
absl::Status TakeArguments(Parser& parser, AggregateColumn& out, size_t& given) {
  for (given = 0; !parser.token().IsSymbol(")") || given > 0;) {
    if (given == 0 && parser.token().IsSymbol("*")) {
      ERIS_TEXT_TRY(parser.Advance());
    } else {
      Expression more;
      ERIS_TEXT_TRY(parser.Whole(given == 0 ? out.argument.emplace() : more));
    }
    ++given;
    if (!parser.token().IsSymbol(",")) break;
    ERIS_TEXT_TRY(parser.Advance());
  }
  return parser.Expect(")");
}

absl::Status TakeAggregate(Parser& parser, AggregateColumn& out) {
  const Token name = parser.token();
  const std::string word = absl::AsciiStrToLower(name.text);
  const auto function = FunctionOf(word);
  if (name.kind != Token::Kind::kWord || !function) {
    const auto names = absl::MakeConstSpan(kAggregateFunctionNames);
    return parser.Unexpected(
        absl::StrCat(absl::StrJoin(names.first(names.size() - 1), ", "), " or ", names.back()));
  }
  out.function = *function;
  const bool counts = out.function == AggregateFunction::kCount;
  ERIS_TEXT_TRY(parser.Advance());
  ERIS_TEXT_TRY(parser.Expect("("));
  if (parser.token().IsSymbol("*") && !counts) {
    return ExpressionError(name.begin, absl::StrCat(word, " takes 1 argument: * is for count"));
  }
  size_t given = 0;
  ERIS_TEXT_TRY(TakeArguments(parser, out, given));
  if (given != 1) {
    return ExpressionError(name.begin, absl::StrCat(word, " takes ", counts ? "* or " : "",
                                                    "1 argument, ", given, " are given"));
  }
  return TakeName(parser, name.begin, out.name);
}

}  // namespace

absl::StatusOr<Expression> ParseExpression(absl::string_view text) {
  Parser parser(text);
  ERIS_TEXT_TRY(parser.Begin());
  Expression out;
  ERIS_TEXT_TRY(parser.Whole(out));
  if (parser.token().kind != Token::Kind::kEnd) return parser.Unexpected("an operator or the end");
  return out;
}

absl::StatusOr<std::vector<NamedExpression>> ParseColumns(absl::string_view text) {
  Parser parser(text);
  std::vector<NamedExpression> out;
  const auto take = [&]() -> absl::Status {
    NamedExpression& one = out.emplace_back();
    const size_t begin = parser.token().begin;
    ERIS_TEXT_TRY(parser.Whole(one.expression));
    if (one.expression.kind == Kind::kColumn) one.name = one.expression.column;
    return TakeName(parser, begin, one.name);
  };
  ERIS_TEXT_TRY(List(parser, "an operator, 'as', ',' or the end", take));
  return out;
}

absl::StatusOr<std::vector<AggregateColumn>> ParseAggregates(absl::string_view text) {
  Parser parser(text);
  std::vector<AggregateColumn> out;
  ERIS_TEXT_TRY(List(parser, "'as', ',' or the end",
                     [&] { return TakeAggregate(parser, out.emplace_back()); }));
  return out;
}

absl::StatusOr<std::vector<std::string>> ParseNames(absl::string_view text) {
  Parser parser(text);
  std::vector<std::string> out;
  ERIS_TEXT_TRY(List(parser, "',' or the end", [&] { return parser.Name(out.emplace_back()); }));
  return out;
}

}  // namespace eris::client
