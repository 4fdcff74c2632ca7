#include "memory/system/memory_budget.h"

#include <algorithm>

#include "base/check.h"

namespace eris::memory {

bool MemoryBudget::TryTake(uint64_t bytes) {
  uint64_t taken = taken_bytes_.load(std::memory_order_relaxed);
  do {
    // Written this way so that no sum can wrap.
    if (bytes > limit_bytes_ || taken > limit_bytes_ - bytes) return false;
  } while (!taken_bytes_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  return true;
}

bool MemoryBudget::TryTakeReclaiming(uint64_t bytes) {
  if (TryTake(bytes)) return true;
  if (bytes > limit_bytes_ || reclaimable_bytes_.load(std::memory_order_relaxed) <= 0) return false;
  base::MutexLock lock(&mu_);
  for (Reclaimable* keeper : keepers_) {
    keeper->Reclaim(bytes);
    if (TryTake(bytes)) return true;
  }
  return TryTake(bytes);
}

void MemoryBudget::Return(uint64_t bytes) {
  const uint64_t before = taken_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  ERIS_CHECK(before >= bytes);
}

void MemoryBudget::Add(Reclaimable* keeper) {
  base::MutexLock lock(&mu_);
  keepers_.push_back(keeper);
}

void MemoryBudget::Remove(Reclaimable* keeper) {
  base::MutexLock lock(&mu_);
  keepers_.erase(std::find(keepers_.begin(), keepers_.end(), keeper));
}

uint64_t MemoryBudget::taken_bytes() const { return taken_bytes_.load(std::memory_order_relaxed); }

}  // namespace eris::memory
