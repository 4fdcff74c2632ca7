// A partition whose rows are in key order, for indexes: it can be scanned, and it is cut and joined
// without touching its rows. Link transfers rely on that. Paper: ERIS 3.1, 3.3.2.
#ifndef ERIS_STORAGE_ORDERED_PARTITION_H_
#define ERIS_STORAGE_ORDERED_PARTITION_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/types.h"
#include "storage/home_work.h"
#include "storage/partition.h"
#include "storage/scan.h"

namespace eris::memory {
class LocalCache;
}

namespace eris::storage {

class OrderedPartition : public Partition {
 public:
  // Appends rows of cursor.rest in key order (backward scans: in descending order) until `out` is
  // full, the budget is spent or the cursor is done. Moves the cursor behind them, or behind rows
  // that the filter has skipped. REQUIRES: cursor.rest lies in range(); !cursor.done.
  virtual void Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) = 0;
  // Adds the rows of cursor.rest to `out` until the budget is spent or the cursor is done, and
  // moves the cursor behind them. Direction and cursor.rows_left do not matter. REQUIRES: as Scan.
  virtual void Aggregate(ScanCursor& cursor, const ScanBudget& budget, RangeAggregate& out) = 0;

  // Cuts the range at `key`: this partition keeps [lo, key), the result owns [key, hi). O(depth).
  // Errors: InvalidArgument (key not inside), ResourceExhausted, FailedPrecondition (rows are
  // lent); then nothing has changed.
  virtual absl::StatusOr<std::unique_ptr<OrderedPartition>> SplitAt(const Key& key) = 0;
  // Takes over `other`, which must be of the same kind and adjacent on either side; it is empty
  // with an empty range after that. O(depth). Errors: InvalidArgument, ResourceExhausted,
  // FailedPrecondition (as for SplitAt); then nothing has changed.
  virtual absl::Status Absorb(OrderedPartition& other) = 0;
  // Makes this the partition of another AEU: from now on it allocates from that AEU's cache, and
  // blocks that it frees go back to the caches they came from, also to other NumaNodes. O(1).
  // Errors: InvalidArgument (a cache of another object); then nothing has changed.
  virtual absl::Status Rehome(memory::LocalCache& cache) = 0;

  bool BringHome(HomeWork& work) override = 0;

  OrderedPartition* ordered() final { return this; }
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_ORDERED_PARTITION_H_
