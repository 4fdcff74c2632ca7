// The memory of queries: a manager for each NumaNode, made when the first query comes there, for
// all queries of the engine. Thread-safe.
#ifndef ERIS_ENGINE_CORE_QUERY_MEMORIES_H_
#define ERIS_ENGINE_CORE_QUERY_MEMORIES_H_

#include <list>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "eris/types.h"
#include "memory/memory_manager.h"
#include "memory/memory_system.h"
#include "storage/query/query_part.h"

namespace eris::engine {

// It belongs to no object of the catalogue.
inline constexpr ObjectId kQueryMemory{0};

class QueryMemories {
 public:
  // The manager for AEUs of that NumaNode. `memory` outlives this. Throws std::bad_alloc.
  memory::MemoryManager& ManagerOn(memory::MemorySystem& memory, NumaNodeId numa_node) {
    memory::NumaNodePool& pool = memory.pool(numa_node);
    base::MutexLock lock(&mu_);
    std::unique_ptr<memory::MemoryManager>& manager = managers_[pool.id()];
    if (manager == nullptr) {
      manager = std::make_unique<memory::MemoryManager>(kQueryMemory, pool, memory.spill(numa_node),
                                                        caches_);
    }
    return *manager;
  }
  // What a query has at AEUs that can no longer be told of its end. Takes the list's elements;
  // needs no memory.
  void KeepToTheEnd(std::list<std::unique_ptr<storage::QueryParts>>& parts) noexcept {
    base::MutexLock lock(&mu_);
    left_.splice(left_.end(), parts);
  }
  // REQUIRES: the AEUs are gone.
  void DropAll() {
    base::MutexLock lock(&mu_);
    // Blocks still go home to the caches that they came from, but nobody is there to be told.
    for (const auto& parts : left_) {
      for (const auto& part : parts->parts) {
        if (part->entered()) part->memory().cache().SetListener(nullptr);
      }
    }
    left_.clear();
    managers_.clear();
  }

 private:
  const std::shared_ptr<memory::CacheDirectory> caches_ =
      std::make_shared<memory::CacheDirectory>();  // of all managers
  base::Mutex mu_;
  std::map<NumaNodeId, std::unique_ptr<memory::MemoryManager>> managers_ ABSL_GUARDED_BY(mu_);
  std::list<std::unique_ptr<storage::QueryParts>> left_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_QUERY_MEMORIES_H_
