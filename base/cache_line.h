// Sizes for layout against false sharing.
#ifndef ERIS_BASE_CACHE_LINE_H_
#define ERIS_BASE_CACHE_LINE_H_

#include <cstddef>

namespace eris::base {

inline constexpr std::size_t kCacheLineBytes = 64;

// Words that different threads write are at least this far apart. Intel's adjacent-line prefetcher
// pulls lines in pairs, so at 64 bytes the pair would still bounce.
inline constexpr std::size_t kNoSharingBytes = 2 * kCacheLineBytes;

// Rounds up to the next multiple of `alignment`, a power of two.
constexpr std::size_t RoundUp(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) & ~(alignment - 1);
}

}  // namespace eris::base

#endif  // ERIS_BASE_CACHE_LINE_H_
