#include "memory/local_cache.h"

#include <algorithm>
#include <limits>

#include "base/cache_line.h"
#include "base/check.h"
#include "memory/poison.h"

namespace eris::memory {

LocalCache::LocalCache(MemoryManager& manager) : manager_(manager) {}

LocalCache::~LocalCache() {
  for (const LargeBlock& large : large_) ReturnLarge(large);
  for (void* span : spans_) manager_.ReturnSpan(span);
}

size_t LocalCache::ClassBytes(size_t bytes) {
  if (bytes <= kClassedBytesMax) return SizeClassBytes(SizeClassOf(bytes));
  if (bytes <= kSpanBytes) return kSpanBytes;
  return base::RoundUp(bytes, kSuperblockBytes);
}

void* LocalCache::Allocate(size_t bytes) {
  ERIS_DCHECK(bytes >= 1);
  if (fail_from_ != 0) [[unlikely]] {
    if (fail_from_ == 1) return nullptr;
    --fail_from_;
  }
  if (bytes > kClassedBytesMax) [[unlikely]]
    return AllocateLarge(bytes);
  const size_t size_class = SizeClassOf(bytes);
  void* block = free_[size_class];
  if (block != nullptr) {
    Unpoison(block, SizeClassBytes(size_class));
    free_[size_class] = static_cast<FreeBlock*>(block)->next;
  } else {
    block = AllocateFresh(size_class);
    if (block == nullptr) return nullptr;
  }
  AddUsed(SizeClassBytes(size_class));
  return block;
}

void LocalCache::Free(void* block, size_t bytes) {
  ERIS_DCHECK(block != nullptr);
  ERIS_DCHECK(used_bytes() >= ClassBytes(bytes));
  AddUsed(-static_cast<uint64_t>(ClassBytes(bytes)));
  if (bytes > kClassedBytesMax) [[unlikely]] {
    FreeLarge(block);
    return;
  }
  PushFree(block, SizeClassOf(bytes));
}

void* LocalCache::AllocateFresh(size_t size_class) {
  const size_t bytes = SizeClassBytes(size_class);
  const auto aligned = [&] {
    return fresh_ +
           (base::RoundUp(reinterpret_cast<uintptr_t>(fresh_), SizeClassAlignment(size_class)) -
            reinterpret_cast<uintptr_t>(fresh_));
  };
  std::byte* block = aligned();
  if (block > fresh_end_ || static_cast<size_t>(fresh_end_ - block) < bytes) {
    auto* span = static_cast<std::byte*>(manager_.TakeSpan());
    if (span == nullptr) return nullptr;
    spans_.push_back(span);
    Recycle(fresh_, fresh_end_);
    Poison(span, kSpanBytes);
    fresh_ = span;
    fresh_end_ = span + kSpanBytes;
    block = aligned();
  }
  Recycle(fresh_, block);
  fresh_ = block + bytes;
  Unpoison(block, bytes);
  return block;
}

void LocalCache::Recycle(std::byte* begin, std::byte* end) {
  while (begin < end) {
    const auto left = static_cast<size_t>(end - begin);
    // To the next cache line first, so that what follows may be of any class.
    const size_t to_line =
        base::RoundUp(reinterpret_cast<uintptr_t>(begin), base::kCacheLineBytes) -
        reinterpret_cast<uintptr_t>(begin);
    size_t size_class =
        SizeClassOf(std::min({left, to_line == 0 ? left : to_line, kClassedBytesMax}));
    if (SizeClassBytes(size_class) > left) --size_class;
    PushFree(begin, size_class);
    begin += SizeClassBytes(size_class);
  }
}

void LocalCache::PushFree(void* block, size_t size_class) {
  Unpoison(block, sizeof(FreeBlock));
  auto* free_block = static_cast<FreeBlock*>(block);
  free_block->next = free_[size_class];
  free_[size_class] = free_block;
  Poison(block, SizeClassBytes(size_class));
}

void* LocalCache::AllocateLarge(size_t bytes) {
  void* block = bytes <= kSpanBytes ? manager_.TakeSpan() : manager_.TakeExtent(bytes);
  if (block == nullptr) return nullptr;
  large_.push_back({block, bytes});
  AddUsed(ClassBytes(bytes));
  return block;
}

void LocalCache::FreeLarge(void* block) {
  const auto found = std::find_if(large_.begin(), large_.end(),
                                  [&](const LargeBlock& large) { return large.memory == block; });
  ERIS_CHECK(found != large_.end());
  const LargeBlock large = *found;
  *found = large_.back();
  large_.pop_back();
  ReturnLarge(large);
}

void LocalCache::ReturnLarge(const LargeBlock& large) {
  if (large.bytes <= kSpanBytes) {
    manager_.ReturnSpan(large.memory);
  } else {
    manager_.ReturnExtent(large.memory, large.bytes);
  }
}

}  // namespace eris::memory
