// The answer of a plan, row by row and node by node, as the comments of eris/query_plan.h and
// eris/expression.h read: what an engine's answer is compared with. It shares no code with the
// engine, and is slow: for tables of a hundred rows. One thread.
//
// A sort orders the answer also if there are projections above it: of rows that are ordered by what
// the answer leaves out `ranks` tells which may come where.
//
// Where an engine has a choice, the answer says so, and Differs (plan_differs.h) takes it into
// account:
//   - Rows are a bag. A limit at the end of the plan takes any rows, or with a sort below it any of
//     the tied ones: `rows` has all of them.
//   - A limit elsewhere, or the order in which doubles are added, can change everything above it:
//     then `determined` is false, and rows are not compared. PlanSamples makes no such plans.
//   - An engine must end with an error only if a value of the answer depends on arithmetic that is
//     outside its type: `fails`. It may end with one of `possible` whenever a value that the plan
//     names is outside its type for one of the rows that its node gets, even if nothing needs it.
//     It ends with one of `out_of_order` if it computes more: behind a false part of an `and`, or
//     for rows that another node drops.
#ifndef ERIS_TESTS_SUPPORT_PLAN_PLAN_INTERPRETER_H_
#define ERIS_TESTS_SUPPORT_PLAN_PLAN_INTERPRETER_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "eris/query_plan.h"
#include "eris/schema.h"
#include "tests/support/plan/expression_value.h"
#include "tests/support/plan/plan_fault.h"
#include "tests/support/plan/plan_types.h"

namespace eris::test {

struct PlanAnswer {
  bool fails = false;  // then there are no rows
  PlanNotes notes{};
  CellTypes types{};          // of the columns
  std::vector<Cells> rows{};  // before the limits at the end; sorted, if there is a sort
  // The columns by which the answer is sorted. Empty: none, or not all of them are in the answer.
  std::vector<SortKey> order{};
  // By row the number of rows before it in the order, of those that are not tied with it. Empty:
  // the answer has no order, or one that is not exact.
  std::vector<size_t> ranks{};
  uint64_t offset = 0;  // of the limits at the end, taken together
  uint64_t count = std::numeric_limits<uint64_t>::max();
};

// `schemas`: of each node, as the engine has found them. Only types and scales count.
// Errors: InvalidArgument (the headers do not allow the plan), Internal (a type in `schemas` is not
// what the headers say; int32 and int64 count as one).
absl::StatusOr<PlanAnswer> Interpret(const QueryPlan& plan, const PlanTables& tables,
                                     const std::vector<Schema>& schemas);
// With the types as the oracle reads the headers.
absl::StatusOr<PlanAnswer> Interpret(const QueryPlan& plan, const PlanTables& tables);

// The rows that an engine with a fault hands out, or its error. One without a fault is an engine
// that takes the first rows wherever it has a choice.
absl::StatusOr<std::vector<Cells>> RunWithFault(const QueryPlan& plan, const PlanTables& tables,
                                                PlanFault fault);

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_PLAN_INTERPRETER_H_
