// External events on one thread: signals, the drain and its deadline, the sampling timer, the
// calls' time limits (see sweep_timer.h), all on one Boost.Asio io_context. Nothing here polls: an
// idle server's loop sleeps in the kernel.
//
//   serving --SIGTERM, SIGINT--> draining --last call gone, or time up--> drained
//                                    `--second signal--> the process ends at once, exit code 1
#ifndef ERIS_SERVER_CALLS_CONTROL_LOOP_H_
#define ERIS_SERVER_CALLS_CONTROL_LOOP_H_

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

namespace eris::server {

class ControlLoop {
 public:
  // Called on the loop's thread; none may block for long.
  struct Hooks {
    // when it has finished, it must call Drained, from any thread
    std::function<void()> begin_drain;
    std::function<void()> end_calls;  // drain_timeout has passed
    std::function<void()> sample;
  };

  // Handles SIGTERM and SIGINT from now on: a signal before Run is kept until Run.
  ControlLoop();
  ~ControlLoop();

  // For other work on the loop's thread: from Run until the destructor. Any thread.
  boost::asio::io_context* io() { return &io_; }

  // Starts the thread. sample_interval 0: no samples.
  void Run(Hooks hooks, std::chrono::milliseconds drain_timeout,
           std::chrono::milliseconds sample_interval);
  // Changes the two times of Run: the next drain has the new timeout, the next sample comes after the
  // new interval. Any thread.
  void SetTimes(std::chrono::milliseconds drain_timeout, std::chrono::milliseconds sample_interval);
  // The last call has ended. Any thread.
  void Drained();
  // Blocks until a drain has been requested and has ended: by Drained, or by its timeout and some
  // time for the answers. A second signal ends the process, until destruction.
  void AwaitDrained();

 private:
  void AwaitSignal();
  void OnSignal(int number);
  void OnDrainTimeout();
  void AwaitSample();
  void MarkDrained();

  // Immutable once Run has begun.
  Hooks hooks_;

  // Owned by the loop's thread.
  std::chrono::milliseconds drain_timeout_{0};
  std::chrono::milliseconds sample_interval_{0};
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer drain_timer_;
  boost::asio::steady_timer sample_timer_;
  bool draining_ = false;
  bool drained_ = false;

  std::promise<void> drained_promise_;
  std::thread thread_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_CONTROL_LOOP_H_
