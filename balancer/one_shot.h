// One-Shot, the most aggressive of the paper's balancing algorithms: the target partitioning gives
// each partition an equal share of the sampled load at once. A pure function; it moves nothing.
// Paper: ERIS 3.3.1, Figure 6.
#ifndef ERIS_BALANCER_ONE_SHOT_H_
#define ERIS_BALANCER_ONE_SHOT_H_

#include "balancer/load_sample.h"

namespace eris::balancer {

// The partitioning that the sample was taken under.
Partitioning CurrentPartitioning(const LoadSample& sample);

// As many partitions as the sample has, on the same AEUs in the same order, over the same keys:
// starts strictly ascending, the first one kept. A boundary is placed inside a sub-range by linear
// interpolation; where nobody accesses the keys around it, it stays as near as can be to where it
// is. A single hot key cannot be divided: it fills one partition, and the others share the rest.
// Returns the current partitioning when there is no load, or when the shares would not become
// more equal (by the sum of their squares). REQUIRES: a sample as load_sample.h describes it, 1 to
// 65536 partitions.
Partitioning OneShot(const LoadSample& sample);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_ONE_SHOT_H_
