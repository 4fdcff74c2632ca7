#include "bench/study/query_memory_seam.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "base/cache_line.h"
#include "storage/query/rows/query_memory.h"

namespace eris::bench::study {
namespace {

using storage::QueryMemory;

// relaxed, as the counts below: set before there are queries.
std::atomic<bool> from_malloc{false};
std::atomic<uint64_t> asked{0};
std::atomic<uint64_t> asked_most{0};

}  // namespace

// By the names that --wrap gives them: QueryMemory::Allocate(size_t), QueryMemory::Free(void*,
// size_t). A member function takes `this` as its first argument.
void* AllocateInEngine(QueryMemory* memory,
                       size_t bytes) asm("__real__ZN4eris7storage11QueryMemory8AllocateEm");
void FreeInEngine(QueryMemory* memory, void* block,
                  size_t bytes) asm("__real__ZN4eris7storage11QueryMemory4FreeEPvm");
void* Allocate(QueryMemory* memory,
               size_t bytes) asm("__wrap__ZN4eris7storage11QueryMemory8AllocateEm");
void Free(QueryMemory* memory, void* block,
          size_t bytes) asm("__wrap__ZN4eris7storage11QueryMemory4FreeEPvm");

void* Allocate(QueryMemory* memory, size_t bytes) {
  void* const block =
      from_malloc.load(std::memory_order_relaxed)
          ? std::aligned_alloc(base::kCacheLineBytes,
                               base::RoundUp(std::max<size_t>(bytes, 1), base::kCacheLineBytes))
          : AllocateInEngine(memory, bytes);
  if (block == nullptr) return nullptr;
  const uint64_t now = asked.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t most = asked_most.load(std::memory_order_relaxed);
  while (most < now && !asked_most.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
  return block;
}

void Free(QueryMemory* memory, void* block, size_t bytes) {
  if (from_malloc.load(std::memory_order_relaxed)) {
    std::free(block);
  } else {
    FreeInEngine(memory, block, bytes);
  }
  asked.fetch_sub(bytes, std::memory_order_relaxed);
}

void TakeQueryMemoryFromMalloc() { from_malloc.store(true, std::memory_order_relaxed); }

QueryMemoryAsked AskedQueryMemory() {
  const uint64_t now = asked.load(std::memory_order_relaxed);
  return {now, asked_most.exchange(now, std::memory_order_relaxed)};
}

}  // namespace eris::bench::study
