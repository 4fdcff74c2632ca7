// The engine's memory as the benchmarks set it up: one object on one unbound NumaNode, and caches
// for its AEUs. Thread-safe, except the caches, each of which belongs to one thread.
#ifndef ERIS_BENCH_MEMORY_OUR_MEMORY_H_
#define ERIS_BENCH_MEMORY_OUR_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/routing/machine.h"
#include "eris/types.h"
#include "memory/local_cache.h"
#include "memory/memory_manager.h"
#include "memory/memory_system.h"
#include "topology/topology.h"

namespace eris::bench {

class OurMemory {
 public:
  // The caches belong to the (synthetic) NumaNodes in turn.
  explicit OurMemory(size_t caches, uint32_t numa_nodes = 1)
      : topology_(Synthetic(numa_nodes)), system_(topology_, Options()) {
    const auto directory = std::make_shared<memory::CacheDirectory>();
    for (uint32_t i = 0; i < numa_nodes; ++i) {
      managers_.push_back(
          std::make_unique<memory::MemoryManager>(ObjectId{1}, system_.pool(NumaNodeId{i}),
                                                  std::vector<memory::NumaNodePool*>(), directory));
    }
    for (size_t i = 0; i < caches; ++i) {
      caches_.push_back(managers_[i % numa_nodes]->NewCache());
      if (caches_.back() == nullptr) Die("no memory");
    }
  }

  memory::LocalCache& cache(size_t i) { return *caches_[i]; }
  // What an AEU does for its cache in each turn, and in a turn without other work.
  static void EndTurn(memory::LocalCache& cache) {
    cache.EndTurn();
    while (cache.Collect()) {
    }
  }
  static void EndIdleTurn(memory::LocalCache& cache) {
    EndTurn(cache);
    if (cache.TrimWorthwhile()) cache.Trim();
  }
  uint64_t used_bytes() const {
    uint64_t used = 0;
    for (const memory::LocalCache* cache : caches_) used += cache->used_bytes();
    return used;
  }
  // Drops the object: all of its memory is returned to the pool, and after a while to the system.
  void DropObject() {
    caches_.clear();
    managers_.clear();
  }

 private:
  // Like the machine, but not bound: placement is not part of these measurements.
  static topology::Topology Synthetic(uint32_t numa_nodes) {
    auto made =
        topology::Topology::Synthetic("numa:" + std::to_string(numa_nodes) + " core:2 pu:1");
    if (!made.ok()) Die(std::string(made.status().message()));
    return *std::move(made);
  }
  static memory::MemoryOptions Options() {
    memory::MemoryOptions options;
    options.limit_bytes = uint64_t{16} << 30;
    options.keeper = true;
    return options;
  }

  const topology::Topology topology_;
  memory::MemorySystem system_;
  std::vector<std::unique_ptr<memory::MemoryManager>> managers_;  // by NumaNode
  std::vector<memory::LocalCache*> caches_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_OUR_MEMORY_H_
