// The planner: from a plan to the steps in which it is run. The plan is rewritten first
// (planner/better_plan.h): filters move down, joins get an order. Then filters and projections
// become parts of the steps that read their input, columns that nobody uses are left out, and a
// limit over a sort is part of it. Pure functions. Not from the papers: query processing is ERIS's
// next step (6).
#ifndef ERIS_ENGINE_QUERY_PLAN_STEPS_H_
#define ERIS_ENGINE_QUERY_PLAN_STEPS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/query/planner/plan_sizes.h"
#include "eris/query_plan.h"
#include "eris/schema.h"
#include "storage/query/plans/plan_schemas.h"
#include "storage/query/plans/query_steps.h"

namespace eris::engine {

// Whether a scan of the object can filter and compute: a table.
using IsTable = absl::FunctionRef<bool(absl::string_view)>;

// What is known of the objects that a plan reads. They are asked for their kind and rows after
// their schema.
struct PlanObjects {
  storage::SchemaOf schema_of;
  IsTable is_table;
  ObjectRows rows_of;
};

// The last step hands out the plan's columns in their order, with AnswerNames. Errors: as
// PlanSchemas and WithoutDistinct.
absl::StatusOr<storage::QuerySteps> PlanSteps(const QueryPlan& plan, const PlanObjects& objects);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLAN_STEPS_H_
