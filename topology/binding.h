// Asks the kernel to keep memory on NumaNodes. If the system refuses (for example in a container
// without the capability) this is not an error for the engine: the caller reports it once and
// continues unbound.
#ifndef ERIS_TOPOLOGY_BINDING_H_
#define ERIS_TOPOLOGY_BINDING_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "topology/topology.h"

namespace eris::topology {

// Sets the policy of pages that have not been touched: [address, address + bytes), page aligned,
// come only from `node`. Errors: PermissionDenied, Unimplemented (kernel without NUMA), Internal.
absl::Status BindMemory(void* address, size_t bytes, const NumaNode& node);
// The same, page by page (huge page by huge page) round robin over `nodes`, not empty. Same errors.
absl::Status InterleaveMemory(void* address, size_t bytes, std::span<const NumaNode> nodes);

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_BINDING_H_
