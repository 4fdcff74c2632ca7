// Aggregates of distinct values as two groupings: by the keys and the value, then by the keys.
#ifndef ERIS_ENGINE_QUERY_DISTINCT_PLAN_H_
#define ERIS_ENGINE_QUERY_DISTINCT_PLAN_H_

#include "absl/status/statusor.h"
#include "eris/query_plan.h"

namespace eris::engine {

// The plan without distinct measures; the same answer. Errors: Unimplemented (distinct measures of
// different arguments in one node).
absl::StatusOr<QueryPlan> WithoutDistinct(const QueryPlan& plan);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_DISTINCT_PLAN_H_
