// Where the rows of an object are that a snapshot sees, so that many readers can each take a share
// of them: a table's by AEU, an index's by range. Blocks; see Session::Shares.
// Paper: ERIS 3.1 (each AEU scans its own part).
#ifndef ERIS_ENGINE_READS_SHARES_H_
#define ERIS_ENGINE_READS_SHARES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/completion/session_nodes.h"
#include "engine/core/core.h"
#include "engine/core/session_credit.h"
#include "engine/objects/object_entry.h"
#include "eris/query.h"

namespace eris::engine {

// Errors: as Session::Shares. Throws std::bad_alloc.
absl::StatusOr<std::vector<ObjectShare>> SharesOf(Core& core, SessionNode& node,
                                                  const ObjectRef& object, const Query& query,
                                                  absl::Time deadline, const SessionCredit& credit);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_SHARES_H_
