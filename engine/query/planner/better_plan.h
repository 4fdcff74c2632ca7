// Rewrites a plan into one that gives the same answer in less time. Pure functions. Not from the
// papers: query processing is ERIS's next step (6).
#ifndef ERIS_ENGINE_QUERY_PLANNER_BETTER_PLAN_H_
#define ERIS_ENGINE_QUERY_PLANNER_BETTER_PLAN_H_

#include "absl/status/statusor.h"
#include "engine/query/planner/plan_sizes.h"
#include "eris/query_plan.h"
#include "storage/query/plans/plan_schemas.h"

namespace eris::engine {

// The plan after WithFiltersDown, WithJoinsInOrder and WithSharedNodes, with the same names of the
// answer's columns. A rewrite that would make it larger than a plan or an expression may be is left
// out. Errors: as PlanSchemas, of the plan as it is given.
absl::StatusOr<QueryPlan> BetterPlan(const QueryPlan& plan, storage::SchemaOf schema_of,
                                     ObjectRows rows_of);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_BETTER_PLAN_H_
