// Which keys of a grouping follow from its other keys. Pure functions. Not from the papers: query
// processing is ERIS's next step (6).
//
// The key of an object determines its row, an inner join's equality determines one column by the
// other, and an expression is determined by its columns. So "group by l_orderkey, o_orderdate,
// o_shippriority" makes the groups of "group by l_orderkey": the other two are stored with a group,
// and neither hashed nor compared. They are carried.
#ifndef ERIS_ENGINE_QUERY_PLANNER_CARRIED_KEYS_H_
#define ERIS_ENGINE_QUERY_PLANNER_CARRIED_KEYS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "eris/query_plan.h"
#include "eris/schema.h"
#include "storage/query/plans/plan_schemas.h"

namespace eris::engine {

// Bit i: key i of a grouping is carried. Rows with the same values of the keys without a bit have
// the same value of it, bit by bit, nulls included.
using CarriedSet = uint16_t;
static_assert(kPlanGroupKeysMax <= 16);

// By node; of others than aggregates 0. A grouping with keys compares at least one of them.
// `schemas`: of the plan's nodes. Errors: those of `schema_of`.
absl::StatusOr<std::vector<CarriedSet>> CarriedKeys(const QueryPlan& plan,
                                                    const std::vector<Schema>& schemas,
                                                    storage::SchemaOf schema_of);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_CARRIED_KEYS_H_
