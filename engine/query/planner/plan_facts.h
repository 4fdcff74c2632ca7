// Facts of a plan's nodes that rewrites of plans ask for. Pure functions.
#ifndef ERIS_ENGINE_QUERY_PLANNER_PLAN_FACTS_H_
#define ERIS_ENGINE_QUERY_PLANNER_PLAN_FACTS_H_

#include <cstdint>
#include <vector>

#include "eris/query_plan.h"

namespace eris::engine {

// By node: the nodes and subqueries that name it, of those that the answer needs. The answer itself
// has one use more.
std::vector<uint32_t> PlanUses(const QueryPlan& plan);

// By node: whether it has one row at most, with any rows of the objects.
std::vector<bool> OneRowNodes(const QueryPlan& plan);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_PLAN_FACTS_H_
