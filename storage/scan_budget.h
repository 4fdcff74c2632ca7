// Whether a slice of a scan has used up its time. Any thread.
#ifndef ERIS_STORAGE_SCAN_BUDGET_H_
#define ERIS_STORAGE_SCAN_BUDGET_H_

#include <chrono>
#include <cstdint>
#include <limits>

#include "storage/scan.h"

namespace eris::storage {

// A read of the clock takes 20 ns; the rows between two reads take about 2 us.
inline bool Spent(const ScanBudget& budget) {
  if (budget.deadline_ns == std::numeric_limits<uint64_t>::max()) return false;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return static_cast<uint64_t>(now_ns) >= budget.deadline_ns;
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_SCAN_BUDGET_H_
