// An ExpiryQueue with its timer on the server's one Asio thread. The timer sleeps in the kernel,
// and is not armed at all while nothing is watched.
#ifndef ERIS_SERVER_SWEEP_TIMER_H_
#define ERIS_SERVER_SWEEP_TIMER_H_

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>

#include "server/expiry_queue.h"

namespace eris::server {

class SweepTimer {
 public:
  // `io` is run by one thread, and outlives the timer. limit 0: the queue watches nothing.
  SweepTimer(boost::asio::io_context* io, std::chrono::milliseconds limit);
  SweepTimer(const SweepTimer&) = delete;
  SweepTimer& operator=(const SweepTimer&) = delete;
  // Waits for a sweep under way. REQUIRES: nothing watched; not called on io's thread.
  ~SweepTimer();

  ExpiryQueue& queue() { return queue_; }

 private:
  class Sweeper;
  const std::shared_ptr<Sweeper> sweeper_;  // shared with the handlers that wait in `io`
  ExpiryQueue queue_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_SWEEP_TIMER_H_
