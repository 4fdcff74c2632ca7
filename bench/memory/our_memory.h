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
  explicit OurMemory(size_t caches) : topology_(Synthetic()), system_(topology_, Options()) {
    manager_ = std::make_unique<memory::MemoryManager>(ObjectId{1}, system_.pool(NumaNodeId{0}));
    for (size_t i = 0; i < caches; ++i) {
      caches_.push_back(manager_->NewCache());
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
    manager_.reset();
  }

 private:
  // Like the machine, but not bound: placement is not part of these measurements.
  static topology::Topology Synthetic() {
    auto made = topology::Topology::Synthetic("numa:1 core:2 pu:1");
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
  std::unique_ptr<memory::MemoryManager> manager_;
  std::vector<memory::LocalCache*> caches_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_OUR_MEMORY_H_
