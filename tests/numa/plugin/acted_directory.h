// Which NumaNodes have a valid copy of each line, where a program acts for NumaNodes that the guest
// does not have (ActFor in access_marks.h): what the access counter knows of cache coherence for
// more cpus than LineDirectory can follow.
//
// All caches of a NumaNode are one here, and it forgets nothing: only transfers between NumaNodes
// are told. No line has a home: one that nobody has had comes from nowhere, and costs nothing. A
// load of a line that others have counts as one from another NumaNode's cache, dirty or clean.
// Otherwise the model is that of line_directory.h.
#ifndef ERIS_TESTS_NUMA_PLUGIN_ACTED_DIRECTORY_H_
#define ERIS_TESTS_NUMA_PLUGIN_ACTED_DIRECTORY_H_

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/numa/plugin/line_directory.h"

namespace eris::numa_lab {

template <DirectoryFault fault = DirectoryFault::kNone>
class ActedDirectory {
 public:
  static constexpr uint32_t kNumaNodesMax = 64;  // bits of a word

  // Ends the program if the system gives no address space.
  explicit ActedDirectory(uint64_t lines)
      : bytes_(lines * sizeof(uint64_t)),
        words_(static_cast<uint64_t*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (words_ == MAP_FAILED) {
      std::perror("acted directory");
      std::abort();
    }
  }
  ~ActedDirectory() { munmap(words_, bytes_); }
  ActedDirectory(const ActedDirectory&) = delete;
  ActedDirectory& operator=(const ActedDirectory&) = delete;

  // A load or store by a cpu that works for `numa_node`. kNone, kFarCache or kUpgradeFar. Any
  // thread.
  Transfer Access(uint32_t numa_node, uint64_t line, bool store) {
    const std::atomic_ref<uint64_t> word(words_[line]);
    const uint64_t own = uint64_t{1} << numa_node;
    // relaxed: a line's state is one word, and refers to nothing else.
    uint64_t before = word.load(std::memory_order_relaxed);
    for (;;) {
      if (store ? before == own : (before & own) != 0) return Transfer::kNone;
      const bool keeps = !store || fault == DirectoryFault::kKeepCopies;
      if (!word.compare_exchange_weak(before, keeps ? before | own : own,
                                      std::memory_order_relaxed)) {
        continue;
      }
      if ((before & own) != 0) return Transfer::kUpgradeFar;
      return before != 0 ? Transfer::kFarCache : Transfer::kNone;
    }
  }

 private:
  const size_t bytes_;
  uint64_t* const words_;  // by line: a bit for each NumaNode; shared by all cpus' threads
};

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_PLUGIN_ACTED_DIRECTORY_H_
