// Expressions computed for one row, as the comments of eris/expression.h read. One thread.
//
// A value that arithmetic could not compute is a cell with an error. It spreads to what is computed
// from it, except where another part decides alone: false in an `and`, true in an `or`, a value
// that a `case` does not take.
#ifndef ERIS_TESTS_SUPPORT_PLAN_EXPRESSION_VALUE_H_
#define ERIS_TESTS_SUPPORT_PLAN_EXPRESSION_VALUE_H_

#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "tests/support/plan/bound_expression.h"
#include "tests/support/plan/cell.h"
#include "tests/support/plan/plan_fault.h"

namespace eris::test {

// What was met while a plan was computed.
struct PlanNotes {
  // Errors of values that eris/expression.h lets an engine compute.
  std::set<absl::StatusCode> possible{};
  // Errors of the others: behind a false part of an `and`, not taken by a `case`.
  std::set<absl::StatusCode> out_of_order{};
  // False if the answer depends on a choice of the engine: the order of additions of doubles, or
  // the rows of a limit without an order.
  bool determined = true;
};

struct Verdict {
  enum class Truth : uint8_t { kFalse, kTrue, kUnknown };
  Truth truth = Truth::kUnknown;
  absl::StatusCode error = absl::StatusCode::kOk;  // else `truth` means nothing

  bool failed() const { return error != absl::StatusCode::kOk; }
  bool IsTrue() const { return !failed() && truth == Truth::kTrue; }
};

class ExpressionValue {
 public:
  // `subquery`: the only value of a node by its number.
  ExpressionValue(PlanNotes& notes, PlanFault fault, std::function<Cell(uint32_t)> subquery)
      : notes_(notes), fault_(fault), subquery_(std::move(subquery)) {}

  Cell Of(const BoundExpression& expression, const Cells& row);
  Verdict Holds(const BoundExpression& condition, const Cells& row);
  // Whether `left` = `right`.
  Verdict Equal(const Cell& left, const Cell& right);

 private:
  Cell Failed(CellType type, absl::StatusCode error);
  // `number` in `type`, or an error if that does not hold it.
  Cell Checked(CellType type, Int128 number);
  Cell Arithmetic(const BoundExpression& expression, const Cells& row);
  Cell Case(const BoundExpression& expression, const Cells& row);
  Cell Converted(const Cell& from, CellType type);
  Cell CastReal(const Cell& from, CellType type);
  Verdict Connective(const BoundExpression& condition, const Cells& row);
  Verdict Compared(Expression::Kind kind, const Cell& left, const Cell& right);
  Verdict In(const BoundExpression& condition, const Cells& row);

  PlanNotes& notes_;
  const PlanFault fault_;
  const std::function<Cell(uint32_t)> subquery_;
  uint32_t out_of_order_ = 0;  // above 0: a correct engine need not compute this
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_EXPRESSION_VALUE_H_
