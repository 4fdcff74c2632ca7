// Keys of joins as columns of one type: join tables compare bits.
#ifndef ERIS_ENGINE_QUERY_JOIN_KEY_PLAN_H_
#define ERIS_ENGINE_QUERY_JOIN_KEY_PLAN_H_

#include <vector>

#include "eris/query_plan.h"
#include "eris/schema.h"

namespace eris::engine {

// The plan with both columns of each key of one class and scale; the same answer. `schemas`: of its
// nodes. Numbers of different types are joined as doubles, a date and a timestamp as days. They are
// compared exactly besides: equal numbers have the same nearest double.
QueryPlan WithAlikeKeys(const QueryPlan& plan, const std::vector<Schema>& schemas);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_JOIN_KEY_PLAN_H_
