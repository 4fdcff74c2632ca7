// Expressions with the type of each part, and the types of the columns that a plan's nodes hand
// out: the oracle's own reading of the rules in eris/expression.h. Control plane; pure functions.
#ifndef ERIS_TESTS_SUPPORT_PLAN_BOUND_EXPRESSION_H_
#define ERIS_TESTS_SUPPORT_PLAN_BOUND_EXPRESSION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "eris/expression.h"
#include "tests/support/plan/cell.h"
#include "tests/support/plan/utf8_text.h"

namespace eris::test {

using CellTypes = std::vector<CellType>;  // of the columns of a node

// An expression with its type. A condition has none.
struct BoundExpression {
  Expression::Kind kind = Expression::Kind::kLiteral;
  bool condition = false;
  CellType type{};
  std::vector<BoundExpression> arguments{};  // of kDatePart, kLike and kSubstring the first alone
  Cell literal{};                            // kLiteral
  uint32_t number = 0;                       // kField, kSubquery
  DatePart part = DatePart::kYear;           // kDatePart
  LikePieces pattern{};                      // kLike
  bool null_pattern = false;                 // kLike: the pattern or its escape is null
  int64_t first = 1;                         // kSubstring
  std::optional<int64_t> length{};           // kSubstring
};

// What an expression may name.
struct ExpressionScope {
  CellTypes fields{};              // of the node's input
  std::vector<CellTypes> nodes{};  // those before the node, for subqueries
};

// Errors: InvalidArgument, for what eris/expression.h does not allow.
absl::StatusOr<BoundExpression> BindValue(const Expression& expression,
                                          const ExpressionScope& scope);
absl::StatusOr<BoundExpression> BindCondition(const Expression& expression,
                                              const ExpressionScope& scope);

// The type of left + right, both numbers; of products the scale is another.
CellType SumType(CellType left, CellType right);

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_BOUND_EXPRESSION_H_
