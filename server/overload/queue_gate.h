// Refuses calls when those that were accepted wait too long. By Little's law, a new call waits for
// as long as the calls under way take at the rate at which calls end now. So the gate limits the
// calls under way: to that rate, measured over the last window, times the longest wait. A call is
// under way from its request's arrival to the engine's answer; one that arrives slowly does not
// count.
//
// The rate is only known while the server has enough to do: a window in which fewer than kCallsMin
// were under way at some moment measures the clients, not the server. After such a window the limit
// doubles, so that a gate that was closed opens within a second, and one that was never closed
// admits everything. Any thread; never blocks; independent of gRPC.
#ifndef ERIS_SERVER_OVERLOAD_QUEUE_GATE_H_
#define ERIS_SERVER_OVERLOAD_QUEUE_GATE_H_

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/cache_line.h"
#include "base/mutex.h"

namespace eris::server {

class QueueGate {
 public:
  using Clock = std::chrono::steady_clock;
  // As many calls are always admitted: the AEUs need some to work on, and a few large ones say
  // little about a rate.
  static constexpr uint32_t kCallsMin = 64;
  static constexpr std::chrono::milliseconds kWindow{100};

  // A call under way; leaves in the destructor.
  class Stay {
   public:
    Stay() = default;
    Stay(Stay&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Stay& operator=(Stay&& other) noexcept {
      std::swap(gate_, other.gate_);
      return *this;
    }
    ~Stay() {
      if (gate_ != nullptr) gate_->Left();
    }
    // The call has been done. A Stay that is only destroyed does not count in the rate.
    void Done() { Done(CoarseNow()); }
    void Done(Clock::time_point now) {
      if (gate_ != nullptr) std::exchange(gate_, nullptr)->Ended(now);
    }
    explicit operator bool() const { return gate_ != nullptr; }

   private:
    friend class QueueGate;
    explicit Stay(QueueGate* gate) : gate_(gate) {}
    QueueGate* gate_ = nullptr;
  };

  // 0: admits everything.
  explicit QueueGate(std::chrono::milliseconds wait_max) : wait_max_(wait_max) {}
  QueueGate(const QueueGate&) = delete;
  QueueGate& operator=(const QueueGate&) = delete;

  // An empty Stay: the call must be refused. The gate outlives the stay.
  [[nodiscard]] Stay TryEnter() {
    Stay stay = Take();
    if (!stay) EndWindow(CoarseNow());  // perhaps nothing else ends it: all calls may be stuck
    return stay;
  }
  // The same at a time of the caller's, for tests.
  [[nodiscard]] Stay TryEnter(Clock::time_point now) {
    Stay stay = Take();
    if (!stay) EndWindow(now);
    return stay;
  }
  // Enters in any case: for requests of streams, which are slowed down instead of refused.
  [[nodiscard]] Stay Enter() {
    if (wait_max_.count() == 0) return Stay();
    under_way_.fetch_add(1, std::memory_order_relaxed);
    return Stay(this);
  }
  // Whether a call that came now would be refused. The second form also looks at the time, so that
  // a gate to which nothing else happens opens again.
  bool Full() const {
    return wait_max_.count() != 0 &&
           under_way_.load(std::memory_order_relaxed) >= limit_.load(std::memory_order_relaxed);
  }
  bool Full(Clock::time_point now) {
    if (!Full()) return false;
    EndWindow(now);
    return Full();
  }
  // Now, or up to a tick of the system (some milliseconds) ago: windows are far longer, and every
  // call asks.
  static Clock::time_point CoarseNow() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return Clock::time_point(std::chrono::seconds(now.tv_sec) +
                             std::chrono::nanoseconds(now.tv_nsec));
  }
  bool refuses() const { return wait_max_.count() != 0; }

  std::chrono::milliseconds wait_max() const { return wait_max_; }
  uint64_t done() const { return ended_.load(std::memory_order_relaxed); }
  uint32_t under_way() const { return under_way_.load(std::memory_order_relaxed); }
  uint32_t limit() const { return limit_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();

  Stay Take() {
    if (wait_max_.count() == 0) return Stay();
    // relaxed, here and below: counts and a limit; they publish no data.
    if (under_way_.fetch_add(1, std::memory_order_relaxed) <
        limit_.load(std::memory_order_relaxed)) {
      return Stay(this);
    }
    under_way_.fetch_sub(1, std::memory_order_relaxed);
    return Stay();
  }
  void Left() {
    if (under_way_.fetch_sub(1, std::memory_order_relaxed) <= kCallsMin) {
      idle_.store(true, std::memory_order_relaxed);
    }
  }
  void Ended(Clock::time_point now) {
    Left();
    ended_.fetch_add(1, std::memory_order_relaxed);
    EndWindow(now);
  }

  // Ends the window if its time is over.
  void EndWindow(Clock::time_point now) {
    if (now.time_since_epoch().count() < window_end_.load(std::memory_order_relaxed)) return;
    if (!mu_.TryLock()) return;  // another thread does it
    if (now.time_since_epoch().count() >= window_end_.load(std::memory_order_relaxed)) {
      SetLimit(now);
      begin_ = now;
      window_end_.store((now + kWindow).time_since_epoch().count(), std::memory_order_relaxed);
      ended_before_ = ended_.load(std::memory_order_relaxed);
      idle_.store(under_way_.load(std::memory_order_relaxed) < kCallsMin,
                  std::memory_order_relaxed);
    }
    mu_.Unlock();
  }

  void SetLimit(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const uint64_t limit = limit_.load(std::memory_order_relaxed);
    uint64_t next = 2 * limit;
    if (!idle_.load(std::memory_order_relaxed)) {
      const double window_s = std::chrono::duration<double>(now - begin_).count();
      const double ended =
          static_cast<double>(ended_.load(std::memory_order_relaxed) - ended_before_);
      const double wait_s = std::chrono::duration<double>(wait_max_).count();
      next = static_cast<uint64_t>(ended / window_s * wait_s);
    }
    limit_.store(static_cast<uint32_t>(std::clamp<uint64_t>(next, kCallsMin, kNoLimit)),
                 std::memory_order_relaxed);
  }

  // Immutable after construction.
  const std::chrono::milliseconds wait_max_;

  // Shared: written by every thread that serves a call. A line of their own: the config and the
  // engine's pointer, which every call reads, would be next to them.
  alignas(base::kNoSharingBytes) std::atomic<uint32_t> under_way_{0};
  std::atomic<uint64_t> ended_{0};
  std::atomic<bool> idle_{true};  // fewer than kCallsMin at some moment of this window
  std::atomic<uint32_t> limit_{kNoLimit};
  std::atomic<Clock::rep> window_end_{0};

  base::Mutex mu_;
  Clock::time_point begin_ ABSL_GUARDED_BY(mu_){};
  uint64_t ended_before_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_OVERLOAD_QUEUE_GATE_H_
