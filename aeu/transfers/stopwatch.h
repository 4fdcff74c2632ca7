// Measures the cost of a part of a turn, in CPU time of the thread and in wall-clock time.
#ifndef ERIS_AEU_STOPWATCH_H_
#define ERIS_AEU_STOPWATCH_H_

#include <algorithm>
#include <cstdint>

#include "aeu/state/clock.h"

namespace eris::aeu {

class Stopwatch {
 public:
  Stopwatch() : cpu_ns_(ThreadCpuNs()), wall_ns_(NowNs()) {}
  // Keeps the maximum of all turns.
  void Stop(uint64_t& cpu_ns, uint64_t& wall_ns) const {
    cpu_ns = std::max(cpu_ns, ThreadCpuNs() - cpu_ns_);
    wall_ns = std::max(wall_ns, NowNs() - wall_ns_);
  }

 private:
  const uint64_t cpu_ns_;
  const uint64_t wall_ns_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_STOPWATCH_H_
