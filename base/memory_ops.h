// The memory operations of latch-free code, behind one name. That code is a template over this
// class, so the interleaving explorer (tests/explore/) runs the same lines with its own memory:
// there every access is a step, and memory orders weaker than the machine's become visible.
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

  // Plain memory that another thread accesses at a different time. The explorer checks that the two
  // accesses are ordered.
  static void Copy(std::byte* to, const std::byte* from, size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
  }
  static void WillRead(const void*, size_t) noexcept {}
  static void WillWrite(void*, size_t) noexcept {}

  static void FutexWait(Atomic<uint32_t>& word, uint32_t expected) noexcept {
    base::FutexWait(word, expected, -1);
  }
  // Returns after `timeout_ns`, too; negative: no limit.
  static void FutexWaitFor(Atomic<uint32_t>& word, uint32_t expected,
                           int64_t timeout_ns) noexcept {
    base::FutexWait(word, expected, timeout_ns);
  }
  static void FutexWakeAll(Atomic<uint32_t>& word) noexcept { base::FutexWakeAll(word); }

  // Called in a loop that waits for another thread.
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
