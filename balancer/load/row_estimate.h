// How many rows a key range has, as far as a sample tells: the rows of a partition lie as those do
// whose keys have been noted, or, where too few have, evenly over those of its keys that have been
// accessed ever. Immutable after construction; any thread. It borrows the sample.
#ifndef ERIS_BALANCER_ROW_ESTIMATE_H_
#define ERIS_BALANCER_ROW_ESTIMATE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/load_curve.h"
#include "balancer/load/load_sample.h"

namespace eris::balancer {

// Whether keys that were noted for `noted` added rows may be where the `rows` are that there are:
// not where most of them have been erased again.
inline bool TellsWhereRowsAre(double noted, uint64_t rows) {
  return noted <= 4 * static_cast<double>(rows);
}

class RowEstimate {
 public:
  explicit RowEstimate(const LoadSample& sample) : sample_(sample) {}

  // The rows of a partition of the sample as a histogram: sub-ranges as load_sample.h has them, the
  // weights summing up to its size.
  std::vector<SubRange> RowsOf(const PartitionSample& partition) const;
  // Of [lo, hi). O(log partitions + noted keys of the partitions touched).
  uint64_t RowsIn(Position lo, Position hi) const;

 private:
  const LoadSample& sample_;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_ROW_ESTIMATE_H_
