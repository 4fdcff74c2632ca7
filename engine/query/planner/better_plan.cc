#include "engine/query/planner/better_plan.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "engine/query/planner/filter_down.h"
#include "engine/query/planner/join_order.h"
#include "engine/query/planner/shared_plans.h"

namespace eris::engine {
namespace {

// A plan with the schemas of its nodes.
struct TypedPlan {
  QueryPlan plan{};
  std::vector<Schema> schemas{};

  void TakeIfValid(QueryPlan other, storage::SchemaOf schema_of) {
    auto other_schemas = storage::PlanSchemas(other, schema_of);
    if (!other_schemas.ok()) return;
    plan = std::move(other);
    schemas = *std::move(other_schemas);
  }
};

}  // namespace

absl::StatusOr<QueryPlan> BetterPlan(const QueryPlan& plan, storage::SchemaOf schema_of,
                                     ObjectRows rows_of) {
  TypedPlan best{.plan = plan};
  ERIS_ASSIGN_OR_RETURN(best.schemas, storage::PlanSchemas(plan, schema_of));
  best.plan.names = storage::AnswerNames(plan, best.schemas.back());
  best.TakeIfValid(WithFiltersDown(best.plan, best.schemas), schema_of);
  ERIS_ASSIGN_OR_RETURN(const std::vector<NodeSize> sizes,
                        PlanSizes(best.plan, best.schemas, schema_of, rows_of));
  best.TakeIfValid(WithJoinsInOrder(best.plan, best.schemas, sizes), schema_of);
  best.TakeIfValid(WithSharedNodes(best.plan), schema_of);
  return std::move(best.plan);
}

}  // namespace eris::engine
