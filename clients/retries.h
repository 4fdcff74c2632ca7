// Repeats a call that an overloaded server has refused, if the refusal names a time after which to
// try again (RetryInfo). The server has done nothing of such a call, so a write may be repeated,
// too. One thread.
#ifndef ERIS_CLIENTS_RETRIES_H_
#define ERIS_CLIENTS_RETRIES_H_

#include <algorithm>
#include <cstdint>
#include <random>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "eris/errors.h"

namespace eris::client {

// How long to wait before attempt number `attempt`, from 1 on. It is what the server asks for,
// doubled with each further attempt up to kPauseMax, and longer by up to a half: by half of `draw`,
// from 0 to 1, so that clients that were refused together do not return together. Zero: do not try
// again after this status.
inline absl::Duration PauseAfter(const absl::Status& status, int attempt, double draw) {
  constexpr absl::Duration kPauseMax = absl::Seconds(2);
  if (!absl::IsResourceExhausted(status)) return absl::ZeroDuration();
  const absl::Duration asked = absl::Milliseconds(ErrorDetailsOf(status).retry_ms);
  const absl::Duration doubled = asked * (int64_t{1} << std::min(attempt - 1, 10));
  return std::max(asked, std::min(doubled, kPauseMax)) * (1 + draw / 2);
}

class Retries {
 public:
  static constexpr int kMost = 5;

  explicit Retries(absl::Time deadline) : deadline_(deadline) {}

  // Waits as long as the server asks; then true: make the call again. False at once for other
  // statuses, after kMost attempts, and if the deadline would pass meanwhile.
  bool Wait(const absl::Status& status) {
    if (made_ == kMost) return false;
    const absl::Duration pause =
        PauseAfter(status, made_ + 1, std::uniform_real_distribution<double>()(random_));
    if (pause == absl::ZeroDuration() || absl::Now() + pause >= deadline_) return false;
    absl::SleepFor(pause);
    ++made_;
    return true;
  }
  int made() const { return made_; }

 private:
  const absl::Time deadline_;
  int made_ = 0;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_RETRIES_H_
