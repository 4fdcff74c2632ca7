// Limits how many lines an event may write: a client, or a failing descriptor, must not fill the
// log. Any thread.
#ifndef ERIS_SERVER_LOG_LOG_LIMIT_H_
#define ERIS_SERVER_LOG_LOG_LIMIT_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace eris::server {

class LogLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // At most `lines` lines in each `period`, which begins with its first line.
  LogLimit(uint32_t lines, std::chrono::milliseconds period) : lines_(lines), period_(period) {}

  // The caller may write a line now. The value: lines left out since the one before, to be told in
  // it. nullopt: write none, it is counted.
  std::optional<uint64_t> Take(Clock::time_point now = Clock::now()) {
    base::MutexLock lock(&mu_);
    if (!begun_ || now - *begun_ >= period_) {
      begun_ = now;
      taken_ = 0;
    }
    if (taken_ == lines_) {
      ++left_out_;
      return std::nullopt;
    }
    ++taken_;
    const uint64_t left_out = left_out_;
    left_out_ = 0;
    return left_out;
  }

 private:
  const uint32_t lines_;
  const std::chrono::milliseconds period_;

  base::Mutex mu_;
  std::optional<Clock::time_point> begun_ ABSL_GUARDED_BY(mu_);  // of the period
  uint32_t taken_ ABSL_GUARDED_BY(mu_) = 0;                      // lines in it
  uint64_t left_out_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_LOG_LOG_LIMIT_H_
