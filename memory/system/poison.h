// Tells the address sanitizer which memory must not be touched. So a use after Free or a write
// beyond a block is reported although we manage the memory ourselves. Does nothing in other builds.
#ifndef ERIS_MEMORY_POISON_H_
#define ERIS_MEMORY_POISON_H_

#include <cstddef>

#if defined(ERIS_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace eris::memory {

inline void Poison([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if defined(ERIS_ASAN)
  __asan_poison_memory_region(begin, bytes);
#endif
}

inline void Unpoison([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if defined(ERIS_ASAN)
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

}  // namespace eris::memory

#endif  // ERIS_MEMORY_POISON_H_
