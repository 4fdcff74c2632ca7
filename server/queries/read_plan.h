// Reads the plan of a request within the byte budget of all calls. Any thread, no state.
#ifndef ERIS_SERVER_QUERIES_READ_PLAN_H_
#define ERIS_SERVER_QUERIES_READ_PLAN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "eris/query_plan.h"
#include "eris/session.h"
#include "server/access/permit.h"
#include "server/state/server_state.h"

namespace eris::server {

// What reading a byte of a plan is charged with: messages of two bytes become objects of some
// sixty, of which a hostile plan has nothing else.
inline constexpr uint64_t kReadBytesPerPlanByte = 32;

// `bytes`: a serialised substrait.Plan. Its objects are looked up through the session, if the
// permit covers them. Errors: as PlanFromSubstrait; ResourceExhausted (the budget has no room);
// PermissionDenied.
absl::StatusOr<QueryPlan> ReadPlan(ServerState& server, Session& session, Permit& permit,
                                   const std::string& bytes);

}  // namespace eris::server

#endif  // ERIS_SERVER_QUERIES_READ_PLAN_H_
