// Threads for calls that may block in the engine, so that gRPC's few threads stay free for data
// calls: one for creating, dropping, listing and statistics; others for calls that move ranges,
// which may take long; and those of Arrow Flight's plans, which readers wait for. Any thread.
#ifndef ERIS_SERVER_STATE_CONTROL_EXECUTOR_H_
#define ERIS_SERVER_STATE_CONTROL_EXECUTOR_H_

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace eris::server {

class ControlExecutor {
 public:
  static constexpr uint32_t kWaitingMax = 1024;

  // Concurrent calls that move ranges, of different objects, since those of one object take turns.
  static constexpr size_t kMovesAtOnce = 16;

  // Concurrent calls that plan what Arrow Flight will read. Each waits for AEUs, not for others.
  static constexpr size_t kFlightsAtOnce = 4;

  explicit ControlExecutor(size_t threads) : pool_(threads) {}
  ~ControlExecutor() { pool_.join(); }

  // Runs `work` after everything posted before has begun. False, and `work` is dropped, if
  // kWaitingMax are waiting already.
  template <class Work>
  [[nodiscard]] bool TryPost(Work work) {
    // relaxed: a count that limits the queue; the queue itself synchronizes.
    if (waiting_.fetch_add(1, std::memory_order_relaxed) >= kWaitingMax) {
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    boost::asio::post(pool_, [this, work = std::move(work)]() mutable {
      work();
      waiting_.fetch_sub(1, std::memory_order_relaxed);
    });
    return true;
  }

 private:
  // Shared: written and read by every thread that posts, and the pool's.
  std::atomic<uint32_t> waiting_{0};
  boost::asio::thread_pool pool_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_CONTROL_EXECUTOR_H_
