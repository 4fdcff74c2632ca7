// The adaptive histogram: sorted samples, cut into sub-ranges with about equal load, so that it is
// fine where the accesses are. A pure function. Paper: ERIS 3.3.1, Figure 6.
#ifndef ERIS_BALANCER_SUB_RANGES_H_
#define ERIS_BALANCER_SUB_RANGES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/access_history.h"
#include "balancer/load/load_sample.h"

namespace eris::balancer {

// Cuts ascending samples of one partition into sub-ranges of about `quantum` each. A key with half
// of that is a sub-range by itself. A sub-range ends after its last sample: gaps between have
// weight 0, and no sub-range contains a relatively wide gap.
std::vector<SubRange> CutSubRanges(absl::Span<const WeightedKey> samples, uint64_t quantum);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_SUB_RANGES_H_
