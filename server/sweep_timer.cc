#include "server/sweep_timer.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "base/mutex.h"

namespace eris::server {

class SweepTimer::Sweeper : public std::enable_shared_from_this<Sweeper> {
 public:
  explicit Sweeper(boost::asio::io_context* io) : io_(*io), timer_(*io) {}

  void Watch(ExpiryQueue* queue) {
    base::MutexLock lock(&mu_);
    queue_ = queue;
  }
  void Arm(ExpiryQueue::Clock::duration delay) {
    boost::asio::post(io_, [self = shared_from_this(), delay] { self->Await(delay); });
  }
  void Stop() {
    Watch(nullptr);
    boost::asio::post(io_, [self = shared_from_this()] { self->timer_.cancel(); });
  }

 private:
  void Await(ExpiryQueue::Clock::duration delay) {
    timer_.expires_after(delay);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->Sweep();
    });
  }
  void Sweep() {
    std::optional<ExpiryQueue::Clock::duration> next;
    {
      base::MutexLock lock(&mu_);  // so that Stop waits
      if (queue_ == nullptr) return;
      next = queue_->Sweep(ExpiryQueue::Clock::now());
    }
    if (next) Await(*next);
  }

  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;  // touched by io's thread only
  base::Mutex mu_;
  ExpiryQueue* queue_ ABSL_GUARDED_BY(mu_) = nullptr;
};

SweepTimer::SweepTimer(boost::asio::io_context* io, std::chrono::milliseconds limit)
    : sweeper_(std::make_shared<Sweeper>(io)),
      queue_(limit,
             [sweeper = sweeper_](ExpiryQueue::Clock::duration delay) { sweeper->Arm(delay); }) {
  sweeper_->Watch(&queue_);
}

SweepTimer::~SweepTimer() { sweeper_->Stop(); }

}  // namespace eris::server
