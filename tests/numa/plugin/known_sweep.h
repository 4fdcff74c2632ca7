// Sweeps over memory that count into a phase, in loops of machine code that the compiler has no
// hand in: each accesses what it says, and nothing else is counted. For programs in the guest that
// tell the access counter what they know.
#ifndef ERIS_TESTS_NUMA_PLUGIN_KNOWN_SWEEP_H_
#define ERIS_TESTS_NUMA_PLUGIN_KNOWN_SWEEP_H_

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "tests/numa/access_marks.h"

namespace eris::numa_lab {

inline constexpr size_t kLineBytes = 64;

// The calling thread runs on this cpu from here.
inline bool Pin(uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

// The NumaNode of a cpu, as the kernel tells it. Pins to that cpu.
inline int NumaNodeOfCpu(uint32_t cpu) {
  unsigned int at_cpu = 0;
  unsigned int node = 0;
  if (!Pin(cpu) || syscall(SYS_getcpu, &at_cpu, &node, nullptr) != 0 || at_cpu != cpu) return -1;
  return static_cast<int>(node);
}

// A mark as part of a longer piece of machine code: between a mark and code of its own the compiler
// may put accesses.
#define ERIS_MARK(operand) ".byte 0x0f, 0x1f, 0x84, 0x24\n .long %c[" #operand "]\n"

// `instruction` `times` times, at `memory` and then `step` bytes on each time.
#define ERIS_SWEEP(instruction, step)                                                             \
  do {                                                                                            \
    std::byte* at = memory;                                                                       \
    uint64_t left = times;                                                                        \
    uint64_t value = 1;                                                                           \
    asm volatile(ERIS_MARK(begin) "1: " instruction                                               \
                                  "\n add %[next], %[at]\n dec %[left]\n jnz 1b\n" ERIS_MARK(end) \
                 : [at] "+r"(at), [left] "+r"(left), [value] "+r"(value)                          \
                 : [begin] "i"(MarkWord(kMarkPhase, phase)), [end] "i"(MarkWord(kMarkPhase, 0)),  \
                   [next] "i"(step)                                                               \
                 : "memory");                                                                     \
  } while (false)

// One access of 8 bytes to each of `times` lines, from `memory` on.
template <uint8_t phase>
void LoadLines(std::byte* memory, uint64_t times) {
  ERIS_SWEEP("movq (%[at]), %[value]", kLineBytes);
}
template <uint8_t phase>
void StoreLines(std::byte* memory, uint64_t times) {
  ERIS_SWEEP("movq %[value], (%[at])", kLineBytes);
}
template <uint8_t phase>
void IncrementLines(std::byte* memory, uint64_t times) {
  ERIS_SWEEP("lock incq (%[at])", kLineBytes);
}
// The same 8 bytes every time.
template <uint8_t phase>
void IncrementOne(std::byte* memory, uint64_t times) {
  ERIS_SWEEP("lock incq (%[at])", 0);
}

#undef ERIS_SWEEP
#undef ERIS_MARK

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_PLUGIN_KNOWN_SWEEP_H_
