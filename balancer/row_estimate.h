// How many rows a key range has, as far as a sample tells: the rows of a partition count as evenly
// spread over those of its keys that have been accessed ever. Immutable after construction; any
// thread. It borrows the sample.
#ifndef ERIS_BALANCER_ROW_ESTIMATE_H_
#define ERIS_BALANCER_ROW_ESTIMATE_H_

#include <cstdint>

#include "balancer/load_curve.h"
#include "balancer/load_sample.h"

namespace eris::balancer {

class RowEstimate {
 public:
  explicit RowEstimate(const LoadSample& sample) : sample_(sample) {}

  // Of [lo, hi). O(log partitions + partitions touched).
  uint64_t RowsIn(Position lo, Position hi) const;

 private:
  const LoadSample& sample_;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_ROW_ESTIMATE_H_
