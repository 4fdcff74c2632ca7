// Equal parts of a plan computed once.
#ifndef ERIS_ENGINE_QUERY_PLANNER_SHARED_PLANS_H_
#define ERIS_ENGINE_QUERY_PLANNER_SHARED_PLANS_H_

#include "eris/query_plan.h"

namespace eris::engine {

// The plan with one node for joins, aggregates, sorts and limits that are equal, inputs included;
// the same answer. Reads, filters and projections are not shared as such: they run within the step
// that uses them, and rows that several steps use would have to be stored.
QueryPlan WithSharedNodes(const QueryPlan& plan);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_SHARED_PLANS_H_
