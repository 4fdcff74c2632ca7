// The values of subqueries, in the expressions that name them: what a step reads of earlier ones is
// a literal when the step begins. Pure functions. Not from the papers.
#ifndef ERIS_STORAGE_QUERY_SUBQUERY_VALUES_H_
#define ERIS_STORAGE_QUERY_SUBQUERY_VALUES_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/expression.h"
#include "eris/schema.h"
#include "storage/query/plans/query_steps.h"
#include "storage/query/rows/envelope.h"

namespace eris::storage {

// A null, and the value in the first row and column of an envelope, as expressions of exactly that
// column's type. REQUIRES: the envelope has a row.
Expression NullOf(const ColumnSchema& schema);
Expression ValueOf(const Envelope& envelope, const ColumnSchema& schema);

// Calls visit(step) for each value of a step that a query or a step names, as often as it does.
void ForSubqueries(const Query& query, absl::FunctionRef<void(uint32_t)> visit);
void ForSubqueries(const QueryStep& step, absl::FunctionRef<void(uint32_t)> visit);

class SubqueryValues {
 public:
  // The value of a step, whose rows are complete.
  using StepValue = absl::FunctionRef<absl::StatusOr<Expression>(uint32_t step)>;
  explicit SubqueryValues(StepValue value_of) : value_of_(value_of) {}

  // Puts values in the place of subqueries. Errors: those of `value_of`; InvalidArgument (an
  // expression with its values is too large).
  absl::Status Put(QueryStep& step);

 private:
  absl::Status Put(Expression& expression);
  absl::Status Put(Query& query);

  StepValue value_of_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_SUBQUERY_VALUES_H_
