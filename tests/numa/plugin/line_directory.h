// Which cpus have a valid copy of each line of the guest's memory: what the access counter knows of
// cache coherence. Every access of user-mode code goes through it, counted or not.
//
// The model is MESI with one private cache per cpu. A line is in no cache; or clean in some; or
// dirty in one, that of its last writer. A load by a cpu without a copy makes a dirty line clean,
// and adds a copy. A store leaves one copy, a dirty one, and invalidates all others. The caches of
// a NumaNode are those of its cpus, so a NumaNode has a copy if one of its cpus has one.
//
// A line is one word: a bit for each cpu that has a copy, and one that says "dirty". There are as
// many words as lines in the guest's memory, 1/8 of its bytes, in pages that exist from their first
// use on. An access that changes nothing reads one word; others exchange it, without a lock.
//
// What the model leaves out:
// - Evictions are those of CacheModel, by capacity (Evict); without a cache_kib= nothing is
// evicted.
//   An invalidated line keeps its place there until it would have been evicted.
// - There is no cache that several cpus share: what no private cache holds comes from memory.
// - Nothing is fetched ahead or executed speculatively; prefetch instructions do nothing in qemu.
// - Code of the kernel is not seen. A page that the kernel has cleared, copied or reused may be
//   clean or dirty here in caches that lost it, until other lines have evicted it from them.
// - A store that bypasses the caches counts as an ordinary one; an access across two lines is one
//   to the first.
// - qemu tells of an access after it was made. If two cpus race for a line, the directory may hear
//   of their accesses in the other order. And qemu runs a cpu for longer at a time than real cpus
//   run between two accesses of one line, so contended lines change hands less often than there.
#ifndef ERIS_TESTS_NUMA_PLUGIN_LINE_DIRECTORY_H_
#define ERIS_TESTS_NUMA_PLUGIN_LINE_DIRECTORY_H_

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace eris::numa_lab {

// What an access needs from elsewhere. One of these, so the far ones can be added up.
enum class Transfer : uint8_t {
  kNone,         // its own copy is enough, or memory of its NumaNode gives the line
  kNear,         // the line comes from the cache of another cpu of its NumaNode
  kFarCache,     // from a cache of another NumaNode, where it was dirty
  kFarMemory,    // from the memory of another NumaNode
  kUpgradeNear,  // a store to a copy of its own: other cpus of its NumaNode lose theirs
  kUpgradeFar,   // the same: cpus of another NumaNode lose theirs
  kClaimFar,     // a store without a copy of its own: the line is near, but other NumaNodes lose it
};
inline constexpr size_t kTransfers = 7;

struct LineAccess {
  Transfer transfer = Transfer::kNone;
  bool taken = false;       // the cpu had no copy of the line
  bool from_dirty = false;  // and it was dirty in another cpu's cache
};

// Faults for a test, which must find each of them.
enum class DirectoryFault : uint8_t {
  kNone,
  kKeepCopies,   // a store invalidates nothing
  kKeepDirty,    // a load leaves the line dirty
  kKeepEvicted,  // an evicted copy stays valid
};

template <DirectoryFault fault = DirectoryFault::kNone>
class LineDirectory {
 public:
  static constexpr size_t kCpusMax = 63;  // the word's last bit is kDirty

  // REQUIRES: numa_nodes, the NumaNode of each cpu, has at most kCpusMax elements. Ends the program
  // if the system gives no address space.
  LineDirectory(uint64_t lines, const std::vector<int>& numa_nodes)
      : bytes_(lines * sizeof(uint64_t)),
        words_(static_cast<uint64_t*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (words_ == MAP_FAILED) {
      std::perror("line directory");
      std::abort();
    }
    for (const int own : numa_nodes) {
      Cpu& cpu = cpus_.emplace_back(Cpu{own, 0});
      for (size_t i = 0; i < numa_nodes.size(); ++i) {
        if (numa_nodes[i] == own) cpu.near |= uint64_t{1} << i;
      }
    }
  }
  ~LineDirectory() { munmap(words_, bytes_); }
  LineDirectory(const LineDirectory&) = delete;
  LineDirectory& operator=(const LineDirectory&) = delete;

  // A load or store by `cpu`. `home`: the NumaNode of the line's memory. Any thread, but for one
  // cpu one at a time.
  LineAccess Access(size_t cpu, uint64_t line, int home, bool store) {
    const std::atomic_ref<uint64_t> word(words_[line]);
    const uint64_t own = uint64_t{1} << cpu;
    // relaxed, as everywhere here: a line's state is one word, and refers to nothing else.
    uint64_t before = word.load(std::memory_order_relaxed);
    for (;;) {
      if (store ? before == (own | kDirty) : (before & own) != 0) return {};
      uint64_t after = store ? own | kDirty : (before | own) & ~kDirty;
      if (fault == DirectoryFault::kKeepCopies && store) after |= before;
      if (fault == DirectoryFault::kKeepDirty && !store) after = before | own;
      if (word.compare_exchange_weak(before, after, std::memory_order_relaxed)) {
        return {Classify(cpus_[cpu], own, before, home, store), (before & own) == 0,
                (before & kDirty) != 0 && (before & own) == 0};
      }
    }
  }

  // The cpu's cache has given the line up. A dirty one is written to memory.
  void Evict(size_t cpu, uint64_t line) {
    if (fault == DirectoryFault::kKeepEvicted) return;
    const std::atomic_ref<uint64_t> word(words_[line]);
    const uint64_t own = uint64_t{1} << cpu;
    uint64_t before = word.load(std::memory_order_relaxed);
    // A dirty line has no other copy. Another cpu may have taken this one meanwhile.
    while ((before & own) != 0 && !word.compare_exchange_weak(before, before & ~(own | kDirty),
                                                              std::memory_order_relaxed)) {
    }
  }

 private:
  static constexpr uint64_t kDirty = uint64_t{1} << 63;

  struct Cpu {
    int numa_node;
    uint64_t near;  // the cpus of its NumaNode, itself included
  };

  // `before`: the line's word. An access that changes it.
  static Transfer Classify(const Cpu& cpu, uint64_t own, uint64_t before, int home, bool store) {
    const bool dirty = (before & kDirty) != 0;
    const uint64_t others = before & ~(own | kDirty);
    const uint64_t far = others & ~cpu.near;
    if ((before & own) != 0) {
      if (others == 0) return Transfer::kNone;  // the only copy becomes dirty
      return far != 0 ? Transfer::kUpgradeFar : Transfer::kUpgradeNear;
    }
    if (dirty && far != 0) return Transfer::kFarCache;
    const bool held_near = (others & cpu.near) != 0;
    if (!held_near && home != cpu.numa_node) return Transfer::kFarMemory;
    if (store && far != 0) return Transfer::kClaimFar;
    return held_near ? Transfer::kNear : Transfer::kNone;
  }

  const size_t bytes_;
  uint64_t* const words_;  // by line; shared by all cpus' threads
  std::vector<Cpu> cpus_;  // immutable after construction
};

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_PLUGIN_LINE_DIRECTORY_H_
