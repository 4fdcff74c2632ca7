#include "server/calls/control_loop.h"

#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace eris::server {

namespace {
// After the drain's timeout: time for sending the UNAVAILABLE answers.
constexpr std::chrono::milliseconds kLastAnswers{500};
}  // namespace

ControlLoop::ControlLoop()
    : io_(1),
      work_(boost::asio::make_work_guard(io_)),
      signals_(io_, SIGTERM, SIGINT),
      drain_timer_(io_),
      sample_timer_(io_) {}

ControlLoop::~ControlLoop() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void ControlLoop::Run(Hooks hooks, std::chrono::milliseconds drain_timeout,
                      std::chrono::milliseconds sample_interval) {
  hooks_ = std::move(hooks);
  drain_timeout_ = drain_timeout;
  sample_interval_ = sample_interval;
  AwaitSignal();
  if (sample_interval_.count() > 0) AwaitSample();
  thread_ = std::thread([this] { io_.run(); });
}

void ControlLoop::SetTimes(std::chrono::milliseconds drain_timeout,
                           std::chrono::milliseconds sample_interval) {
  boost::asio::post(io_, [this, drain_timeout, sample_interval] {
    drain_timeout_ = drain_timeout;
    if (sample_interval == std::exchange(sample_interval_, sample_interval)) return;
    sample_timer_.cancel();
    if (sample_interval_.count() > 0 && !drained_) AwaitSample();
  });
}

void ControlLoop::Drained() {
  boost::asio::post(io_, [this] { MarkDrained(); });
}

void ControlLoop::AwaitDrained() { drained_promise_.get_future().wait(); }

void ControlLoop::AwaitSignal() {
  signals_.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    OnSignal(number);
    AwaitSignal();
  });
}

void ControlLoop::OnSignal(int number) {
  if (std::exchange(draining_, true)) {
    std::fprintf(stderr, "eris: second signal (%d), stopping at once\n", number);
    std::_Exit(1);
  }
  std::fprintf(stderr, "eris: signal %d, draining for up to %lld ms\n", number,
               static_cast<long long>(drain_timeout_.count()));
  drain_timer_.expires_after(drain_timeout_);
  drain_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) OnDrainTimeout();
  });
  hooks_.begin_drain();
}

void ControlLoop::OnDrainTimeout() {
  if (drained_) return;
  std::fprintf(stderr, "eris: drain timeout, ending the calls under way\n");
  drain_timer_.expires_after(kLastAnswers);
  drain_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) MarkDrained();
  });
  hooks_.end_calls();
}

void ControlLoop::AwaitSample() {
  sample_timer_.expires_after(sample_interval_);
  sample_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || sample_interval_.count() == 0) return;
    hooks_.sample();
    AwaitSample();
  });
}

void ControlLoop::MarkDrained() {
  if (std::exchange(drained_, true)) return;
  drain_timer_.cancel();
  sample_timer_.cancel();
  drained_promise_.set_value();
}

}  // namespace eris::server
