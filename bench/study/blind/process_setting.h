// What a user sets for a program from outside, with numactl or prctl: where memory is placed, and
// whether it may lie on huge pages. Called by main before it allocates anything large; threads
// inherit it. What the system refuses ends the program. Paper: III-C, III-D.
#ifndef ERIS_BENCH_STUDY_BLIND_PROCESS_SETTING_H_
#define ERIS_BENCH_STUDY_BLIND_PROCESS_SETTING_H_

#include <linux/mempolicy.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "bench/routing/machine.h"
#include "tests/numa/plugin/node_memory.h"

namespace eris::bench::study {

// "first-touch": the system's default. "interleave": over all NumaNodes with memory. "local": the
// NumaNode of the thread that touches it. "preferred": the first NumaNode with memory.
inline void SetPlacement(const std::string& placement) {
  uint64_t mask = 0;
  int mode = MPOL_DEFAULT;
  const auto numa_nodes = numa_lab::NumaNodesWithMemory();
  if (placement == "interleave") {
    mode = MPOL_INTERLEAVE;
    for (const uint32_t numa_node : numa_nodes) mask |= uint64_t{1} << numa_node;
  } else if (placement == "local") {
    mode = MPOL_LOCAL;
  } else if (placement == "preferred") {
    mode = MPOL_PREFERRED;
    mask = uint64_t{1} << numa_nodes.at(0);
  }
  // The kernel wants one bit more than the mask has.
  if (syscall(SYS_set_mempolicy, mode, mask == 0 ? nullptr : &mask,
              mask == 0 ? 0UL : 8 * sizeof mask + 1) != 0) {
    Die("the system refuses the placement " + placement);
  }
}

// The system's policy of transparent huge pages: always, madvise or never; "none" without any.
inline std::string SystemHugePages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string word;
  while (file >> word) {
    if (word.front() == '[') return word.substr(1, word.size() - 2);
  }
  return "none";
}

// "never": the process gets no huge pages, whatever the system's policy and its allocator ask for.
// "advised": as the system's policy, which must allow it, for the arrays that the program advises.
// "always": the system's policy must be always.
inline void SetPages(const std::string& pages) {
  const std::string system = SystemHugePages();
  if (pages == "never" && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) {
    Die("the system refuses to leave out huge pages");
  }
  if ((pages == "advised" && system != "madvise" && system != "always") ||
      (pages == "always" && system != "always")) {
    Die("the system's policy of huge pages is " + system + ", not for --pages " + pages);
  }
}

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_PROCESS_SETTING_H_
