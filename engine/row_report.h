// Asks the AEUs what their rows take, and how much of it lies on other NumaNodes.
#ifndef ERIS_ENGINE_ROW_REPORT_H_
#define ERIS_ENGINE_ROW_REPORT_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/core.h"
#include "engine/objects/object_entry.h"
#include "engine/options/resolve_options.h"
#include "eris/stats.h"

namespace eris::engine {

// Measures the indexes among `objects`, one after another; leaves out those dropped meanwhile.
// Blocks: each AEU walks over all its rows, a piece a turn. `interrupted` is called every few
// milliseconds; its error ends the walks. Errors: its own; Unavailable (the engine is closing);
// ResourceExhausted (no memory, or an AEU takes no command). Throws std::bad_alloc.
absl::StatusOr<std::vector<RowMemory>> MeasureRows(Core& core, const ResolvedOptions& resolved,
                                                   const std::vector<ObjectRef>& objects,
                                                   absl::FunctionRef<absl::Status()> interrupted);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_ROW_REPORT_H_
