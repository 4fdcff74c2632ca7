// Asks the kernel where pages lie. Paper: locality-aware scheduling in Bobox, 5.2 (this verifies
// the effect of first touch).
#ifndef ERIS_TOPOLOGY_PAGE_LOCATION_H_
#define ERIS_TOPOLOGY_PAGE_LOCATION_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"

namespace eris::topology {

// For pages that have never been touched or cannot be queried.
inline constexpr int32_t kPageNotPresent = -1;

// Sets os_nodes[i] to the NumaNode (the operating system's number) that holds the page of pages[i],
// or kPageNotPresent. Shapes: equal lengths. Moves nothing; takes some microseconds per thousand
// pages.
// Errors: Unimplemented (a kernel without NUMA), FailedPrecondition (the system does not let this
// process ask), Internal.
absl::Status LocatePages(std::span<void* const> pages, std::span<int32_t> os_nodes);

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_PAGE_LOCATION_H_
