// How much background work of one kind a turn does for an object: as many rows as take about half
// of the time that a turn may spend on it, by the recent cost of a row. What a row costs is not
// known at first, so it begins with few and at most doubles. Plain values for one thread; time is
// what the caller says.
#ifndef ERIS_AEU_WORK_PACE_H_
#define ERIS_AEU_WORK_PACE_H_

#include <algorithm>
#include <cstdint>

namespace eris::aeu {

class WorkPace {
 public:
  // Rows of the first piece. So many strings of 1 MiB, or rows of 200 columns, stay below 0.2 ms.
  static constexpr uint32_t kRowsFirst = 16;

  // For a turn that may take `turn_cpu_ns` (> 0), `rows_max` (>= 1) at most, and at least one.
  uint32_t Rows(uint64_t turn_cpu_ns, uint32_t rows_max) const {
    const uint64_t most = std::min<uint64_t>(most_, rows_max);
    const uint64_t fit = turn_cpu_ns / 2 / std::max<uint64_t>(row_ns_, 1);
    return static_cast<uint32_t>(std::clamp<uint64_t>(fit, 1, most));
  }
  // A piece of `rows` (>= 1) took so long. `complete`: nothing is left, so that it may have had
  // fewer rows, and only says that they are not cheaper.
  void Learn(uint32_t rows, uint64_t cpu_ns, bool complete) {
    const uint64_t row_ns = cpu_ns / rows;
    if (complete && row_ns <= row_ns_) return;
    // A dear piece is remembered for a while: the next may be like it.
    row_ns_ = std::max(row_ns, row_ns_ - row_ns_ / 8);
    if (!complete) most_ = std::max(most_, 2 * uint64_t{rows});
  }

 private:
  uint64_t most_ = kRowsFirst;
  uint64_t row_ns_ = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_WORK_PACE_H_
