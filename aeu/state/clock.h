// The steady clock of turns and slices, and the CPU clock of a thread.
#ifndef ERIS_AEU_CLOCK_H_
#define ERIS_AEU_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace eris::aeu {

inline uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t{static_cast<uint64_t>(now.tv_sec)} * 1'000'000'000 +
         static_cast<uint64_t>(now.tv_nsec);
}

// CPU time of the calling thread. A system call: do not use it for each command.
inline uint64_t ThreadCpuNs() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return uint64_t{static_cast<uint64_t>(spent.tv_sec)} * 1'000'000'000 +
         static_cast<uint64_t>(spent.tv_nsec);
}

// The clock that paces background work. A simulation sets its own, so that a seed replays.
using WorkClock = uint64_t (*)();

}  // namespace eris::aeu

#endif  // ERIS_AEU_CLOCK_H_
