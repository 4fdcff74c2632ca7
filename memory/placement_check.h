// Whether memory lies where its pool's policy wants it: asks the kernel for the location of a
// sample of pages. On request only: it walks page tables. Any thread. Paper: locality-aware
// scheduling in Bobox, 5.2.
#ifndef ERIS_MEMORY_PLACEMENT_CHECK_H_
#define ERIS_MEMORY_PLACEMENT_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memory/numa_node_pool.h"

namespace eris::memory {

inline constexpr size_t kPlacementPageBytes = 4096;
inline constexpr size_t kPlacementExamplesMax = 8;

// Pages found on one NumaNode.
struct LocatedPages {
  uint32_t os_node = 0;  // the operating system's number
  uint64_t pages = 0;
  // the policy names it; always false if the pool is unbound
  bool allowed = false;
  std::vector<const std::byte*> examples;  // addresses not allowed, kPlacementExamplesMax at most
};

struct PlacementCheck {
  uint64_t asked = 0;  // = all located + absent
  uint64_t absent = 0;
  std::vector<LocatedPages> located;  // by os_node, ascending

  uint64_t allowed_pages() const;
  uint64_t other_pages() const;
};

// Locates pages of `ranges`. pages_max == 0: every page. Otherwise at most `pages_max`, evenly
// spread: one in each of that many equal pieces, at a different place in each, so that no period of
// the memory's layout escapes. Pages that were never touched, or were returned meanwhile, count as
// absent. `interrupted` is called between chunks of some thousand pages; its error ends the check.
// Errors: those of topology::LocatePages and of `interrupted`.
absl::StatusOr<PlacementCheck> CheckPlacement(std::span<const PoolRange> ranges,
                                              std::span<const uint32_t> allowed_os_nodes,
                                              uint64_t pages_max,
                                              absl::FunctionRef<absl::Status()> interrupted);

// The same for all memory that `pool` has from the system now, against its own policy. An address
// may have been returned to the system and reused meanwhile: in that case it checks again.
absl::StatusOr<PlacementCheck> CheckPlacement(const NumaNodePool& pool, uint64_t pages_max,
                                              absl::FunctionRef<absl::Status()> interrupted);

}  // namespace eris::memory

#endif  // ERIS_MEMORY_PLACEMENT_CHECK_H_
