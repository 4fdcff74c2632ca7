// Estimates the number of rows in a key range from a sample. The rows of a partition are assumed to
// be distributed like the noted keys; if there are too few of those, evenly over the keys that have
// ever been accessed. Immutable after construction; any thread. It borrows the sample.
#ifndef ERIS_BALANCER_ROW_ESTIMATE_H_
#define ERIS_BALANCER_ROW_ESTIMATE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/load_curve.h"
#include "balancer/load/load_sample.h"

namespace eris::balancer {

// Whether keys noted for `noted` added rows can show where the existing `rows` are: not if most of
// them have been erased again.
inline bool TellsWhereRowsAre(double noted, uint64_t rows) {
  return noted <= 4 * static_cast<double>(rows);
}

class RowEstimate {
 public:
  explicit RowEstimate(const LoadSample& sample) : sample_(sample) {}

  // The rows of a partition of the sample as a histogram: sub-ranges as in load_sample.h, with
  // weights that sum up to its size.
  std::vector<SubRange> RowsOf(const PartitionSample& partition) const;
  // The rows of [lo, hi). O(log partitions + noted keys of the partitions touched).
  uint64_t RowsIn(Position lo, Position hi) const;

 private:
  const LoadSample& sample_;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_ROW_ESTIMATE_H_
