// What the runs of an engine's queries take beside the data, and its bound: scratch memory, groups
// and what is added up for them. Each run counts what it takes, and gives it back with its end.
// Thread-safe. Paper: none, a server's need.
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

  // False: so many are not left. relaxed, here and below: a count, no memory goes with it.
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

// What one run has taken of it. Of one thread.
class RunShare {
 public:
  // nullptr: without a bound.
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
  // Of the engine; 0: no bound.
  uint64_t bytes_max() const { return memory_ == nullptr ? 0 : memory_->bytes_max(); }

 private:
  RunMemory* const memory_;
  uint64_t taken_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_RUN_MEMORY_H_
