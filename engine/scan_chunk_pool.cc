#include "engine/scan_chunk_pool.h"

#include <new>
#include <utility>

#include "base/check.h"

namespace eris::engine {

std::vector<routing::ScanChunkBuffer*> ScanChunkPool::Take(uint32_t wanted) {
  std::vector<routing::ScanChunkBuffer*> taken;
  base::MutexLock lock(&mu_);
  while (taken.size() < wanted && in_use_ < chunks_max_) {
    if (free_.empty()) {
      auto chunk = std::make_unique<OwnedChunk>();
      // Not zeroed: each row is written before it is read.
      chunk->rows.reset(new (std::nothrow) uint64_t[2 * size_t{routing::kScanChunkRows}]);
      if (chunk->rows == nullptr) break;
      chunk->buffer.rows = {.keys = chunk->rows.get(),
                            .values = chunk->rows.get() + routing::kScanChunkRows,
                            .capacity = routing::kScanChunkRows,
                            .rows = 0};
      free_.push_back(&chunk->buffer);
      chunks_.push_back(std::move(chunk));
    }
    taken.push_back(free_.back());
    free_.pop_back();
    ++in_use_;
  }
  return taken;
}

void ScanChunkPool::Return(const std::vector<routing::ScanChunkBuffer*>& chunks) {
  base::MutexLock lock(&mu_);
  ERIS_CHECK(chunks.size() <= in_use_);
  in_use_ -= static_cast<uint32_t>(chunks.size());
  free_.insert(free_.end(), chunks.begin(), chunks.end());
}

uint32_t ScanChunkPool::in_use() const {
  base::MutexLock lock(&mu_);
  return in_use_;
}

}  // namespace eris::engine
