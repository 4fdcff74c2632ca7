// Filters as close to the objects as they can be.
#ifndef ERIS_ENGINE_QUERY_PLANNER_FILTER_DOWN_H_
#define ERIS_ENGINE_QUERY_PLANNER_FILTER_DOWN_H_

#include <vector>

#include "eris/query_plan.h"
#include "eris/schema.h"

namespace eris::engine {

// The plan with its conditions moved down: through projections and sorts, into the sides of joins
// that they name, and through aggregates if they name keys alone. Conditions of joins move as well,
// and an equality of two columns becomes a key. The same answer. `schemas`: of its nodes.
//
// A condition that can fail (CanFail) stays where it is: lower, it would meet rows that nothing has
// dropped so far, and end a query that has an answer. Nothing moves through limits, nor into a node
// that several use, nor through a join without keys whose right side may have several rows: that is
// an error, which a filter below could hide.
QueryPlan WithFiltersDown(const QueryPlan& plan, const std::vector<Schema>& schemas);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_FILTER_DOWN_H_
