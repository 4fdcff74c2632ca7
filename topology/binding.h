// Asks the kernel to keep threads on cpus and memory on NumaNodes. A system that refuses (a
// container without the capability) is not an error for the engine: the caller says so once and
// goes on unbound.
#ifndef ERIS_TOPOLOGY_BINDING_H_
#define ERIS_TOPOLOGY_BINDING_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "topology/topology.h"

namespace eris::topology {

// Pins the calling thread. Errors: PermissionDenied or Internal, with the cpu and the system's
// reason.
absl::Status BindThisThread(uint32_t cpu);

// Sets the policy of pages that are not touched yet: [address, address + bytes), page aligned, come
// from `node` alone. Errors: PermissionDenied, Unimplemented (kernel without NUMA), Internal.
absl::Status BindMemory(void* address, size_t bytes, const NumaNode& node);

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_BINDING_H_
