// Reads a Substrait plan, a query that another program has planned, as a QueryPlan. It takes what
// DataFusion writes (Substrait 0.85) and DuckDB's older dialect, and knows nothing of the engine
// but the schemas of its objects. Types follow from expression.h's rules and from the plan's casts;
// the output types that a plan declares are ignored. A condition that a plan uses as a value, such
// as a column of the answer, is an int32: 1, 0 or null. Any thread, no state.
#ifndef ERIS_SERVER_SUBSTRAIT_PLAN_READER_H_
#define ERIS_SERVER_SUBSTRAIT_PLAN_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/query_plan.h"
#include "eris/schema.h"

namespace eris::server {

// The schema of the object of that name. Its errors are PlanFromSubstrait's, with the place of the
// read put before the message.
using Catalogue = std::function<absl::StatusOr<Schema>(absl::string_view)>;

inline constexpr size_t kPlanBytesMax = size_t{1} << 20;
// Levels of messages in a plan. The parser refuses those beyond the first limit without a place;
// the reader's own limit is reached before and bounds its stack.
inline constexpr int kPlanNestingMax = 256;
inline constexpr uint32_t kPlanDepthMax = 240;
static_assert(kPlanDepthMax < kPlanNestingMax);
// Parts of all expressions together: a few bytes of a plan may become many parts.
inline constexpr uint32_t kPlanPartsMax = 1u << 16;

// `bytes`: a serialised substrait.Plan with one relation. The result has the names of the plan's
// root, if it has one, and owns all it needs. Equal parts of the plan become nodes of their own.
// Errors name the place in the plan, such as `relations[0].root.input.sort.input`:
// InvalidArgument (malformed: a missing part, a field or a function that does not exist, operands
// of different types, a column that the object does not have; beyond a limit above or one of
// query_plan.h and expression.h), Unimplemented (a relation, function or type that is well-formed
// but unknown here), and what `catalogue` returns.
absl::StatusOr<QueryPlan> PlanFromSubstrait(std::string_view bytes, const Catalogue& catalogue);

}  // namespace eris::server

#endif  // ERIS_SERVER_SUBSTRAIT_PLAN_READER_H_
