// A Pool's memory: pieces with all of their pages, which a migration takes and remaps away. Thread-
// safe. Paper: page_leap 4 ("pooled memory").
#ifndef ERIS_LEAP_MEMORY_POOL_H_
#define ERIS_LEAP_MEMORY_POOL_H_

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "eris/leap.h"
#include "memory/system/system_memory.h"
#include "topology/topology.h"

namespace eris::leap {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

class MemoryPool final : public Pool {
 public:
  // `node` has the os_numa_node of the options. Errors: as Pool::Create, without InvalidArgument.
  static absl::StatusOr<std::unique_ptr<MemoryPool>> Create(const PoolOptions& options,
                                                            const topology::NumaNode& node);
  ~MemoryPool() override;  // returns what is free; what was taken and not given back is not its own
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  size_t free_bytes() const override;
  const PoolOptions& options() const override { return options_; }

  // A piece to copy `bytes` (whole pages) from `like` to. From one huge page on, both lie equally
  // within huge pages, so that page tables move as a whole. Pieces taken one after the other are
  // neighbours where possible: then their mappings become one. nullptr: no piece is that long.
  [[nodiscard]] std::byte* Take(size_t bytes, const std::byte* like);
  // A piece, or a part of one, that is not needed.
  void Give(std::byte* piece, size_t bytes);
  // Keeps the pages of a memory file, which a range has, until the pool ends: to free them one by
  // one takes as long as a copy. Does nothing for small ranges, or if the kernel refuses.
  void KeepPages(const Range& range);

 private:
  MemoryPool(const PoolOptions& options, std::unique_ptr<memory::SystemMemory> system)
      : options_(options), system_(std::move(system)) {}

  const PoolOptions options_;
  const std::unique_ptr<memory::SystemMemory> system_;
  mutable base::Mutex mu_;
  std::map<std::byte*, size_t> free_ ABSL_GUARDED_BY(mu_);  // apart from each other
  std::vector<Range> kept_ ABSL_GUARDED_BY(mu_);            // mappings
};

}  // namespace eris::leap

#endif  // ERIS_LEAP_MEMORY_POOL_H_
