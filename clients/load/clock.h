// The clock of generators: monotonic nanoseconds. Tests set it by hand.
#ifndef ERIS_CLIENTS_LOAD_CLOCK_H_
#define ERIS_CLIENTS_LOAD_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace eris::load {

inline int64_t MonotonicNs() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t NowNs() = 0;
};

class MonotonicClock final : public Clock {
 public:
  int64_t NowNs() override { return MonotonicNs(); }
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_CLOCK_H_
