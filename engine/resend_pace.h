// When keys that came back as moved are sent again. At once, as a rule: a table in force says who
// has them by then. But where a range is on its way and its new owner refuses it, its keys go to
// and fro until a thread has run that the system may keep waiting; so rounds that bring nothing
// slow down, and end some time.
#ifndef ERIS_ENGINE_RESEND_PACE_H_
#define ERIS_ENGINE_RESEND_PACE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace eris::engine {

// Times that moved keys are sent again without an answer to any of them before a call gives up.
// Paused as below, ten seconds and more.
inline constexpr uint32_t kResendsMax = 100'000;

class ResendPace {
 public:
  // `left` keys have moved. False: give up. Blocks for a moment after some rounds that brought
  // nothing: short enough for a thread that has others waiting, too.
  bool Again(size_t left) {
    const bool progress = left != left_;
    left_ = left;
    fruitless_ = progress ? 0 : fruitless_ + 1;
    if (fruitless_ > kResendsMax) return false;
    if (fruitless_ > kAtOnce) std::this_thread::sleep_for(kPause);
    return true;
  }

 private:
  static constexpr uint32_t kAtOnce = 16;
  static constexpr std::chrono::microseconds kPause{100};

  size_t left_ = 0;
  uint32_t fruitless_ = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_RESEND_PACE_H_
