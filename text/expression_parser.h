// Reads one expression of a text, for expression_text.cc: its grammar, as methods that each read
// one level of it. Operators are in expression_parser.cc, what is no operand of two in
// expression_calls.cc. A parser belongs to one text and one thread.
#ifndef ERIS_TEXT_EXPRESSION_PARSER_H_
#define ERIS_TEXT_EXPRESSION_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/expression.h"
#include "eris/query.h"
#include "text/expression_token.h"

#define ERIS_TEXT_TRY(expression)         \
  do {                                    \
    absl::Status one_step = (expression); \
    if (!one_step.ok()) return one_step;  \
  } while (false)

namespace eris::text {

// The aggregate function of that name, which has no capital letters.
std::optional<AggregateFunction> AggregateFunctionOf(absl::string_view small_letters);

// One text, from left to right.
class ExpressionParser {
 public:
  // The text outlives the parser.
  explicit ExpressionParser(absl::string_view text) : text_(text) {}

  // Takes the first token. Errors: InvalidArgument, also if the text is too long.
  absl::Status Begin();
  // Reads an expression of its own, up to a token that does not continue it.
  absl::Status Whole(Expression& out);
  // Reads the name of a column.
  absl::Status Name(std::string& name);

  // The token that has not been taken.
  const ExpressionToken& token() const { return token_; }
  absl::Status Advance();
  // Takes a token that must be the symbol.
  absl::Status Expect(absl::string_view symbol);
  absl::Status Unexpected(absl::string_view expected) const;
  // The text between `begin` and the last token taken.
  std::string TextFrom(size_t begin) const;

 private:
  using Kind = Expression::Kind;
  using Token = ExpressionToken;

  // Makes `out` a TreeNode over `arguments`, the deepest of which has `depth` levels.
  absl::Status Join(Kind kind, std::vector<Expression> arguments, Expression& out, uint32_t& depth);
  // Counts a TreeNode.
  absl::Status Count();
  absl::Status TooDeep() const;

  // Each reads one level of the grammar into `out`, and says how many levels of TreeNodes it has.
  absl::Status Or(Expression& out, uint32_t& depth);
  absl::Status And(Expression& out, uint32_t& depth);
  absl::Status Not(Expression& out, uint32_t& depth);
  absl::Status Comparison(Expression& out, uint32_t& depth);
  absl::Status Sum(Expression& out, uint32_t& depth);
  absl::Status Product(Expression& out, uint32_t& depth);
  absl::Status Unary(Expression& out, uint32_t& depth);
  absl::Status Primary(Expression& out, uint32_t& depth);

  // What follows a first operand, which is in `out`.
  absl::Status Negate(Expression& out, uint32_t& depth);
  absl::Status IsNull(Expression& out, uint32_t& depth);
  absl::Status Between(Expression& out, uint32_t& depth);
  absl::Status In(Expression& out, uint32_t& depth);
  absl::Status Like(Expression& out, uint32_t& depth);
  template <class Operand>
  absl::Status Second(Kind kind, Operand operand, Expression& out, uint32_t& depth);
  // One level of a chain a WORD b WORD c, all in one TreeNode.
  template <class Operand>
  absl::Status Chain(Kind kind, absl::string_view word, Operand operand, Expression& out,
                     uint32_t& depth);
  // Negates the literal token after a '-'.
  absl::Status NegateLiteral();

  // What has a name and parentheses, or begins with `case`; its TreeNode has been counted.
  absl::Status Call(const Token& name, Expression& out, uint32_t& depth);
  absl::Status Case(Expression& out, uint32_t& depth);
  // The arguments of a call, up to its `)`. Its name has been taken, its `(` has not. `depth`: of
  // the arguments.
  absl::Status DatePart(const Token& name, Expression& call, uint32_t& depth);
  absl::Status Cast(Expression& call, uint32_t& depth);
  absl::Status Substring(Expression& call, uint32_t& depth);
  absl::Status CastType(Expression& cast);
  absl::Status CastDigits(absl::string_view what, uint8_t most, uint8_t& digits);
  // Takes a token, then reads one more argument.
  absl::Status Argument(Expression& call, uint32_t& depth);
  absl::Status NoFunction(const Token& name) const;

  const absl::string_view text_;
  ExpressionToken token_;
  size_t last_end_ = 0;   // of the token taken last
  uint32_t size_ = 0;     // TreeNodes of the expression being read
  uint32_t nesting_ = 0;  // of parentheses, signs and calls; some leave no TreeNode
};

}  // namespace eris::text

#endif  // ERIS_TEXT_EXPRESSION_PARSER_H_
