// MA(k), the paper's gentler balancing algorithm: each AEU gets the average of its own load and of
// those of up to k neighbours on either side, so boundaries move a little in each cycle, and load
// spreads over several cycles. A pure function; it moves nothing.
// Paper: ERIS 3.3.1, Figure 6.
#ifndef ERIS_BALANCER_MOVING_AVERAGE_H_
#define ERIS_BALANCER_MOVING_AVERAGE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/load_sample.h"
#include "balancer/place_boundaries.h"

namespace eris::balancer {

// The target for each of `loads`, as shares of their sum: the average over loads[i - k .. i + k],
// at the borders over those that exist. Loads are below 2^47.
std::vector<uint64_t> MovingAverages(absl::Span<const uint64_t> loads, uint32_t k);

// As PlaceBoundaries with these shares; neighbours are those along the key space. If k covers all
// AEUs the result is exactly One-Shot. The current partitioning if there is no load.
// REQUIRES: as OneShot.
Partitioning MovingAverage(const LoadSample& sample, const Places& places, uint32_t k);
Partitioning MovingAverage(const LoadSample& sample, uint32_t k);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_MOVING_AVERAGE_H_
