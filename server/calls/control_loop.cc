#include "server/calls/control_loop.h"

#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/log/log.h"

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
    Log(LogLevel::kWarning, absl::StrCat("second signal (", number, "), stopping at once"));
    std::_Exit(1);
  }
  Log(LogLevel::kInfo,
      absl::StrCat("signal ", number, ", draining for up to ", drain_timeout_.count(), " ms"));
  drain_timer_.expires_after(drain_timeout_);
  drain_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) OnDrainTimeout();
  });
  hooks_.begin_drain();
}

void ControlLoop::OnDrainTimeout() {
  if (drained_) return;
  Log(LogLevel::kWarning, "drain timeout, ending the calls under way");
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
