#include "engine/scan_chunk_pool.h"

#include <new>
#include <utility>

#include "base/check.h"

namespace eris::engine {

namespace {

// The columns of one scan, in the chunk's memory.
storage::ScanRows RowsIn(uint64_t* words, bool two_parts) {
  const uint32_t capacity = routing::ScanChunkRowsOf(two_parts);
  return {.keys = words,
          .values = words + capacity,
          .capacity = capacity,
          .rows = 0,
          .seconds = two_parts ? words + 2 * size_t{capacity} : nullptr};
}

}  // namespace

std::vector<routing::ScanChunkBuffer*> ScanChunkPool::Take(uint32_t wanted, bool two_parts) {
  std::vector<routing::ScanChunkBuffer*> taken;
  base::MutexLock lock(&mu_);
  while (taken.size() < wanted && in_use_ < chunks_max_) {
    if (free_.empty()) {
      auto chunk = std::make_unique<OwnedChunk>();
      // Not zeroed: each row is written before it is read.
      chunk->rows.reset(new (std::nothrow) uint64_t[2 * size_t{routing::kScanChunkRows}]);
      if (chunk->rows == nullptr) break;
      chunk->buffer.rows.keys = chunk->rows.get();
      free_.push_back(&chunk->buffer);
      chunks_.push_back(std::move(chunk));
    }
    routing::ScanChunkBuffer* const chunk = free_.back();
    chunk->rows = RowsIn(WordsOf(chunk), two_parts);
    taken.push_back(chunk);
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
