#include "memory/memory_manager.h"

#include "base/cache_line.h"
#include "base/check.h"
#include "memory/poison.h"

namespace eris::memory {

MemoryManager::MemoryManager(ObjectId object, NumaNodePool& pool) : object_(object), pool_(pool) {}

MemoryManager::~MemoryManager() {
  base::MutexLock lock(&mu_);
  ERIS_CHECK(extent_bytes_ == 0);
  for (void* superblock : superblocks_) pool_.ReturnSuperblock(superblock);
}

void* MemoryManager::TakeSpan() {
  base::MutexLock lock(&mu_);
  if (free_spans_.empty()) {
    auto* superblock = static_cast<std::byte*>(pool_.TakeSuperblock());
    if (superblock == nullptr) return nullptr;
    superblocks_.push_back(superblock);
    // The lowest address is to be taken first.
    for (size_t offset = kSuperblockBytes; offset > 0; offset -= kSpanBytes) {
      free_spans_.push_back(superblock + offset - kSpanBytes);
    }
  }
  void* span = free_spans_.back();
  free_spans_.pop_back();
  return span;
}

void MemoryManager::ReturnSpan(void* span) {
  Unpoison(span, kSpanBytes);
  base::MutexLock lock(&mu_);
  free_spans_.push_back(span);
  ERIS_DCHECK(free_spans_.size() <= superblocks_.size() * (kSuperblockBytes / kSpanBytes));
}

void* MemoryManager::TakeExtent(size_t bytes) {
  void* extent = pool_.TakeExtent(bytes);
  if (extent == nullptr) return nullptr;
  base::MutexLock lock(&mu_);
  extent_bytes_ += base::RoundUp(bytes, kSuperblockBytes);
  return extent;
}

void MemoryManager::ReturnExtent(void* extent, size_t bytes) {
  {
    base::MutexLock lock(&mu_);
    ERIS_CHECK(extent_bytes_ >= base::RoundUp(bytes, kSuperblockBytes));
    extent_bytes_ -= base::RoundUp(bytes, kSuperblockBytes);
  }
  pool_.ReturnExtent(extent, bytes);
}

uint64_t MemoryManager::reserved_bytes() const {
  base::MutexLock lock(&mu_);
  return superblocks_.size() * kSuperblockBytes + extent_bytes_;
}

}  // namespace eris::memory
