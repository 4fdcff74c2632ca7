// Gives freed memory back to the system when the server has been quiet for a while. The general
// heap keeps what calls have freed, because new calls use it again; after a burst that may be most
// of the process. Any thread; one thread (sweep_timer.h) looks and trims.
#ifndef ERIS_SERVER_GUARD_IDLE_TRIM_H_
#define ERIS_SERVER_GUARD_IDLE_TRIM_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace eris::server {

class IdleTrim {
 public:
  using Clock = std::chrono::steady_clock;
  // The server is looked at this often after a call, until it has been quiet from one look to the
  // next.
  static constexpr std::chrono::milliseconds kLook{1000};

  // `arm` is called when Look must be called after that time; on any thread, must not block.
  // `activity` is a number that changes when calls do something; `busy` tells whether they hold
  // much now. `trim` gives memory back. The three are called by Look.
  struct Hooks {
    std::function<void(Clock::duration)> arm;
    std::function<uint64_t()> activity;
    std::function<bool()> busy;
    std::function<void()> trim;
  };
  explicit IdleTrim(Hooks hooks) : hooks_(std::move(hooks)) {}
  IdleTrim(const IdleTrim&) = delete;
  IdleTrim& operator=(const IdleTrim&) = delete;

  // A call has begun.
  void Used() {
    // relaxed: the flag only limits how often the timer is armed. A call that sees it set too late
    // is followed by the look of an earlier one.
    if (armed_.load(std::memory_order_relaxed)) return;
    if (armed_.exchange(true, std::memory_order_relaxed)) return;
    hooks_.arm(kLook);
  }

  // Trims if nothing has happened since the last look. Returns the time after which to call it
  // again; nullopt: `arm` will tell.
  std::optional<Clock::duration> Look() {
    const uint64_t now = hooks_.activity();
    if (seen_ != now || hooks_.busy()) {
      seen_ = now;
      return kLook;
    }
    seen_.reset();
    armed_.store(false, std::memory_order_relaxed);
    hooks_.trim();
    return std::nullopt;
  }

 private:
  const Hooks hooks_;
  std::optional<uint64_t> seen_;  // at the last look; used by the looking thread
  // Shared: set by calls, cleared by Look.
  std::atomic<bool> armed_{false};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_IDLE_TRIM_H_
