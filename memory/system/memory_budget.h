// The engine's hard memory limit: the memory taken from the system, over all NumaNodes, never
// exceeds it. Thread-safe. Taking is lock-free while there is room. At the limit, memory that pools
// keep for reuse is released first.
#ifndef ERIS_MEMORY_MEMORY_BUDGET_H_
#define ERIS_MEMORY_MEMORY_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace eris::memory {

// An owner of memory that it could release.
class Reclaimable {
 public:
  // Returns at least `bytes` to the budget, if possible. Any thread; blocks in the kernel.
  virtual void Reclaim(uint64_t bytes) = 0;

 protected:
  ~Reclaimable() = default;
};

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // False if the limit would be exceeded; then nothing is taken.
  [[nodiscard]] bool TryTake(uint64_t bytes);
  // The same, after asking every Reclaimable to release memory.
  [[nodiscard]] bool TryTakeReclaiming(uint64_t bytes);
  void Return(uint64_t bytes);

  // The memory that could be released grows by `bytes`, or shrinks. At zero, no Reclaimable is
  // asked.
  void AddReclaimable(int64_t bytes) {
    // relaxed: only a figure. A thread that reads an old value asks in vain, or refuses memory that
    // was available.
    reclaimable_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }

  // Call both before `keeper` ends, and hold no lock of `keeper`.
  void Add(Reclaimable* keeper);
  void Remove(Reclaimable* keeper);

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t taken_bytes() const;

 private:
  const uint64_t limit_bytes_;
  // Shared: only a counter, it publishes no data, so relaxed orders are enough.
  std::atomic<uint64_t> taken_bytes_{0};
  std::atomic<int64_t> reclaimable_bytes_{0};

  base::Mutex mu_;  // held while they reclaim
  std::vector<Reclaimable*> keepers_ ABSL_GUARDED_BY(mu_);
};

// Memory charged to a budget that does not belong to a pool; returned in the destructor. Plain
// values for one thread.
class BudgetCharge {
 public:
  BudgetCharge() = default;
  ~BudgetCharge() { Return(); }
  BudgetCharge(const BudgetCharge&) = delete;
  BudgetCharge& operator=(const BudgetCharge&) = delete;

  // False: the limit would be exceeded, and nothing has changed. `budget`, always the same,
  // outlives this. May block, as TryTakeReclaiming.
  [[nodiscard]] bool TryGrow(MemoryBudget& budget, uint64_t bytes) {
    if (!budget.TryTakeReclaiming(bytes)) return false;
    budget_ = &budget;
    bytes_ += bytes;
    return true;
  }
  // REQUIRES: at least `bytes` are charged.
  void Shrink(uint64_t bytes) {
    budget_->Return(bytes);
    bytes_ -= bytes;
  }
  void Return() {
    if (bytes_ > 0) budget_->Return(bytes_);
    bytes_ = 0;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  MemoryBudget* budget_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_BUDGET_H_
