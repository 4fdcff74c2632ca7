// Counts the running requests and scan parts, and whether new ones may begin. Close waits for zero.
#ifndef ERIS_ENGINE_CORE_IN_FLIGHT_H_
#define ERIS_ENGINE_CORE_IN_FLIGHT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace eris::engine {

class InFlight {
 public:
  // False once closed. Any thread.
  [[nodiscard]] bool TryEnter() {
    // seq_cst on both sides: either this thread sees closed_, or Close sees the count.
    count_.fetch_add(1, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return true;
    Leave();
    return false;
  }
  // Calls Leave in its destructor. REQUIRES: TryEnter has succeeded for it.
  class Entered {
   public:
    explicit Entered(InFlight& in_flight) : in_flight_(in_flight) {}
    ~Entered() { in_flight_.Leave(); }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    InFlight& in_flight_;
  };
  // For an operation that has entered and continues in another form. REQUIRES: count() > 0.
  void EnterAgain() {
    count_.fetch_add(1, std::memory_order_relaxed);
  }  // the holder keeps it above 0
  void Leave() {
    count_.fetch_sub(1, std::memory_order_release);  // pairs with the load in AwaitNone
  }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }  // a figure
  bool closed() const {
    return closed_.load(std::memory_order_relaxed);
  }  // a hint; TryEnter decides

  void Close() { closed_.store(true, std::memory_order_seq_cst); }
  // Blocks until the count is zero. It runs once per engine, so polling is good enough.
  void AwaitNone() const {
    // seq_cst: after Close's store, as TryEnter promises; it also pairs with the release in Leave.
    while (count_.load(std::memory_order_seq_cst) != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::atomic<uint64_t> count_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_IN_FLIGHT_H_
