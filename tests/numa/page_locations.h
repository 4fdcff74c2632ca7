// Where the pages of this process lie, as the kernel tells it (move_pages without a destination),
// and moving one page to plant an error.
#ifndef ERIS_TESTS_NUMA_PAGE_LOCATIONS_H_
#define ERIS_TESTS_NUMA_PAGE_LOCATIONS_H_

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace eris::numa_lab {

inline constexpr uintptr_t kPageBytes = 4096;
inline constexpr int kAbsent = -1;  // nothing was ever written there

// The NumaNode (the system's number) of each 4 KiB page of [begin, end), kAbsent, or a negative
// errno. `begin` and `end` are page aligned.
inline std::vector<int> PageLocations(uintptr_t begin, uintptr_t end) {
  constexpr size_t kPagesPerCall = 16 << 10;
  std::vector<int> locations((end - begin) / kPageBytes);
  std::vector<void*> pages;
  for (size_t first = 0; first < locations.size(); first += kPagesPerCall) {
    const size_t count = std::min(kPagesPerCall, locations.size() - first);
    pages.resize(count);
    for (size_t i = 0; i < count; ++i) {
      pages[i] = reinterpret_cast<void*>(begin + (first + i) * kPageBytes);
    }
    if (syscall(SYS_move_pages, 0, count, pages.data(), nullptr, locations.data() + first, 0) !=
        0) {
      std::fill_n(locations.begin() + static_cast<ptrdiff_t>(first), count, -errno);
    }
  }
  // A page that was only ever read is the kernel's common page of zeros: EFAULT.
  for (int& location : locations) {
    if (location == -ENOENT || location == -EFAULT) location = kAbsent;
  }
  return locations;
}

// Moves the page at `address` (with a huge page the whole of it) to the NumaNode; whether it is
// there now. Of this process, or of another one (for root).
inline bool MovePage(uintptr_t address, uint32_t os_numa_node, pid_t process = 0) {
  constexpr int kMoveOnlyOurs = 1 << 1;  // MPOL_MF_MOVE
  void* page = reinterpret_cast<void*>(address / kPageBytes * kPageBytes);
  const int target = static_cast<int>(os_numa_node);
  int status = -1;
  syscall(SYS_move_pages, process, 1, &page, &target, &status, kMoveOnlyOurs);
  return status == target;
}

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_PAGE_LOCATIONS_H_
