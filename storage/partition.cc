#include "storage/partition.h"

#include <limits>
#include <utility>

#include "base/status_macros.h"

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

absl::Status Partition::Extract(uint32_t rows_max, ExchangeChunk& out) {
  ExchangeChunk chunk;
  ERIS_RETURN_IF_ERROR(Lend(range(), End::kLow, rows_max, chunk));
  while (Forget(SnapshotView(), std::numeric_limits<uint32_t>::max())) {
  }
  out = std::move(chunk);
  return absl::OkStatus();
}

absl::Status Partition::Lend(const Range&, End, const ChunkLimit&, ExchangeChunk&) {
  return absl::FailedPreconditionError("this kind of partition lends nothing");
}

bool Partition::Forget(const SnapshotView&, uint32_t) { return false; }

void Partition::TakeBack() {}

absl::Status Partition::Rehome(memory::LocalCache&) {
  return absl::FailedPreconditionError("this kind of partition moves by copy only");
}

bool Partition::FreeVersions(const SnapshotView&, uint32_t) { return false; }

bool Partition::Maintain(const SnapshotView&, uint32_t) { return false; }

}  // namespace eris::storage
