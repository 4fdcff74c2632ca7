// Inner joins in a cheap order, and semi and anti joins where they drop most rows for their cost.
#ifndef ERIS_ENGINE_QUERY_PLANNER_JOIN_ORDER_H_
#define ERIS_ENGINE_QUERY_PLANNER_JOIN_ORDER_H_

#include <vector>

#include "engine/query/planner/plan_sizes.h"
#include "eris/query_plan.h"
#include "eris/schema.h"

namespace eris::engine {

// The plan with each tree of inner joins (join_graph.h) in an order of BestOrder; the same answer.
// An equality of a with b and of b with c is one of a with c, too. Conditions that can fail come
// after all joins of their tree, where they meet no row that they did not meet before. A semi or
// anti join above the tree moves to the input that its columns come from, if that is cheaper by the
// guess. `schemas`, `sizes`: of the plan's nodes.
QueryPlan WithJoinsInOrder(const QueryPlan& plan, const std::vector<Schema>& schemas,
                           const std::vector<NodeSize>& sizes);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_JOIN_ORDER_H_
