// What later nodes of a plan need of each: which of its columns, and how often it is used. A pure
// function. Not from the papers: query processing is ERIS's next step (6).
#ifndef ERIS_ENGINE_QUERY_PLANNER_PLAN_NEEDS_H_
#define ERIS_ENGINE_QUERY_PLANNER_PLAN_NEEDS_H_

#include <cstdint>
#include <vector>

#include "eris/query_plan.h"
#include "eris/schema.h"

namespace eris::engine {

struct PlanNeeds {
  std::vector<std::vector<bool>> columns;  // by node and column
  // By node: how many nodes and expressions name it. 0: nothing of it is needed.
  std::vector<uint32_t> uses;
};

// `schemas`: by node, as PlanSchemas makes them. All columns of the last node are needed. Throws
// std::bad_alloc.
PlanNeeds NeedsOf(const QueryPlan& plan, const std::vector<Schema>& schemas);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_PLAN_NEEDS_H_
