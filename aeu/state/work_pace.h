// How much background work of one kind a turn does for an object: as many rows as take about half
// of the time that a turn may spend on it, by the recent cost of a row. That cost is unknown at
// first, so it begins with few rows and at most doubles. Plain values for one thread; the caller
// measures the time.
#ifndef ERIS_AEU_WORK_PACE_H_
#define ERIS_AEU_WORK_PACE_H_

#include <algorithm>
#include <cstdint>

namespace eris::aeu {

class WorkPace {
 public:
  // Rows of the first piece. This many strings of 1 MiB, or rows of 200 columns, take less than 0.2
  // ms.
  static constexpr uint32_t kRowsFirst = 16;

  // The number of rows for a turn that may take `turn_cpu_ns` (> 0): at most `rows_max` (>= 1), at
  // least one.
  uint32_t Rows(uint64_t turn_cpu_ns, uint32_t rows_max) const {
    const uint64_t most = std::min<uint64_t>(most_, rows_max);
    const uint64_t fit = turn_cpu_ns / 2 / std::max<uint64_t>(row_ns_, 1);
    return static_cast<uint32_t>(std::clamp<uint64_t>(fit, 1, most));
  }
  // A piece of `rows` (>= 1) took `cpu_ns`. `complete`: nothing is left, so it may have had fewer
  // rows, and only gives a lower bound of their cost.
  void Learn(uint32_t rows, uint64_t cpu_ns, bool complete) {
    const uint64_t row_ns = cpu_ns / rows;
    if (complete && row_ns <= row_ns_) return;
    // An expensive piece is remembered for a while: the next one may be similar.
    row_ns_ = std::max(row_ns, row_ns_ - row_ns_ / 8);
    if (!complete) most_ = std::max(most_, 2 * uint64_t{rows});
  }

 private:
  uint64_t most_ = kRowsFirst;
  uint64_t row_ns_ = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_WORK_PACE_H_
