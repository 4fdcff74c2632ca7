#include "text/expression_text.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "eris/schema.h"
#include "text/cut_text.h"
#include "text/expression_parser.h"
#include "text/expression_token.h"

namespace eris::text {
namespace {

using Kind = Expression::Kind;
using Token = ExpressionToken;

// A list of at least one `item`, up to the end of the text.
template <class Item>
absl::Status List(ExpressionParser& parser, absl::string_view what, Item item) {
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
absl::Status TakeName(ExpressionParser& parser, size_t begin, std::string& name) {
  if (!parser.token().IsKeyword("as")) {
    if (name.empty()) name = std::string(CutText(parser.TextFrom(begin), kColumnNameBytesMax));
    return absl::OkStatus();
  }
  ERIS_TEXT_TRY(parser.Advance());
  return parser.Name(name);
}

// Reads the arguments up to `)`: the first one into `out`, unless it is the * of count, and their
// number into `given`.
absl::Status TakeArguments(ExpressionParser& parser, AggregateColumn& out, size_t& given) {
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

absl::Status TakeAggregate(ExpressionParser& parser, AggregateColumn& out) {
  const Token name = parser.token();
  const std::string word = absl::AsciiStrToLower(name.text);
  const auto function = AggregateFunctionOf(word);
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
  ExpressionParser parser(text);
  ERIS_TEXT_TRY(parser.Begin());
  Expression out;
  ERIS_TEXT_TRY(parser.Whole(out));
  if (parser.token().kind != Token::Kind::kEnd) return parser.Unexpected("an operator or the end");
  return out;
}

absl::StatusOr<std::vector<NamedExpression>> ParseColumns(absl::string_view text) {
  ExpressionParser parser(text);
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
  ExpressionParser parser(text);
  std::vector<AggregateColumn> out;
  ERIS_TEXT_TRY(List(parser, "'as', ',' or the end",
                     [&] { return TakeAggregate(parser, out.emplace_back()); }));
  return out;
}

absl::StatusOr<std::vector<std::string>> ParseNames(absl::string_view text) {
  ExpressionParser parser(text);
  std::vector<std::string> out;
  ERIS_TEXT_TRY(List(parser, "',' or the end", [&] { return parser.Name(out.emplace_back()); }));
  return out;
}

}  // namespace eris::text
