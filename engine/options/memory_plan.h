// Divides the memory of the process into shares (MemoryPlan). Pure functions.
#ifndef ERIS_ENGINE_CORE_MEMORY_PLAN_H_
#define ERIS_ENGINE_CORE_MEMORY_PLAN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "eris/memory_plan.h"

namespace eris::engine {

struct MemoryWishes {
  uint64_t process_bytes = 0;
  std::string process_source;
  // Requested shares; 0: derived.
  uint64_t data_bytes = 0;
  uint64_t caller_bytes = 0;
  uint64_t scan_bytes = 0;
  // Must fit into the share for data: each AEU's incoming buffers, and some superblocks on each
  // NumaNode.
  uint32_t aeus = 1;
  uint64_t aeu_buffer_bytes = 4u << 20;
  uint32_t numa_nodes = 1;
  uint64_t superblock_bytes = 2u << 20;
};

// The smallest process_bytes with which DivideMemory accepts `wishes`. As process_bytes shrinks
// towards it, all shares except data shrink to their minimum.
uint64_t LeastProcessBytes(const MemoryWishes& wishes);

// Errors: InvalidArgument (the message names the available memory, its source, the minimum and
// possible remedies).
absl::StatusOr<MemoryPlan> DivideMemory(const MemoryWishes& wishes);

// How many AEUs, at most `wishes.aeus`, have room; 0: not even one.
uint32_t AeusThatFit(MemoryWishes wishes);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_MEMORY_PLAN_H_
