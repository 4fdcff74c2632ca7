// Threads for calls that may block in the engine, so that gRPC's few threads stay free for data
// calls. The server has three executors: one thread for creating, dropping, listing and statistics;
// kMovesAtOnce for calls that move ranges, which may take long; kFlightsAtOnce for what readers
// wait for. Clients take turns: a client that has sent many calls delays the first call of another
// by at most one of them. Any thread.
#ifndef ERIS_SERVER_STATE_CONTROL_EXECUTOR_H_
#define ERIS_SERVER_STATE_CONTROL_EXECUTOR_H_

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "base/mutex.h"
#include "server/overload/client_shares.h"

namespace eris::server {

class ControlExecutor {
 public:
  using Work = absl::AnyInvocable<void() &&>;
  static constexpr uint32_t kWaitingMax = 1024;

  // Concurrent calls that move ranges, of different objects, since those of one object take turns.
  static constexpr size_t kMovesAtOnce = 16;

  // Concurrent calls that plan what Arrow Flight will read, and scans that are opened again. Each
  // waits for AEUs, not for the other calls.
  static constexpr size_t kFlightsAtOnce = 4;

  explicit ControlExecutor(size_t threads) : pool_(threads) {}
  ~ControlExecutor() { pool_.join(); }

  // Runs `work` in the client's turn, after everything that this client has posted before has
  // begun. False, and `work` is dropped, if the client has its share of the kWaitingMax that may
  // wait (client_shares.h).
  [[nodiscard]] bool TryPost(const std::string& client, Work work) {
    {
      base::MutexLock lock(&mu_);
      const auto found = waiting_.find(client);
      if (!HasShare(found == waiting_.end() ? 0 : found->second.size(), waiting_count_,
                    kWaitingMax)) {
        return false;
      }
      std::deque<Work>& queue = waiting_[client];
      if (queue.empty()) turns_.push_back(client);
      queue.push_back(std::move(work));
      ++waiting_count_;
    }
    boost::asio::post(pool_, [this] { RunNext(); });
    return true;
  }

  // Works that have not begun.
  size_t waiting() const {
    base::MutexLock lock(&mu_);
    return waiting_count_;
  }

 private:
  // Runs the first work of the client whose turn it is. Called once for each posted work.
  void RunNext() {
    Work work;
    {
      base::MutexLock lock(&mu_);
      const auto turn = waiting_.find(turns_.front());
      turns_.pop_front();
      work = std::move(turn->second.front());
      turn->second.pop_front();
      --waiting_count_;
      if (turn->second.empty()) {
        waiting_.erase(turn);
      } else {
        turns_.push_back(turn->first);
      }
    }
    std::move(work)();
  }

  mutable base::Mutex mu_;
  std::map<std::string, std::deque<Work>> waiting_ ABSL_GUARDED_BY(mu_);  // by client; never empty
  std::deque<std::string> turns_ ABSL_GUARDED_BY(mu_);                    // the clients of waiting_
  size_t waiting_count_ ABSL_GUARDED_BY(mu_) = 0;
  boost::asio::thread_pool pool_;  // destroyed first: its work uses the rest
};

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_CONTROL_EXECUTOR_H_
