// Copies an area whose writers are held, noted, or the caller. The kernel's change of its rights
// orders their stores before the copy, which the thread sanitizer cannot know: for it the copy is
// not instrumented.
#ifndef ERIS_LEAP_COPY_AREA_H_
#define ERIS_LEAP_COPY_AREA_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace eris::leap {

#ifdef ERIS_TSAN
// `bytes`: whole words. volatile, or the compiler makes a call of memcpy, which is instrumented.
[[gnu::noinline]] __attribute__((no_sanitize("thread"))) inline void CopyArea(std::byte* to,
                                                                              const std::byte* from,
                                                                              size_t bytes) {
  auto* const words = reinterpret_cast<volatile uint64_t*>(to);
  const auto* const read = reinterpret_cast<const volatile uint64_t*>(from);
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) words[i] = read[i];
}
#else
inline void CopyArea(std::byte* to, const std::byte* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace eris::leap

#endif  // ERIS_LEAP_COPY_AREA_H_
