// Random well-typed expressions over the columns that a plan's node gets. None is made of literals
// alone where that would be computed when the plan is checked.
#ifndef ERIS_TESTS_SUPPORT_PLAN_EXPRESSION_SAMPLES_H_
#define ERIS_TESTS_SUPPORT_PLAN_EXPRESSION_SAMPLES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "eris/expression.h"
#include "tests/support/plan/bound_expression.h"
#include "tests/support/plan/table_samples.h"

namespace eris::test {

class ExpressionSamples {
 public:
  // REQUIRES: the scope has a field.
  ExpressionSamples(PlanRandom& random, const ExpressionScope& scope);

  // `depth`: of the tree, about.
  Expression Condition(int depth);
  Expression AnyValue(int depth);
  // A value to compare with one of `type`, mostly a literal.
  Expression Counterpart(CellType type, int depth);
  bool has_numbers() const { return !numbers_.empty(); }
  // REQUIRES: has_numbers().
  Expression Number(int depth);

 private:
  using Fields = std::vector<uint32_t>;

  Expression FieldOf(const Fields& fields);
  Expression NumberLiteral();
  Expression NumberTree(int depth);
  Expression Division(int depth);
  Expression Cast(int depth);
  Expression TypedNull(CellType type);
  Expression Truth(int depth);
  Expression NumberCase(int depth);
  // REQUIRES: there is a field of the type.
  Expression Text(int depth);
  // `type`: of dates or of timestamps.
  Expression TimeValue(CellType type, int depth);
  Expression TimeLiteral(CellType type);
  Expression BytesValue(int depth);
  Expression BytesLiteral();
  Expression ValueOfType(CellType type, int depth);
  Expression LikePattern(int depth);
  Expression Comparison(int depth);

  // The fields of the type, or of numbers all.
  const Fields& FieldsOf(CellType type) const;

  PlanRandom& random_;
  const ExpressionScope& scope_;
  Fields numbers_, texts_, dates_, timestamps_, bytes_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_EXPRESSION_SAMPLES_H_
