// Aggregates of distinct values as two groupings: by the keys and the value, then by the keys. If
// the values of several expressions are taken once, each has such groupings of its own, and their
// groups are joined by the keys.
#ifndef ERIS_ENGINE_QUERY_DISTINCT_PLAN_H_
#define ERIS_ENGINE_QUERY_DISTINCT_PLAN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "eris/query_plan.h"
#include "eris/schema.h"

namespace eris::engine {

// The plan without distinct measures; the same answer. `schemas`: of its nodes. Errors:
// InvalidArgument (an aggregate of distinct values with kPlanGroupKeysMax keys: one less is the
// most).
absl::StatusOr<QueryPlan> WithoutDistinct(const QueryPlan& plan,
                                          const std::vector<Schema>& schemas);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_DISTINCT_PLAN_H_
