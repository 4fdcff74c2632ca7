// Loads and stores whose number is known: from every cpu to every NumaNode, marked. Prints what the
// access counter must have counted, in the counter's own form. With --one-more it does one load
// more than it says: a count that is wrong, which counter_test.py must find.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/numa/plugin/known_sweep.h"
#include "tests/numa/plugin/node_memory.h"

namespace eris::numa_lab {
namespace {

constexpr size_t kSmallBytes = 64 << 10;  // fits the cache that counter_test.py simulates
constexpr size_t kLargeBytes = 4 << 20;   // does not: each sweep misses every line

// `lines` loads, then as many stores, then as many locked increments.
template <uint8_t phase>
void Sweep(std::byte* memory, uint64_t lines) {
  LoadLines<phase>(memory, lines);
  StoreLines<phase>(memory, lines);
  IncrementLines<phase>(memory, lines);
}

template <uint8_t phase>
void LoadOnce(std::byte* memory) {
  LoadLines<phase>(memory, 1);
}

bool MovePage(void* page, int numa_node) {
  int status = -1;
  return syscall(SYS_move_pages, 0, 1L, &page, &numa_node, &status, MPOL_MF_MOVE) == 0 &&
         status == numa_node;
}

int Run(bool one_more) {
  if (const std::string wrong = ReadKnownPages(); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    return 1;
  }
  const auto cpus = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  const uint32_t last = cpus - 1;
  const int last_node = NumaNodeOfCpu(last);
  const std::vector<uint32_t> nodes = NumaNodesWithMemory();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const uint32_t node = nodes[i];
    std::byte* small = TouchedOn(node, kSmallBytes);
    std::byte* large = TouchedOn(node, kLargeBytes);
    if (small == nullptr || large == nullptr) return 1;
    for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
      const int cpu_node = NumaNodeOfCpu(cpu);
      if (cpu_node < 0) {
        std::fprintf(stderr, "cannot run on cpu %u\n", cpu);
        return 1;
      }
      // Phase 1: a different number for each pair. The first sweep misses, the others hit.
      const uint64_t lines = 100 + 10 * cpu + node;
      Sweep<1>(small, lines);
      std::printf("count\t1\t%u\t%d\t%u\t%lu\t%lu\t%lu\t0\n", cpu, cpu_node, node, lines, 2 * lines,
                  lines);
    }
    // Phase 2: every line misses. From the last cpu, where we are.
    const uint64_t lines = kLargeBytes / kLineBytes;
    Sweep<2>(large, lines);
    std::printf("count\t2\t%u\t%d\t%u\t%lu\t%lu\t%lu\t%lu\n", last, last_node, node, lines,
                2 * lines, lines, 2 * lines);
    // Phase 3: a page counts where it is, not where it was.
    const auto move_to = static_cast<int>(nodes[(i + 1) % nodes.size()]);
    LoadOnce<3>(small);
    if (!MovePage(small, move_to)) {
      std::fprintf(stderr, "the kernel does not move a page to NumaNode %d\n", move_to);
      return 1;
    }
    LoadOnce<4>(small);
    std::printf("count\t3\t%u\t%d\t%u\t1\t0\t1\t0\n", last, last_node, node);
    std::printf("count\t4\t%u\t%d\t%d\t1\t0\t1\t0\n", last, last_node, move_to);
    if (one_more) LoadOnce<1>(large);
    one_more = false;
  }
  return 0;
}

}  // namespace
}  // namespace eris::numa_lab

int main(int argc, char** argv) {
  return eris::numa_lab::Run(argc > 1 && std::strcmp(argv[1], "--one-more") == 0);
}
