// Runs sweeps on the server's one Asio thread: of an ExpiryQueue, or of another class that returns
// when it must be called next. The timer sleeps in the kernel, and is not armed while nothing is
// watched.
#ifndef ERIS_SERVER_GUARD_SWEEP_TIMER_H_
#define ERIS_SERVER_GUARD_SWEEP_TIMER_H_

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "server/guard/expiry_queue.h"
#include "server/guard/idle_trim.h"
#include "server/guard/snapshot_leases.h"

namespace eris::server {

// The part shared with the handlers that wait in the io_context.
class Sweeper {
 public:
  using Clock = std::chrono::steady_clock;
  // Returns the time after which to call it again; nullopt: Arm will tell.
  using Sweep = std::function<std::optional<Clock::duration>(Clock::time_point now)>;

  // One thread runs `io`, which outlives the sweeper.
  explicit Sweeper(boost::asio::io_context* io);
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;

  void Begin(Sweep sweep);
  // Ends sweeping; waits for a running sweep. REQUIRES: not called on io's thread.
  void End();
  // Sweeps after `delay`, instead of the planned time. Any thread; does not block.
  void Arm(Clock::duration delay);

 private:
  class Timer;
  const std::shared_ptr<Timer> timer_;
};

class SweepTimer {
 public:
  // As Sweeper. limit 0: nothing expires.
  SweepTimer(boost::asio::io_context* io, std::chrono::milliseconds limit);
  ~SweepTimer() { sweeper_.End(); }  // REQUIRES: nothing is watched

  ExpiryQueue& queue() { return queue_; }

 private:
  Sweeper sweeper_;  // destroyed last: the queue arms it
  ExpiryQueue queue_;
};

// The server's SnapshotLeases with their timer.
class LeaseTimer {
 public:
  explicit LeaseTimer(boost::asio::io_context* io);
  ~LeaseTimer() { sweeper_.End(); }

  SnapshotLeases& leases() { return leases_; }

 private:
  Sweeper sweeper_;
  SnapshotLeases leases_;
};

// The server's IdleTrim with its timer.
class TrimTimer {
 public:
  // `hooks.arm` is the timer's.
  TrimTimer(boost::asio::io_context* io, IdleTrim::Hooks hooks);
  ~TrimTimer() { sweeper_.End(); }

  IdleTrim& trim() { return trim_; }

 private:
  Sweeper sweeper_;
  IdleTrim trim_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_SWEEP_TIMER_H_
