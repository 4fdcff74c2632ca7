// MA(k), the paper's gentler balancing algorithm: each AEU gets the average of its own load and of
// those of up to k neighbours on either side, so that boundaries move a little in each cycle, and
// the load flows to where there is none over several of them. A pure function; it moves nothing.
// Paper: ERIS 3.3.1, Figure 6.
#ifndef ERIS_BALANCER_MOVING_AVERAGE_H_
#define ERIS_BALANCER_MOVING_AVERAGE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/load_sample.h"
#include "balancer/place_boundaries.h"

namespace eris::balancer {

// What each of `loads` is to become, as shares of their sum: the average over loads[i - k .. i +
// k], at the borders over those that exist. Loads are below 2^47.
std::vector<uint64_t> MovingAverages(absl::Span<const uint64_t> loads, uint32_t k);

// As PlaceBoundaries with these shares; neighbours are those along the key space. With a k that
// reaches over all AEUs it is One-Shot, exactly. The current partitioning when there is no load.
// REQUIRES: as OneShot.
Partitioning MovingAverage(const LoadSample& sample, const Places& places, uint32_t k);
Partitioning MovingAverage(const LoadSample& sample, uint32_t k);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_MOVING_AVERAGE_H_
