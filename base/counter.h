// A counter that one thread writes and any thread reads.
#ifndef ERIS_BASE_COUNTER_H_
#define ERIS_BASE_COUNTER_H_

#include <atomic>
#include <cstdint>

namespace eris::base {

// There is only one writer, so a load and a store are enough; a read-modify-write would lock the
// bus. relaxed: it orders nothing.
class Counter {
 public:
  void Add(uint64_t amount) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void Set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  uint64_t Read() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace eris::base

#endif  // ERIS_BASE_COUNTER_H_
