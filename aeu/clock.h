// The steady clock of turns and slices.
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

}  // namespace eris::aeu

#endif  // ERIS_AEU_CLOCK_H_
