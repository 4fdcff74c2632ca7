// Copies memory as a whole, with all that lies in it. The sanitizers do not look: a part of it may be
// poisoned, and what orders the stores of others before the copy may be the kernel's change of
// their rights, which the thread sanitizer cannot know.
#ifndef ERIS_BASE_COPY_AREA_H_
#define ERIS_BASE_COPY_AREA_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace eris::base {

#if defined(ERIS_TSAN) || defined(ERIS_ASAN)
// `bytes`: whole words. volatile, or the compiler makes a call of memcpy, which is instrumented.
[[gnu::noinline]] __attribute__((no_sanitize("thread", "address"))) inline void CopyArea(
    std::byte* to, const std::byte* from, size_t bytes) {
  auto* const words = reinterpret_cast<volatile uint64_t*>(to);
  const auto* const read = reinterpret_cast<const volatile uint64_t*>(from);
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) words[i] = read[i];
}
#else
inline void CopyArea(std::byte* to, const std::byte* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace eris::base

#endif  // ERIS_BASE_COPY_AREA_H_
