// One-Shot, the most aggressive of the paper's balancing algorithms: the target partitioning gives
// each AEU an equal share of the sampled load at once. A pure function; it moves nothing. Paper:
// ERIS 3.3.1, Figure 6.
#ifndef ERIS_BALANCER_ONE_SHOT_H_
#define ERIS_BALANCER_ONE_SHOT_H_

#include "balancer/load/load_sample.h"
#include "balancer/place_boundaries.h"

namespace eris::balancer {

// The partitioning when the sample was taken.
Partitioning CurrentPartitioning(const LoadSample& sample);

// As PlaceBoundaries, with equal shares for the AEUs of `places`; starts strictly ascending, the
// first one kept. A single hot key cannot be divided: it fills one partition, and the others share
// the rest. The current partitioning if there is no load. REQUIRES: a sample as in load_sample.h,
// with a partition; as PlaceBoundaries.
Partitioning OneShot(const LoadSample& sample, const Places& places);
// Only among AEUs that own a range.
Partitioning OneShot(const LoadSample& sample);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_ONE_SHOT_H_
