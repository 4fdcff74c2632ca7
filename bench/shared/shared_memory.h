// Where a shared structure's memory is placed, and the engine's allocator for it: pools of huge
// pages, like the engine's own. Thread-safe, except the caches, each of which belongs to one
// thread.
#ifndef ERIS_BENCH_SHARED_SHARED_MEMORY_H_
#define ERIS_BENCH_SHARED_SHARED_MEMORY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "bench/routing/machine.h"
#include "eris/types.h"
#include "memory/memory_manager.h"
#include "memory/memory_system.h"
#include "topology/topology.h"

namespace eris::bench {

enum class SharedPlacement : uint8_t {
  kInterleaved,  // page by page over all NumaNodes, as in the paper
  kSingle,       // all on the first NumaNode that has memory
  // each superblock where the thread that takes it runs, as programs get it by default
  kFirstTouch,
};

class SharedMemory {
 public:
  // Ends the program if the machine cannot be read. `pages`: the kind of pages of superblocks.
  SharedMemory(SharedPlacement placement, uint64_t limit_bytes,
               memory::PageKind pages = memory::PageKind::kAnonymousHuge)
      : topology_(TopologyFor(placement)),
        system_(topology_, OptionsFor(placement, limit_bytes, pages, topology_)),
        manager_(ObjectId{1}, system_.pool(FirstWithMemory(topology_))) {}

  memory::MemoryManager& manager() { return manager_; }

 private:
  // One manager serves all threads, so blocks may be freed by any of them. First touch: no NumaNode
  // is known, and nothing bound.
  static topology::Topology TopologyFor(SharedPlacement placement) {
    auto made = placement == SharedPlacement::kFirstTouch
                    ? topology::Topology::Synthetic("numa:1 core:1 pu:1")
                    : topology::Topology::Discover();
    if (!made.ok()) Die(std::string(made.status().message()));
    return *std::move(made);
  }
  static NumaNodeId FirstWithMemory(const topology::Topology& topology) {
    for (const topology::NumaNode& numa_node : topology.numa_nodes()) {
      if (numa_node.memory_bytes > 0) return numa_node.id;
    }
    return NumaNodeId{0};  // a synthetic one
  }
  static memory::MemoryOptions OptionsFor(SharedPlacement placement, uint64_t limit_bytes,
                                          memory::PageKind pages,
                                          const topology::Topology& topology) {
    using Placement = memory::MemoryOptions::Placement;
    memory::MemoryOptions options;
    options.limit_bytes = limit_bytes;
    options.pool.pages = {pages};
    if (placement == SharedPlacement::kInterleaved) options.placement = Placement::kInterleaved;
    if (placement == SharedPlacement::kSingle) {
      options.placement = Placement::kOneNumaNode;
      options.one_numa_node = FirstWithMemory(topology);
    }
    // The keeper touches pages in advance, like the engine's: on the NumaNode where it runs.
    options.keeper = placement != SharedPlacement::kFirstTouch;
    return options;
  }

  const topology::Topology topology_;
  memory::MemorySystem system_;
  memory::MemoryManager manager_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_SHARED_SHARED_MEMORY_H_
