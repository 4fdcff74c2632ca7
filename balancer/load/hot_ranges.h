// Where the load of one data object is, for people: pieces of its key space with their load. A pure
// function of a sample. Paper: ERIS 3.3.1 (monitoring).
#ifndef ERIS_BALANCER_HOT_RANGES_H_
#define ERIS_BALANCER_HOT_RANGES_H_

#include <cstddef>
#include <vector>

#include "balancer/load/load_sample.h"
#include "eris/balancer.h"

namespace eris::balancer {

// Neighbours whose load per key is alike are one range, which ends with its partition at the latest
// and has no wide gap. The ranges with the most load, at most `count_max`, by descending load; no
// range without any. Loads are weights divided by the sample's window; without a window there is no
// range.
std::vector<HotRange> HottestRanges(const LoadSample& sample, size_t count_max);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_HOT_RANGES_H_
