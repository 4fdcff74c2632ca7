#include "engine/core/scan_chunk_pool.h"

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
  taken.reserve(wanted);
  base::MutexLock lock(&mu_);
  while (taken.size() < wanted && in_use_ < chunks_max_) {
    if (free_.empty() && !TryMake()) break;
    routing::ScanChunkBuffer* const chunk = free_.back();
    chunk->rows = RowsIn(WordsOf(chunk), two_parts);
    taken.push_back(chunk);
    free_.pop_back();
    ++in_use_;
  }
  return taken;
}

bool ScanChunkPool::TryMake() {
  try {
    auto chunk = std::make_unique<OwnedChunk>();
    // Not zeroed: each row is written before it is read.
    chunk->rows.reset(new uint64_t[2 * size_t{routing::kScanChunkRows}]);
    chunk->buffer.rows.keys = chunk->rows.get();
    routing::ScanChunkBuffer* const buffer = &chunk->buffer;
    free_.reserve(chunks_.size() + 1);  // for all chunks, so that Return needs no memory
    chunks_.push_back(std::move(chunk));
    free_.push_back(buffer);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
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
