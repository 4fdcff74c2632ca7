#include "server/queries/read_plan.h"

#include <algorithm>

#include "base/status_macros.h"
#include "server/substrait/plan_reader.h"

namespace eris::server {

absl::StatusOr<QueryPlan> ReadPlan(ServerState& server, Session& session, Permit& permit,
                                   const std::string& bytes) {
  // A larger plan is refused without being parsed.
  const uint64_t needed = kReadBytesPerPlanByte * std::min<uint64_t>(bytes.size(), kPlanBytesMax);
  const ByteBudget::Charge charge = TakeBudget(server, /*is_write=*/false, needed);
  if (!charge) return OverBudgetStatus(server.budget, needed);
  return PlanFromSubstrait(bytes, [&](absl::string_view name) -> absl::StatusOr<Schema> {
    ERIS_RETURN_IF_ERROR(permit.CheckObject(name));
    ERIS_ASSIGN_OR_RETURN(const Object object, session.Open(name));
    return object.schema();
  });
}

}  // namespace eris::server
