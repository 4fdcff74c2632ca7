// What latch-free code does to memory that threads share, behind one name: the code is a template
// over it, so that the interleaving explorer (tests/explore/) can run the very same lines with
// memory of its own, where every access is a step and orders weaker than the machine's are shown.
#ifndef ERIS_BASE_MEMORY_OPS_H_
#define ERIS_BASE_MEMORY_OPS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/futex.h"

namespace eris::base {

struct RealMemory {
  template <class T>
  using Atomic = std::atomic<T>;

  // Plain memory that another thread reads or writes at another time: the explorer checks that the
  // two are ordered.
  static void Copy(std::byte* to, const std::byte* from, size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
  }
  static void WillRead(const void*, size_t) noexcept {}
  static void WillWrite(void*, size_t) noexcept {}

  static void FutexWait(Atomic<uint32_t>& word, uint32_t expected) noexcept {
    base::FutexWait(word, expected, -1);
  }
  static void FutexWakeAll(Atomic<uint32_t>& word) noexcept { base::FutexWakeAll(word); }

  // In a loop that waits for another thread.
  static void Pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
};

}  // namespace eris::base

#endif  // ERIS_BASE_MEMORY_OPS_H_
