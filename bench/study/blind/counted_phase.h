// Lets the access counter of the emulated machine (tests/numa) count everything that this program
// does while an object of the class lives, on all cpus. Elsewhere it has no effect.
#ifndef ERIS_BENCH_STUDY_BLIND_COUNTED_PHASE_H_
#define ERIS_BENCH_STUDY_BLIND_COUNTED_PHASE_H_

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "bench/routing/machine.h"
#include "tests/numa/access_marks.h"

namespace eris::bench::study {

class CountedPhase {
 public:
  // 0: nothing is counted. A mark is for the cpu that executes it, and a thread of the program may
  // come to any cpu: so the calling thread visits all of them.
  explicit CountedPhase(uint32_t phase) : phase_(phase) { MarkAll(phase_); }
  ~CountedPhase() { MarkAll(0); }
  CountedPhase(const CountedPhase&) = delete;
  CountedPhase& operator=(const CountedPhase&) = delete;

 private:
  void MarkAll(uint32_t phase) const {
    if (phase_ == 0) return;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) Die("sched_getaffinity failed");
    for (const int cpu : AllowedCpus()) {
      PinTo(cpu);
      Mark(phase);
    }
    if (sched_setaffinity(0, sizeof allowed, &allowed) != 0) Die("sched_setaffinity failed");
  }
  static void Mark(uint32_t phase) {
    [&]<size_t... phases>(std::index_sequence<phases...>) {
      ((phase == phases ? numa_lab::CountInto<static_cast<uint8_t>(phases)>() : void()), ...);
    }
    (std::make_index_sequence<numa_lab::kPhasesMax>());
  }

  const uint32_t phase_;
};

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_COUNTED_PHASE_H_
