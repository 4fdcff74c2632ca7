#include "server/guard/sweep_timer.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/mutex.h"

namespace eris::server {

class Sweeper::Timer : public std::enable_shared_from_this<Timer> {
 public:
  explicit Timer(boost::asio::io_context* io) : io_(*io), timer_(*io) {}

  void Watch(Sweep sweep) {
    base::MutexLock lock(&mu_);
    sweep_ = std::move(sweep);
  }
  void Arm(Clock::duration delay) {
    boost::asio::post(io_, [self = shared_from_this(), delay] { self->Await(delay); });
  }
  void Stop() {
    Watch(nullptr);
    boost::asio::post(io_, [self = shared_from_this()] { self->timer_.cancel(); });
  }

 private:
  void Await(Clock::duration delay) {
    timer_.expires_after(delay);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->Run();
    });
  }
  void Run() {
    std::optional<Clock::duration> next;
    {
      base::MutexLock lock(&mu_);  // so that Stop waits
      if (!sweep_) return;
      next = sweep_(Clock::now());
    }
    if (next) Await(*next);
  }

  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;  // used only by io's thread
  base::Mutex mu_;
  Sweep sweep_ ABSL_GUARDED_BY(mu_);
};

Sweeper::Sweeper(boost::asio::io_context* io) : timer_(std::make_shared<Timer>(io)) {}
void Sweeper::Begin(Sweep sweep) { timer_->Watch(std::move(sweep)); }
void Sweeper::End() { timer_->Stop(); }
void Sweeper::Arm(Clock::duration delay) { timer_->Arm(delay); }

SweepTimer::SweepTimer(boost::asio::io_context* io, std::chrono::milliseconds limit)
    : sweeper_(io),
      queue_(limit, [this](ExpiryQueue::Clock::duration delay) { sweeper_.Arm(delay); }) {
  sweeper_.Begin([this](ExpiryQueue::Clock::time_point now) { return queue_.Sweep(now); });
}

LeaseTimer::LeaseTimer(boost::asio::io_context* io)
    : sweeper_(io),
      leases_([this](SnapshotLeases::Clock::duration delay) { sweeper_.Arm(delay); }) {
  sweeper_.Begin([this](SnapshotLeases::Clock::time_point now) { return leases_.Sweep(now); });
}

TrimTimer::TrimTimer(boost::asio::io_context* io, IdleTrim::Hooks hooks)
    : sweeper_(io), trim_([&] {
        hooks.arm = [this](IdleTrim::Clock::duration delay) { sweeper_.Arm(delay); };
        return std::move(hooks);
      }()) {
  sweeper_.Begin([this](IdleTrim::Clock::time_point) { return trim_.Look(); });
}

}  // namespace eris::server
