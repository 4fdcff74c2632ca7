// The engine's hard memory limit: what the system has really given, over all NumaNodes, never
// exceeds it. Thread-safe. Taking is lock-free where there is room; at the limit, what pools keep
// for reuse is given back first.
#ifndef ERIS_MEMORY_MEMORY_BUDGET_H_
#define ERIS_MEMORY_MEMORY_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace eris::memory {

// Whoever keeps memory that it could do without.
class Reclaimable {
 public:
  // Gives at least `bytes` back to the budget, as far as it can. Any thread; blocks in the kernel.
  virtual void Reclaim(uint64_t bytes) = 0;

 protected:
  ~Reclaimable() = default;
};

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // False when the limit would be passed; nothing is taken then.
  [[nodiscard]] bool TryTake(uint64_t bytes);
  // The same, after asking everybody to give back what they keep.
  [[nodiscard]] bool TryTakeReclaiming(uint64_t bytes);
  void Return(uint64_t bytes);

  // What could be given back grows by `bytes`, or shrinks. Without any, nobody is asked.
  void AddReclaimable(int64_t bytes) {
    // relaxed: a figure; who reads it late asks in vain, or refuses what could have been had.
    reclaimable_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }

  // Both before the end of whoever it is. The caller holds no lock of its own.
  void Add(Reclaimable* keeper);
  void Remove(Reclaimable* keeper);

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t taken_bytes() const;

 private:
  const uint64_t limit_bytes_;
  // Shared: a counter only, it publishes no data, so relaxed orders are enough.
  std::atomic<uint64_t> taken_bytes_{0};
  std::atomic<int64_t> reclaimable_bytes_{0};

  base::Mutex mu_;  // held while they reclaim
  std::vector<Reclaimable*> keepers_ ABSL_GUARDED_BY(mu_);
};

// What somebody has taken of a budget for memory that is not a pool's; returned at its end. Plain
// values for one thread.
class BudgetCharge {
 public:
  BudgetCharge() = default;
  ~BudgetCharge() { Return(); }
  BudgetCharge(const BudgetCharge&) = delete;
  BudgetCharge& operator=(const BudgetCharge&) = delete;

  // False: the limit would be passed, and nothing has changed. `budget`, always the same, outlives
  // this. May block, as TryTakeReclaiming.
  [[nodiscard]] bool TryGrow(MemoryBudget& budget, uint64_t bytes) {
    if (!budget.TryTakeReclaiming(bytes)) return false;
    budget_ = &budget;
    bytes_ += bytes;
    return true;
  }
  // REQUIRES: it has as many.
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
