// A replacement for the engine's memory::LocalCache, only for tree_trace: storage's sources are
// built against it, so that the recorder sees each block that the real PrefixTree allocates and
// frees. Single-threaded.
#ifndef ERIS_BENCH_MEMORY_LOGGING_MEMORY_LOCAL_CACHE_H_
#define ERIS_BENCH_MEMORY_LOGGING_MEMORY_LOCAL_CACHE_H_

#include <cstddef>

namespace eris::memory {

class LocalCache {
 public:
  LocalCache() = default;
  virtual ~LocalCache() = default;
  LocalCache(const LocalCache&) = delete;
  LocalCache& operator=(const LocalCache&) = delete;

  [[nodiscard]] virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* block, size_t bytes) = 0;

  // Nothing is moved: a trace records only what the tree itself allocates and frees.
  void* AllocateAtHome(size_t bytes) { return Allocate(bytes); }
  bool IsRemote(const void*, size_t) const { return false; }
  size_t ClassBytes(size_t bytes) const { return bytes; }
  bool IsElsewhere(const void*, size_t) const { return false; }
  bool IsOthers(const void*, size_t) const { return false; }
  bool Scattered(size_t) const { return false; }
  void* AllocateToMove(const void*, size_t) { return nullptr; }
  void FreeMoved(void*, size_t) {}
};

}  // namespace eris::memory

#endif  // ERIS_BENCH_MEMORY_LOGGING_MEMORY_LOCAL_CACHE_H_
