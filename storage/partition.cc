#include "storage/partition.h"

#include <algorithm>

namespace eris::storage {

void Partition::Aggregate(ScanCursor& cursor, const ScanBudget& budget, RangeAggregate& out) {
  constexpr uint32_t kRows = 256;
  uint64_t keys[kRows];
  uint64_t values[kRows];
  cursor.query.direction = ScanDirection::kForward;
  cursor.query.keys_only = false;
  // One piece a slice: Scan has looked at the clock, and the next slice goes on behind it.
  ScanRows rows{keys, values, kRows, 0};
  Scan(cursor, budget, rows);
  for (uint32_t i = 0; i < rows.rows; ++i) {
    out.Add({.count = 1,
             .min = values[i],
             .max = values[i],
             .sum_low = values[i],
             .first_key = keys[i],
             .last_key = keys[i]});
  }
}

bool Partition::FreeVersions(const SnapshotView&, uint32_t) { return false; }

bool Partition::Maintain(const SnapshotView&, uint32_t) { return false; }

}  // namespace eris::storage
