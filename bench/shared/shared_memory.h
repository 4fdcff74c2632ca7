// Where a shared structure's memory lies, and the engine's allocator to take it from: pools of huge
// pages, as the engine's own are. Thread-safe but for the caches, which belong to one thread each.
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
  kInterleaved,  // page by page over all NumaNodes, as the paper runs it
  kSingle,       // all on the first NumaNode that has memory
  kFirstTouch,   // each superblock where the thread runs that takes it, as programs get it unasked
};

class SharedMemory {
 public:
  // Ends the program when the machine cannot be read. `pages`: what superblocks are made of.
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
    // The keeper touches pages ahead, as the engine's does: on whatever NumaNode it runs.
    options.keeper = placement != SharedPlacement::kFirstTouch;
    return options;
  }

  const topology::Topology topology_;
  memory::MemorySystem system_;
  memory::MemoryManager manager_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_SHARED_SHARED_MEMORY_H_
