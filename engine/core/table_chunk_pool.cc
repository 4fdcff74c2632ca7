#include "engine/core/table_chunk_pool.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace eris::engine {

void TableChunkPool::Free::operator()(std::byte* memory) const { std::free(memory); }

std::vector<TableChunkPool::Memory> TableChunkPool::Take(uint32_t least, uint32_t wanted,
                                                         size_t bytes) {
  const uint32_t pieces = PiecesOf(bytes);
  std::vector<Memory> taken;
  base::MutexLock lock(&mu_);
  wanted = std::min(wanted, (pieces_max_ - in_use_) / pieces);
  taken.reserve(wanted);
  // For all pieces that are kept: later calls need no memory here.
  if (pieces == 1 && free_.capacity() < pieces_max_) free_.reserve(pieces_max_);
  while (taken.size() < wanted) {
    Memory memory;
    if (pieces == 1 && !free_.empty()) {
      memory = std::move(free_.back());
      free_.pop_back();
    } else {
      // Not zeroed: each row is written before it is read.
      memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, pieces * kTableChunkBytes)));
      if (memory == nullptr) break;
    }
    in_use_ += pieces;
    taken.push_back(std::move(memory));
  }
  if (taken.size() >= least) return taken;
  in_use_ -= pieces * static_cast<uint32_t>(taken.size());
  if (pieces == 1) std::move(taken.begin(), taken.end(), std::back_inserter(free_));
  return {};
}

void TableChunkPool::Return(std::vector<Memory> memory, size_t bytes) {
  const uint32_t pieces = PiecesOf(bytes);
  base::MutexLock lock(&mu_);
  ERIS_CHECK(pieces * memory.size() <= in_use_);
  in_use_ -= pieces * static_cast<uint32_t>(memory.size());
  // In reverse, because they are taken from the end: the next scan's parts get the pieces that the
  // same AEUs have written.
  if (pieces == 1) std::move(memory.rbegin(), memory.rend(), std::back_inserter(free_));
}

uint32_t TableChunkPool::CountLeft(size_t bytes) const {
  base::MutexLock lock(&mu_);
  return (pieces_max_ - in_use_) / PiecesOf(bytes);
}

uint32_t TableChunkPool::in_use() const {
  base::MutexLock lock(&mu_);
  return in_use_;
}

}  // namespace eris::engine
