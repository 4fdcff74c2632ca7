// An object's memory on two NumaNodes: rows of the first are taken over on the second.
#ifndef ERIS_TESTS_UNIT_STORAGE_TWO_NUMA_NODES_H_
#define ERIS_TESTS_UNIT_STORAGE_TWO_NUMA_NODES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "memory/cache_directory.h"
#include "memory/local_cache.h"
#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "memory/system/memory_budget.h"
#include "topology/topology.h"

namespace eris::storage {

// One NumaNode's part of the object's memory.
struct Node {
  Node(uint32_t id, uint64_t limit_bytes, std::shared_ptr<memory::CacheDirectory> directory)
      : budget(limit_bytes),
        pool(topology::NumaNode{.id = NumaNodeId{id}}, /*bind=*/false, budget),
        manager(ObjectId{1}, pool, {}, std::move(directory)),
        cache(*manager.NewCache()) {}
  // Nothing is used of it, once all that is on its way has come.
  void ExpectEmpty() {
    while (cache.Collect()) {
    }
    cache.Trim();
    EXPECT_EQ(manager.Account().used_bytes, 0u);
    EXPECT_EQ(manager.reserved_bytes(), 0u);
  }
  memory::MemoryBudget budget;
  memory::NumaNodePool pool;
  memory::MemoryManager manager;
  memory::LocalCache& cache;
};

struct Nodes {
  explicit Nodes(uint64_t target_bytes = uint64_t{1} << 30)
      : source(0, uint64_t{1} << 30, directory), target(1, target_bytes, directory) {}
  std::shared_ptr<memory::CacheDirectory> directory = std::make_shared<memory::CacheDirectory>();
  Node source;
  Node target;
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_STORAGE_TWO_NUMA_NODES_H_
