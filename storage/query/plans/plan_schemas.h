// The columns that the nodes of a plan hand out, and whether the plan is valid for the objects it
// reads. Pure functions. Not from the papers: query processing is ERIS's next step (6).
#ifndef ERIS_STORAGE_QUERY_PLAN_SCHEMAS_H_
#define ERIS_STORAGE_QUERY_PLAN_SCHEMAS_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/query_plan.h"
#include "eris/schema.h"
#include "storage/table/plan/table_plan.h"

namespace eris::storage {

// The schema of an object by its name. Errors: NotFound.
using SchemaOf = absl::FunctionRef<absl::StatusOr<Schema>(absl::string_view)>;

// By node, its columns, without a key. A column has the name that it has in its object, or one of
// what it is ("sum", "expression"); several may have the same. Errors: InvalidArgument with the
// node, the fault and the limit; those of `schema_of`.
absl::StatusOr<std::vector<Schema>> PlanSchemas(const QueryPlan& plan, SchemaOf schema_of);

// The names of the answer: the plan's own, else those of the columns, numbered where several are
// the same.
std::vector<std::string> AnswerNames(const QueryPlan& plan, const Schema& answer);

// The inputs of a node; a subquery of its expressions is none.
std::vector<uint32_t> InputsOf(const PlanNode& node);
// "join", for texts.
absl::string_view NodeName(const PlanNode& node);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_PLAN_SCHEMAS_H_
