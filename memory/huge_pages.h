// Which pages the kernel has really given, from /proc/self/smaps. Huge pages are only advice to the
// kernel, and depend on what it finds. On request only: the kernel walks all page tables of the
// process for it. Any thread.
#ifndef ERIS_MEMORY_HUGE_PAGES_H_
#define ERIS_MEMORY_HUGE_PAGES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "memory/numa_node_pool.h"

namespace eris::memory {

struct PageUse {
  uint64_t resident_bytes = 0;  // of these, in huge pages:
  uint64_t anonymous_huge_bytes = 0;
  uint64_t shared_huge_bytes = 0;    // of memory files
  uint64_t reserved_huge_bytes = 0;  // the machine's reserved ones

  uint64_t huge_bytes() const {
    return anonymous_huge_bytes + shared_huge_bytes + reserved_huge_bytes;
  }
};

// One mapping of the process.
struct Mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  PageUse use;
};

// Ascending, without mappings that have no page. Errors: Unavailable (it cannot be read), Internal
// (not the kernel's format).
absl::StatusOr<std::vector<Mapping>> ReadMappings(const std::string& path = "/proc/self/smaps");

// pools[i] are the ranges of one pool; result i is the use of its pages. The kernel merges
// neighbouring mappings of one policy: a mapping shared by several pools counts for each in
// proportion to its part.
std::vector<PageUse> PageUseOf(std::span<const Mapping> mappings,
                               std::span<const std::vector<PoolRange>> pools);

}  // namespace eris::memory

#endif  // ERIS_MEMORY_HUGE_PAGES_H_
