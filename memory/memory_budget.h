// The engine's hard memory limit: what the system has really given, over all NumaNodes, never
// exceeds it. Thread-safe, lock-free, never blocks.
#ifndef ERIS_MEMORY_MEMORY_BUDGET_H_
#define ERIS_MEMORY_MEMORY_BUDGET_H_

#include <atomic>
#include <cstdint>

namespace eris::memory {

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // False when the limit would be passed; nothing is taken then.
  [[nodiscard]] bool TryTake(uint64_t bytes);
  void Return(uint64_t bytes);

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t taken_bytes() const;

 private:
  const uint64_t limit_bytes_;
  // Shared: a counter only, it publishes no data, so relaxed orders are enough.
  std::atomic<uint64_t> taken_bytes_{0};
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_BUDGET_H_
