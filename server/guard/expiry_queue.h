// Things that must end within one same time: calls, or writes that wait for a slow client. Since
// the limit is the same for all, the order of their beginning is the order of their ends: an
// intrusive list, to which beginning and ending is one short lock each, swept from its oldest end
// by one timer (see sweep_timer.h), which is armed only while there is something to watch. Any
// thread; never blocks; knows no gRPC and no Asio.
#ifndef ERIS_SERVER_GUARD_EXPIRY_QUEUE_H_
#define ERIS_SERVER_GUARD_EXPIRY_QUEUE_H_

#include <time.h>

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
  // Now, or up to a tick of the system (some milliseconds) later: limits are no finer, every
  // request asks, and nothing is to expire early.
  static Clock::time_point CoarseNow() {
    timespec now{}, tick{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    return Clock::time_point(std::chrono::seconds(now.tv_sec) +
                             std::chrono::nanoseconds(now.tv_nsec + tick.tv_nsec));
  }

  // Who is told. May be told after the watch has ended, if the sweep was first: it decides by its
  // own lock (as CallState) who ends the thing.
  class Owner {
   public:
    virtual ~Owner() = default;
    // `tag` as given to Begin. On the sweeping thread, at most once per Begin, without a lock held.
    virtual void OnExpired(uint64_t tag) = 0;
  };

  // One thing watched; a field of what it watches. Begin and End by one thread at a time, the
  // queue's sweep goes on beside them.
  class Watch {
   public:
    Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() { End(); }

    // Ends what was watched before. Keeps `owner` until End or OnExpired. Nothing happens if the
    // queue has no limit. The queue outlives the watch, or its End.
    void Begin(ExpiryQueue& queue, std::shared_ptr<Owner> owner, uint64_t tag = 0,
               Clock::time_point now = CoarseNow());
    // OnExpired is not called afterwards, unless it has begun.
    void End();

   private:
    friend class ExpiryQueue;
    // Owned by the thread that begins and ends.
    ExpiryQueue* queue_ = nullptr;
    // Guarded by the queue's mu_.
    Watch* older_ = nullptr;
    Watch* newer_ = nullptr;
    bool linked_ = false;
    std::shared_ptr<Owner> owner_;
    uint64_t tag_ = 0;
    Clock::time_point due_;
  };

  // `arm` is called when the first thing is watched: Sweep is to be called after that time. On any
  // thread; must not block. limit 0: nothing is ever watched.
  ExpiryQueue(std::chrono::milliseconds limit, std::function<void(Clock::duration)> arm);
  ExpiryQueue(const ExpiryQueue&) = delete;
  ExpiryQueue& operator=(const ExpiryQueue&) = delete;
  ~ExpiryQueue();  // REQUIRES: nothing watched

  // Tells the owners of everything whose time is up at `now`. Returns after what time to call it
  // again; nullopt: `arm` will say. One thread at a time.
  std::optional<Clock::duration> Sweep(Clock::time_point now);

  std::chrono::milliseconds limit() const { return limit_; }
  size_t watched() const;

 private:
  void Link(Watch* watch, std::shared_ptr<Owner> owner, uint64_t tag, Clock::time_point now);
  void Unlink(Watch* watch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Remove(Watch* watch);

  // Immutable after construction.
  const std::chrono::milliseconds limit_;
  const Clock::duration tick_;  // sweeps are at least this far apart: what is coarse about it
  const std::function<void(Clock::duration)> arm_;

  mutable base::Mutex mu_;
  Watch* oldest_ ABSL_GUARDED_BY(mu_) = nullptr;
  Watch* newest_ ABSL_GUARDED_BY(mu_) = nullptr;
  size_t watched_ ABSL_GUARDED_BY(mu_) = 0;
  // A sweep is owed. Stays set when the queue runs empty, until that sweep: calls that follow one
  // another arm once per limit, not once per call.
  bool armed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_EXPIRY_QUEUE_H_
