// The bounded memory pool for rows of table scans: pieces of 1 MiB, made when first needed and
// reused. A scan with many parts cuts a piece into several chunks (TableChunkPlan). Thread-safe.
#ifndef ERIS_ENGINE_CORE_TABLE_CHUNK_POOL_H_
#define ERIS_ENGINE_CORE_TABLE_CHUNK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"

namespace eris::engine {

inline constexpr size_t kTableChunkBytes = 1 << 20;

class TableChunkPool {
 public:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  // Aligned to a cache line.
  using Memory = std::unique_ptr<std::byte, Free>;

  // At most `pieces_max` at once, at least two.
  explicit TableChunkPool(uint32_t pieces_max) : pieces_max_(pieces_max) {}
  TableChunkPool(const TableChunkPool&) = delete;
  TableChunkPool& operator=(const TableChunkPool&) = delete;

  // Takes up to `wanted` blocks of `bytes`, as many as are available; if fewer than `least`, none.
  // A block larger than a piece counts as several pieces, and is not kept for reuse. Throws
  // std::bad_alloc, with nothing taken.
  std::vector<Memory> Take(uint32_t least, uint32_t wanted, size_t bytes);
  void Return(std::vector<Memory> memory, size_t bytes);
  uint32_t in_use() const;
  uint32_t pieces_max() const { return pieces_max_; }
  // How many blocks of `bytes` could be taken now.
  uint32_t CountLeft(size_t bytes) const;

 private:
  static uint32_t PiecesOf(size_t bytes) {
    return static_cast<uint32_t>((bytes + kTableChunkBytes - 1) / kTableChunkBytes);
  }

  const uint32_t pieces_max_;
  mutable base::Mutex mu_;
  std::vector<Memory> free_ ABSL_GUARDED_BY(mu_);
  uint32_t in_use_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_TABLE_CHUNK_POOL_H_
