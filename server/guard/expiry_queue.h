// Watches things that must all end within the same time: calls, or writes that wait for a slow
// client. Because the limit is the same for all, they expire in the order in which they began; it
// may change, and then changes for all. So an intrusive list is enough: beginning and ending take
// one short lock each. One timer (see sweep_timer.h) sweeps it from its oldest end, and is armed
// only while there is a limit and something to watch. Any thread; never blocks; independent of gRPC
// and Asio.
#ifndef ERIS_SERVER_GUARD_EXPIRY_QUEUE_H_
#define ERIS_SERVER_GUARD_EXPIRY_QUEUE_H_

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace eris::server {

class ExpiryQueue {
 public:
  using Clock = std::chrono::steady_clock;
  // Now, or up to a tick of the system (some milliseconds) later. Limits are no finer, every
  // request calls it, and nothing may expire early.
  static Clock::time_point CoarseNow() {
    timespec now{}, tick{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    return Clock::time_point(std::chrono::seconds(now.tv_sec) +
                             std::chrono::nanoseconds(now.tv_nsec + tick.tv_nsec));
  }

  // Receives expirations. May be notified after the watch has ended, if the sweep was first: its
  // own lock (as in CallState) decides which thread ends the thing.
  class Owner {
   public:
    virtual ~Owner() = default;
    // `tag` as given to Begin. On the sweeping thread, at most once per Begin, without a lock held.
    virtual void OnExpired(uint64_t tag) = 0;
  };

  // One watched thing; a field of what it watches. One thread at a time calls Begin and End,
  // concurrently with the queue's sweep.
  class Watch {
   public:
    Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() { End(); }

    // Ends the previous watch. Keeps `owner` until End or OnExpired. Without a limit it waits for
    // one (SetLimit). The queue outlives the watch, or its End.
    void Begin(ExpiryQueue& queue, std::shared_ptr<Owner> owner, uint64_t tag = 0,
               Clock::time_point now = CoarseNow());
    // After it OnExpired is not called, unless it has begun.
    void End();

   private:
    friend class ExpiryQueue;
    // Owned by the thread that calls Begin and End.
    ExpiryQueue* queue_ = nullptr;
    // Guarded by the queue's mu_.
    Watch* older_ = nullptr;
    Watch* newer_ = nullptr;
    bool linked_ = false;
    std::shared_ptr<Owner> owner_;
    uint64_t tag_ = 0;
    Clock::time_point began_;
  };

  // `arm` is called when the first thing is watched: Sweep must be called after that time. On any
  // thread; must not block. limit 0: nothing expires.
  ExpiryQueue(std::chrono::milliseconds limit, std::function<void(Clock::duration)> arm);
  ExpiryQueue(const ExpiryQueue&) = delete;
  ExpiryQueue& operator=(const ExpiryQueue&) = delete;
  ~ExpiryQueue();  // REQUIRES: nothing is watched

  // Notifies the owners of everything whose time is over at `now`. Returns the time after which to
  // call it again; nullopt: `arm` will tell. One thread at a time.
  std::optional<Clock::duration> Sweep(Clock::time_point now);

  // Also for what is watched already, and for what has begun without a limit. With limit 0 nothing
  // expires. Any thread.
  void SetLimit(std::chrono::milliseconds limit);
  // relaxed: a number by itself
  std::chrono::milliseconds limit() const { return limit_.load(std::memory_order_relaxed); }
  size_t watched() const;

 private:
  void Link(Watch* watch, std::shared_ptr<Owner> owner, uint64_t tag, Clock::time_point now);
  void Unlink(Watch* watch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Remove(Watch* watch);

  // Shared: written by SetLimit, read by every watch that begins and by sweeps.
  std::atomic<std::chrono::milliseconds> limit_;
  // Immutable after construction.
  const std::function<void(Clock::duration)> arm_;

  mutable base::Mutex mu_;
  Watch* oldest_ ABSL_GUARDED_BY(mu_) = nullptr;
  Watch* newest_ ABSL_GUARDED_BY(mu_) = nullptr;
  size_t watched_ ABSL_GUARDED_BY(mu_) = 0;
  // A sweep is pending. Stays set when the queue becomes empty, until that sweep: so successive
  // calls arm once per limit, not once per call.
  bool armed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_EXPIRY_QUEUE_H_
