// Counts the running requests and scan parts, and whether new ones may begin. Close waits for zero.
// The sessions of each NumaNode count in a lane of their own: requests of different NumaNodes write
// to no common cache line.
#ifndef ERIS_ENGINE_COMPLETION_IN_FLIGHT_H_
#define ERIS_ENGINE_COMPLETION_IN_FLIGHT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>

#include "base/cache_line.h"

namespace eris::engine {

class InFlight {
 public:
  class alignas(base::kNoSharingBytes) Lane {
   public:
    explicit Lane(const InFlight& all) : all_(all) {}

    // False once closed. Any thread.
    [[nodiscard]] bool TryEnter() {
      // seq_cst on both sides: either this thread sees closed_, or AwaitNone sees the count.
      count_.fetch_add(1, std::memory_order_seq_cst);
      if (!all_.closed_.load(std::memory_order_seq_cst)) return true;
      Leave();
      return false;
    }
    // For an operation that has entered this lane and continues in another form. REQUIRES: the
    // holder keeps the count above 0.
    void EnterAgain() { count_.fetch_add(1, std::memory_order_relaxed); }
    void Leave() { count_.fetch_sub(1, std::memory_order_release); }  // pairs with AwaitNone

   private:
    friend class InFlight;
    const InFlight& all_;
    std::atomic<uint64_t> count_{0};
  };
  // Calls Leave in its destructor. REQUIRES: TryEnter has succeeded for it.
  class Entered {
   public:
    explicit Entered(Lane& lane) : lane_(lane) {}
    ~Entered() { lane_.Leave(); }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Lane& lane_;
  };

  // Before the first operation. Throws std::bad_alloc.
  Lane& AddLane() { return lanes_.emplace_back(*this); }

  uint64_t count() const {  // a figure
    uint64_t count = 0;
    for (const Lane& lane : lanes_) count += lane.count_.load(std::memory_order_relaxed);
    return count;
  }
  bool closed() const { return closed_.load(std::memory_order_relaxed); }  // TryEnter decides

  void Close() { closed_.store(true, std::memory_order_seq_cst); }
  // After Close. Blocks until the count is zero: nobody enters a lane any more, so one after the
  // other. It runs once per engine, so polling is good enough.
  void AwaitNone() const {
    for (const Lane& lane : lanes_) {
      // seq_cst: after Close's store, as TryEnter promises; it also pairs with the release in
      // Leave.
      while (lane.count_.load(std::memory_order_seq_cst) != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }

 private:
  std::deque<Lane> lanes_;  // where they are
  std::atomic<bool> closed_{false};
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_COMPLETION_IN_FLIGHT_H_
