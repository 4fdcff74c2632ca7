// The number of rows of one owned range, for readers outside. Written by the owning AEU, read by
// any thread (relaxed: a figure). Accesses are in access_sample.h, by key.
#ifndef ERIS_AEU_PARTITION_LOAD_H_
#define ERIS_AEU_PARTITION_LOAD_H_

#include <cstddef>
#include <cstdint>

#include "aeu/state/load_counters.h"
#include "storage/key.h"

namespace eris::aeu {

class PartitionLoad {
 public:
  explicit PartitionLoad(const storage::Range& range) { SetRange(range); }

  // The AEU.
  void SetRange(const storage::Range& range) { lo_.Set(range.lo.head); }
  void SetSize(uint64_t rows) { rows_.Set(rows); }

  // For any thread: the beginning of the range.
  uint64_t lo() const { return lo_.Read(); }
  uint64_t rows() const { return rows_.Read(); }

  // For the AEU: its index among the published loads; kNowhere: not published.
  static constexpr size_t kNowhere = ~size_t{0};
  size_t place = kNowhere;

 private:
  // Shared: written by the AEU, read by anyone.
  Counter lo_;
  Counter rows_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_PARTITION_LOAD_H_
