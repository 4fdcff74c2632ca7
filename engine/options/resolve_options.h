// Converts the caller's options of Engine::Open to those that the engine uses.
#ifndef ERIS_ENGINE_CORE_RESOLVE_OPTIONS_H_
#define ERIS_ENGINE_CORE_RESOLVE_OPTIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "eris/memory_plan.h"
#include "eris/options.h"
#include "memory/memory_system.h"
#include "topology/placement.h"
#include "topology/topology.h"

namespace eris::engine {

struct ResolvedOptions {
  Options options;                    // no zero that means a default is left
  std::string memory_limit_source{};  // of options.memory_limit_bytes, for messages
  MemoryPlan memory_plan;
  topology::Topology topology;
  topology::PlacementPlan plan;
  memory::MemoryOptions memory;
};

// Errors: InvalidArgument (a number that is none).
absl::Status CheckTaskScheduling(TaskScheduling scheduling);

// Reads the machine. Errors: InvalidArgument, with the option, its value and its limits.
absl::StatusOr<ResolvedOptions> ResolveOptions(const Options& options);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_RESOLVE_OPTIONS_H_
