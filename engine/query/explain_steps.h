// The steps of a query as text, for people. Pure functions. Not from the papers: query processing
// is ERIS's next step (6).
#ifndef ERIS_ENGINE_QUERY_EXPLAIN_STEPS_H_
#define ERIS_ENGINE_QUERY_EXPLAIN_STEPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/query/plans/plan_schemas.h"
#include "storage/query/plans/query_steps.h"

namespace eris::engine {

// One line per step, in the order in which they run, with the steps that its rows go to:
//
//   step 0: scan and group orders; by clerk; gives f0 = clerk, f1 = count(*); ~70 rows -> step 1
//   step 1: sort step 0; by f1 desc; first 3 rows; gives clerk = f0, n = f1; ~3 rows -> answer
//
// The rows are what the planner expects. Expressions name columns of an object by their names, and
// those of another step f0, f1, ...; long ones are cut off. `schema_of`: of the objects that the
// steps read. Errors: those of `schema_of`.
absl::StatusOr<std::string> ExplainSteps(const storage::QuerySteps& steps,
                                         storage::SchemaOf schema_of);

// The same without line breaks: the line of each step.
absl::StatusOr<std::vector<std::string>> StepLines(const storage::QuerySteps& steps,
                                                   storage::SchemaOf schema_of);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_EXPLAIN_STEPS_H_
