// The engine's memory as its callers see it: accounts of pools and objects, locations of pages, and
// requested page kinds. Any thread; only VerifyMemory blocks.
#ifndef ERIS_ENGINE_MEMORY_REPORT_H_
#define ERIS_ENGINE_MEMORY_REPORT_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/objects/object_entry.h"
#include "engine/options/resolve_options.h"
#include "eris/stats.h"
#include "memory/memory_system.h"

namespace eris::engine {

// As Engine::Memory. `objects` by name.
MemoryStats ReportMemory(const ResolvedOptions& resolved, const memory::MemorySystem& memory,
                         const std::vector<ObjectRef>& objects, const MemoryStatsOptions& options);

// As Engine::VerifyMemory. `interrupted` is called now and then; its error ends the verification.
absl::StatusOr<MemoryVerification> VerifyMemory(const ResolvedOptions& resolved,
                                                const memory::MemorySystem& memory,
                                                const VerifyMemoryOptions& options,
                                                absl::FunctionRef<absl::Status()> interrupted);

// Placement, pages and limit as text, in the line format of topology::Explain.
std::string ExplainMemory(const ResolvedOptions& resolved);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MEMORY_REPORT_H_
