// The loads of objects whose ranges lie beside each other, as one: equal keys belong to one AEU, so
// what each object costs there counts together. A pure function. Paper: ERIS 3.3.1.
#ifndef ERIS_BALANCER_ADDED_LOADS_H_
#define ERIS_BALANCER_ADDED_LOADS_H_

#include "absl/types/span.h"
#include "balancer/load/load_sample.h"

namespace eris::balancer {

// A sample with the object and the partitions of samples[0], and the loads, rows and noted keys of
// all. The weights are in the longest of the windows. A single sample is returned as it is.
// REQUIRES: at least one; each as load_sample.h describes it, with a partition, and all over the
// same keys. O(all sub-ranges and noted keys).
LoadSample AddedLoads(absl::Span<const LoadSample> samples);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_ADDED_LOADS_H_
