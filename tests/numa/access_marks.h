// Marks for the access counter, the qemu plugin in plugin/: they switch counting on and off for the
// cpu that executes them. Each is one long no-operation instruction, so a program with marks runs
// anywhere; only the plugin sees them. A thread that uses them is pinned.
//
//   0f 1f 84 24 | value | kind | 52 45     nopl disp32(%rsp): the displacement is the message
#ifndef ERIS_TESTS_NUMA_ACCESS_MARKS_H_
#define ERIS_TESTS_NUMA_ACCESS_MARKS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

namespace eris::numa_lab {

inline constexpr uint8_t kPhasesMax = 32;     // phase 0: nothing is counted
inline constexpr uint8_t kNumaNodesMax = 16;  // that the counter can tell apart
inline constexpr uint8_t kActedMax = 64;      // NumaNodes that a program can act for (ActFor)

// The kind of a mark, in its third byte.
inline constexpr uint8_t kMarkPhase = 1;   // value: the phase into which this cpu counts from here
inline constexpr uint8_t kMarkExpect = 2;  // value: the NumaNode whose memory is read next
inline constexpr uint8_t kMarkEnd = 3;     // of what is expected
inline constexpr uint8_t kMarkActFor = 4;  // value: the NumaNode for which this cpu works from here
inline constexpr uint32_t kMarkTag = 0x4552'0000;

constexpr uint32_t MarkWord(uint8_t kind, uint8_t value) {
  return kMarkTag | uint32_t{kind} << 8 | value;
}

// This cpu counts into `phase` from here; 0: no longer. The compiler moves no access of the
// program's memory across it, but may put some of its own between it and what follows: loads of
// what it keeps on the stack. Where every access has to be known, mark and code are one piece of
// machine code (plugin/known_accesses.cc).
template <uint8_t phase>
inline void CountInto() {
  static_assert(phase < kPhasesMax);
#if defined(__x86_64__)
  asm volatile(".byte 0x0f, 0x1f, 0x84, 0x24\n .long %c0"
               :
               : "i"(MarkWord(kMarkPhase, phase))
               : "memory");
#endif
}

// With the counter's acting=1: from here this cpu works for a NumaNode, `numa_node` < kActedMax,
// which the guest need not have. So a program that steps many AEUs by hand on one cpu is counted as
// if each ran on a core of its own.
inline void ActFor(uint32_t numa_node) {
#if defined(__x86_64__)
  const auto act = []<uint8_t node>() {
    asm volatile(".byte 0x0f, 0x1f, 0x84, 0x24\n .long %c0"
                 :
                 : "i"(MarkWord(kMarkActFor, node))
                 : "memory");
  };
  [&]<size_t... nodes>(std::index_sequence<nodes...>) {
    ((numa_node == nodes ? act.template operator()<nodes>() : void()), ...);
  }
  (std::make_index_sequence<kActedMax>());
#else
  static_cast<void>(numa_node);
#endif
}

// Reads one byte of a page that the caller knows to lie on `numa_node`: the counter checks that it
// comes to the same result. For the start of a run.
inline void ReadFrom(uint32_t numa_node, const volatile void* page) {
#if defined(__x86_64__)
  const auto read = [page]<uint8_t node>() {
    uint8_t byte;
    asm volatile(
        ".byte 0x0f, 0x1f, 0x84, 0x24\n .long %c2\n"
        "movb (%1), %0\n"
        ".byte 0x0f, 0x1f, 0x84, 0x24\n .long %c3"
        : "=q"(byte)
        : "r"(page), "i"(MarkWord(kMarkExpect, node)), "i"(MarkWord(kMarkEnd, 0))
        : "memory");
  };
  // The mark is part of the instruction, so there is one for each NumaNode.
  [&]<size_t... nodes>(std::index_sequence<nodes...>) {
    ((numa_node == nodes ? read.template operator()<nodes>() : void()), ...);
  }
  (std::make_index_sequence<kNumaNodesMax>());
#else
  static_cast<void>(numa_node);
  static_cast<void>(page);
#endif
}

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_ACCESS_MARKS_H_
