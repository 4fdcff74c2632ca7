// A place that tests can make fail: the n-th request from now on, once or permanently. Any thread.
// Unarmed, it costs a load and a branch.
#ifndef ERIS_MEMORY_FAILURE_POINT_H_
#define ERIS_MEMORY_FAILURE_POINT_H_

#include <atomic>
#include <cstdint>

namespace eris::memory {

class FailurePoint {
 public:
  enum class Mode : uint8_t { kOnce, kFromThen };

  // The nth request from now on is refused (1 = the next), and with kFromThen every one after it.
  // 0: none.
  void Arm(uint64_t nth, Mode mode) {
    // relaxed: a switch for tests, it orders nothing.
    mode_.store(mode, std::memory_order_relaxed);
    left_.store(nth, std::memory_order_relaxed);
  }

  // Counts one request; true if it must be refused.
  bool Fires() {
    uint64_t left = left_.load(std::memory_order_relaxed);
    if (left == 0) [[likely]]
      return false;
    return FiresArmed(left);
  }

 private:
  bool FiresArmed(uint64_t left) {
    const bool once = mode_.load(std::memory_order_relaxed) == Mode::kOnce;
    do {
      if (left == 0) return false;
      if (left == 1 && !once) return true;
    } while (!left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed));
    return left == 1;
  }

  // Shared: armed by a test, counted by every requesting thread.
  std::atomic<uint64_t> left_{0};
  std::atomic<Mode> mode_{Mode::kOnce};
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_FAILURE_POINT_H_
