// The adaptive histogram: sorted samples cut into sub-ranges that hold about equally much load
// each, so that it is fine where the accesses are. A pure function. Paper: ERIS 3.3.1, Figure 6.
#ifndef ERIS_BALANCER_SUB_RANGES_H_
#define ERIS_BALANCER_SUB_RANGES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/access_history.h"
#include "balancer/load/load_sample.h"

namespace eris::balancer {

// Of samples of one partition, ascending: sub-ranges of about `quantum` each. A key with half of it
// is a sub-range of its own. A sub-range ends behind its last sample: what lies between has weight
// 0, and none reaches over a gap that is wide in comparison.
std::vector<SubRange> CutSubRanges(absl::Span<const WeightedKey> samples, uint64_t quantum);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_SUB_RANGES_H_
