// The rows that a node of a plan hands out, in the oracle, and how they are ordered, grouped and
// cut off. One thread.
#ifndef ERIS_TESTS_SUPPORT_PLAN_RELATION_H_
#define ERIS_TESTS_SUPPORT_PLAN_RELATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "eris/query_plan.h"
#include "tests/support/plan/cell.h"
#include "tests/support/plan/expression_value.h"
#include "tests/support/plan/plan_fault.h"

namespace eris::test {

struct PlanRow {
  Cells cells{};
  // What the last sort ordered by, which a projection may have left out of the cells.
  Cells keys{};
  // Set: a condition failed that decides whether this row exists. Dropped by a later node, it does
  // no harm: an engine may ask that one first.
  absl::StatusCode error = absl::StatusCode::kOk;
};

struct Relation {
  std::vector<PlanRow> rows{};
  absl::StatusCode error = absl::StatusCode::kOk;  // set: the rows could not be computed
  std::vector<SortKey> order{};                    // of the rows, over their keys; empty: none

  bool failed() const { return error != absl::StatusCode::kOk; }
};

// The order in which `keys` sort rows.
std::weak_ordering CompareSorted(const Cells& left, const Cells& right,
                                 absl::Span<const SortKey> keys);

// Whether no key is one that the engine may have another value for.
bool OrderIsExact(const Relation& relation);

Relation Sorted(const Relation& input, const std::vector<SortKey>& keys, PlanFault fault);
// Marks the answer as not determined if others than the first rows could be taken.
Relation Limited(const Relation& input, uint64_t offset, uint64_t count, PlanNotes& notes,
                 PlanFault fault);

// `arguments`: by measure the expression of its argument; nullptr: none. `types`: of the columns
// that the node hands out.
struct AggregateInput {
  const AggregateNode& node;
  const Relation& rows;
  const std::vector<const BoundExpression*>& arguments;
  const std::vector<CellType>& types;
};
Relation Aggregated(const AggregateInput& input, ExpressionValue& values, PlanNotes& notes,
                    PlanFault fault);

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_RELATION_H_
