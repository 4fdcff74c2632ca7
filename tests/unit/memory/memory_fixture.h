// What the memory tests share.
#ifndef ERIS_TESTS_UNIT_MEMORY_MEMORY_FIXTURE_H_
#define ERIS_TESTS_UNIT_MEMORY_MEMORY_FIXTURE_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "topology/topology.h"

namespace eris::memory {

inline constexpr uint64_t kPlenty = uint64_t{1} << 30;

inline topology::NumaNode Virtual(uint32_t id) {
  topology::NumaNode numa_node;
  numa_node.id = NumaNodeId{id};
  numa_node.memory_bytes = kPlenty;
  return numa_node;
}

// Bytes of the range that the system backs with pages now; 0 where nothing is mapped.
inline size_t ResidentBytes(const void* begin, size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  if (mincore(const_cast<void*>(begin), bytes, pages.data()) != 0) return 0;
  size_t resident = 0;
  for (const unsigned char page : pages) resident += (page & 1) * 4096;
  return resident;
}

// Resident bytes of everything that the pool says it has from the system.
inline size_t ResidentBytes(const NumaNodePool& pool) {
  size_t resident = 0;
  for (const PoolRange& range : pool.Ranges()) resident += ResidentBytes(range.begin, range.bytes);
  return resident;
}

// The account's own promise: every committed byte is in exactly one of its figures.
inline bool AddsUp(const ObjectAccount& account) {
  return account.committed_bytes == account.used_bytes + account.cached_bytes +
                                        account.spare_bytes + account.header_bytes +
                                        account.extent_bytes;
}

}  // namespace eris::memory

#endif  // ERIS_TESTS_UNIT_MEMORY_MEMORY_FIXTURE_H_
