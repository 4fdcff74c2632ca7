// Vector clocks: what happened before what, among the few threads of a scenario.
#ifndef ERIS_TESTS_EXPLORE_CLOCK_H_
#define ERIS_TESTS_EXPLORE_CLOCK_H_

#include <array>
#include <cstdint>

namespace eris::explore {

// Thread 0 sets a scenario up and judges it at the end; the scenario's own are 1, 2, ...
inline constexpr uint32_t kThreadsMax = 6;

struct Clock {
  std::array<uint32_t, kThreadsMax> at{};

  void Join(const Clock& other) {
    for (uint32_t i = 0; i < kThreadsMax; ++i) at[i] = other.at[i] > at[i] ? other.at[i] : at[i];
  }
  // Whether what `thread` did at `time` happened before. Time 0: never done.
  bool Knows(uint32_t thread, uint32_t time) const { return time <= at[thread]; }
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_CLOCK_H_
