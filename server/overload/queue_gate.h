// Refuses calls when those that were accepted wait too long. By Little's law, a new call waits for
// as long as the calls inside take at the rate at which calls end now. So the gate limits the calls
// inside: to that rate, measured over the last window, times the longest wait. A call is inside
// from its beginning to the engine's answer, since under overload most wait before their request is
// read.
//
// Requests that arrive slowly, or never, must not close the gate. Calls are read about in the order
// in which they began. So one that began before those that are read now, and has not arrived, does
// not wait for the server, and is not counted; nor is one that began before a window in which no
// request arrived at all.
//
// The rate is only known while the server has enough to do: a window in which fewer than kCallsMin
// were inside at some moment measures the clients, not the server. After such a window the limit
// doubles, so that a gate that was closed opens within a second, and one that was never closed
// admits everything. The gate does not know whose calls are inside: who has few gets in beyond it
// (arriving_call.h). Any thread; never blocks; independent of gRPC.
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
  static constexpr std::chrono::milliseconds kWindowMin{100};  // or the longest wait

  // A call inside; leaves in the destructor.
  class Stay {
   public:
    Stay() = default;
    Stay(Stay&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), place_(other.place_) {}
    Stay& operator=(Stay&& other) noexcept {
      std::swap(gate_, other.gate_);
      std::swap(place_, other.place_);
      return *this;
    }
    ~Stay() {
      if (gate_ != nullptr) gate_->Leave(place_ != 0);
    }
    // The call's request is there.
    void Arrived() {
      if (gate_ != nullptr && place_ != 0) gate_->Arrive(std::exchange(place_, 0));
    }
    // The call has been done. A Stay that is only destroyed does not count in the rate.
    void Done() { Done(CoarseNow()); }
    void Done(Clock::time_point now) {
      if (gate_ != nullptr) std::exchange(gate_, nullptr)->End(place_ != 0, now);
    }
    explicit operator bool() const { return gate_ != nullptr; }

   private:
    friend class QueueGate;
    Stay(QueueGate* gate, uint64_t place) : gate_(gate), place_(place) {}
    QueueGate* gate_ = nullptr;
    uint64_t place_ = 0;  // among all calls, from 1 on, until its request is there
  };

  // 0: admits everything.
  explicit QueueGate(std::chrono::milliseconds wait_max) : wait_max_(wait_max) {}
  QueueGate(const QueueGate&) = delete;
  QueueGate& operator=(const QueueGate&) = delete;

  // For a call whose request has not arrived. An empty Stay: the call must be refused, if
  // refuses(). The gate outlives the stay.
  [[nodiscard]] Stay TryEnter() { return TryEnter(CoarseNow()); }
  [[nodiscard]] Stay TryEnter(Clock::time_point now) {
    if (!refuses()) return Stay();
    EndWindow(now);
    if (Full()) return Stay();
    // relaxed, here and below: counts and a limit; they publish no data.
    arriving_.fetch_add(1, std::memory_order_relaxed);
    return Stay(this, begun_.fetch_add(1, std::memory_order_relaxed) + 1);
  }
  // Enters in any case: for requests of streams, which have arrived, and which are slowed down
  // instead of refused.
  [[nodiscard]] Stay Enter() {
    if (!refuses()) return Stay();
    under_way_.fetch_add(1, std::memory_order_relaxed);
    return Stay(this, 0);
  }
  // Whether a call that came now would be refused.
  bool Full() const { return refuses() && inside() >= limit_.load(std::memory_order_relaxed); }
  // Now, or up to a tick of the system (some milliseconds) ago: windows are far longer, and every
  // call asks.
  static Clock::time_point CoarseNow() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return Clock::time_point(std::chrono::seconds(now.tv_sec) +
                             std::chrono::nanoseconds(now.tv_nsec));
  }
  bool refuses() const { return wait_max().count() != 0; }

  // Calls inside stay. A gate that has admitted everything does so for one more window: it has not
  // counted what ends.
  void SetWaitMax(std::chrono::milliseconds wait_max) { SetWaitMax(wait_max, CoarseNow()); }
  void SetWaitMax(std::chrono::milliseconds wait_max, Clock::time_point now) {
    base::MutexLock lock(&mu_);
    const bool anew = !refuses();
    wait_max_.store(wait_max, std::memory_order_relaxed);
    if (!anew) return;
    limit_.store(kNoLimit, std::memory_order_relaxed);
    BeginWindow(now);
    idle_.store(true, std::memory_order_relaxed);
  }
  std::chrono::milliseconds wait_max() const {
    return wait_max_.load(std::memory_order_relaxed);  // a number by itself
  }
  uint64_t done() const { return ended_.load(std::memory_order_relaxed); }
  // The calls that count.
  uint64_t inside() const {
    const uint64_t read = read_.load(std::memory_order_relaxed);
    const uint64_t begun = begun_.load(std::memory_order_relaxed);
    const uint64_t later = begun > read ? begun - read : 0;
    return under_way_.load(std::memory_order_relaxed) +
           std::min(arriving_.load(std::memory_order_relaxed), later);
  }
  uint32_t limit() const { return limit_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();

  void Arrive(uint64_t place) {
    under_way_.fetch_add(1, std::memory_order_relaxed);
    arriving_.fetch_sub(1, std::memory_order_relaxed);
    arrived_.fetch_add(1, std::memory_order_relaxed);
    // A quarter of the way: calls of several connections are read a little out of order. An update
    // of another thread may get lost, which the next one makes up for.
    const uint64_t read = read_.load(std::memory_order_relaxed);
    if (place > read) read_.store(read + (place - read + 3) / 4, std::memory_order_relaxed);
  }
  void Leave(bool arriving) {
    (arriving ? arriving_ : under_way_).fetch_sub(1, std::memory_order_relaxed);
    if (inside() < kCallsMin) idle_.store(true, std::memory_order_relaxed);
  }
  void End(bool arriving, Clock::time_point now) {
    Leave(arriving);
    ended_.fetch_add(1, std::memory_order_relaxed);
    EndWindow(now);
  }

  // Ends the window if its time is over.
  void EndWindow(Clock::time_point now) {
    if (now.time_since_epoch().count() < window_end_.load(std::memory_order_relaxed)) return;
    if (!mu_.TryLock()) return;  // another thread does it
    if (now.time_since_epoch().count() >= window_end_.load(std::memory_order_relaxed)) {
      SetLimit(now);
      const uint64_t arrived = arrived_.load(std::memory_order_relaxed);
      if (arrived == arrived_before_ && read_.load(std::memory_order_relaxed) < begun_before_) {
        read_.store(begun_before_, std::memory_order_relaxed);
      }
      BeginWindow(now);
    }
    mu_.Unlock();
  }

  void BeginWindow(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    arrived_before_ = arrived_.load(std::memory_order_relaxed);
    begun_before_ = begun_.load(std::memory_order_relaxed);
    begin_ = now;
    const auto end = now + std::max(wait_max(), kWindowMin);
    window_end_.store(end.time_since_epoch().count(), std::memory_order_relaxed);
    ended_before_ = ended_.load(std::memory_order_relaxed);
    idle_.store(inside() < kCallsMin, std::memory_order_relaxed);
  }

  void SetLimit(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const uint64_t limit = limit_.load(std::memory_order_relaxed);
    uint64_t next = 2 * limit;
    if (!idle_.load(std::memory_order_relaxed)) {
      const double window_s = std::chrono::duration<double>(now - begin_).count();
      const double ended =
          static_cast<double>(ended_.load(std::memory_order_relaxed) - ended_before_);
      const double wait_s = std::chrono::duration<double>(wait_max()).count();
      next = static_cast<uint64_t>(ended / window_s * wait_s);
    }
    limit_.store(static_cast<uint32_t>(std::clamp<uint64_t>(next, kCallsMin, kNoLimit)),
                 std::memory_order_relaxed);
  }

  // Shared: written by SetWaitMax, read by every call. Not on the line below, which changes always.
  std::atomic<std::chrono::milliseconds> wait_max_;

  // Shared: written by every thread that serves a call. A line of their own: the config and the
  // engine's pointer, which every call reads, would be next to them.
  alignas(base::kNoSharingBytes) std::atomic<uint64_t> under_way_{0};  // their requests are there
  std::atomic<uint64_t> arriving_{0};
  std::atomic<uint64_t> begun_{0};    // calls so far, without those of Enter
  std::atomic<uint64_t> arrived_{0};  // of them
  std::atomic<uint64_t> read_{0};     // the place of those that arrive now
  std::atomic<uint64_t> ended_{0};
  std::atomic<bool> idle_{true};  // fewer than kCallsMin inside at some moment of this window
  std::atomic<uint32_t> limit_{kNoLimit};
  std::atomic<Clock::rep> window_end_{0};

  base::Mutex mu_;
  Clock::time_point begin_ ABSL_GUARDED_BY(mu_){};
  uint64_t ended_before_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t begun_before_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t arrived_before_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_OVERLOAD_QUEUE_GATE_H_
