// Limits the memory of an engine's queries, apart from data: scratch memory, groups and aggregates.
// Each run counts what it takes, and returns it at its end. Thread-safe. Not from the paper: a
// server needs it.
#ifndef ERIS_STORAGE_TABLE_RUN_MEMORY_H_
#define ERIS_STORAGE_TABLE_RUN_MEMORY_H_

#include <atomic>
#include <cstdint>

namespace eris::storage {

class RunMemory {
 public:
  explicit RunMemory(uint64_t bytes_max) : bytes_max_(bytes_max) {}
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;

  // False: less than `bytes` is left. relaxed, here and below: only a count, it publishes no
  // memory.
  [[nodiscard]] bool Take(uint64_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= bytes_max_) return true;
    Give(bytes);
    return false;
  }
  void Give(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t bytes_max() const { return bytes_max_; }

 private:
  const uint64_t bytes_max_;
  std::atomic<uint64_t> used_{0};
};

// One run's share of it. Used by one thread.
class RunShare {
 public:
  // nullptr: no limit.
  explicit RunShare(RunMemory* memory) : memory_(memory) {}
  RunShare(const RunShare&) = delete;
  RunShare& operator=(const RunShare&) = delete;
  ~RunShare() { GiveAll(); }

  [[nodiscard]] bool Take(uint64_t bytes) {
    if (memory_ != nullptr && !memory_->Take(bytes)) return false;
    taken_ += bytes;
    return true;
  }
  void GiveAll() {
    if (memory_ != nullptr) memory_->Give(taken_);
    taken_ = 0;
  }
  // The engine's limit; 0: none.
  uint64_t bytes_max() const { return memory_ == nullptr ? 0 : memory_->bytes_max(); }

 private:
  RunMemory* const memory_;
  uint64_t taken_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_RUN_MEMORY_H_
