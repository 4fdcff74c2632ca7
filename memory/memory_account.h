// The memory of a data object on one NumaNode, by size class. Plain values. Exact while nothing is
// allocated: every byte from the pools is in exactly one of these figures.
//
//   committed = used + cached + spare + header + extents
#ifndef ERIS_MEMORY_MEMORY_ACCOUNT_H_
#define ERIS_MEMORY_MEMORY_ACCOUNT_H_

#include <array>
#include <cstdint>

#include "memory/size_class.h"

namespace eris::memory {

struct ClassAccount {
  uint64_t used_blocks = 0;    // live
  uint64_t cached_blocks = 0;  // free, in spans of this class, magazines and bins
};

struct ObjectAccount {
  uint64_t committed_bytes = 0;  // superblocks and extents
  uint64_t used_bytes = 0;       // live blocks by their class's size
  uint64_t cached_bytes = 0;
  uint64_t spare_bytes = 0;   // free spans, and the rest at the end of a run
  uint64_t header_bytes = 0;  // of superblocks
  uint64_t extent_bytes = 0;
  std::array<ClassAccount, kSizeClasses> classes{};
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_ACCOUNT_H_
