// The bounded pool of chunks for the answers of scans and joins. Chunks are made when first needed
// and reused.
#ifndef ERIS_ENGINE_CORE_SCAN_CHUNK_POOL_H_
#define ERIS_ENGINE_CORE_SCAN_CHUNK_POOL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "routing/scan_part.h"

namespace eris::engine {

class ScanChunkPool {
 public:
  explicit ScanChunkPool(uint32_t chunks_max) : chunks_max_(chunks_max) {}
  ScanChunkPool(const ScanChunkPool&) = delete;
  ScanChunkPool& operator=(const ScanChunkPool&) = delete;

  // Takes up to `wanted` chunks, as many as are available, with or without a column of second
  // parts; none if the pool is empty or there is no memory. Throws std::bad_alloc, with none taken.
  std::vector<routing::ScanChunkBuffer*> Take(uint32_t wanted, bool two_parts = false);
  void Return(const std::vector<routing::ScanChunkBuffer*>& chunks);
  uint32_t in_use() const;
  // The whole memory of a chunk, for rows of another shape: 2 * kScanChunkRows words.
  static uint64_t* WordsOf(routing::ScanChunkBuffer* chunk) { return chunk->rows.keys; }
  uint32_t chunks_max() const { return chunks_max_; }

 private:
  struct OwnedChunk {
    routing::ScanChunkBuffer buffer;
    std::unique_ptr<uint64_t[]> rows;
  };

  // Makes one more free chunk. False: no memory.
  bool TryMake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const uint32_t chunks_max_;
  mutable base::Mutex mu_;
  std::vector<std::unique_ptr<OwnedChunk>> chunks_ ABSL_GUARDED_BY(mu_);
  std::vector<routing::ScanChunkBuffer*> free_ ABSL_GUARDED_BY(mu_);
  uint32_t in_use_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_SCAN_CHUNK_POOL_H_
