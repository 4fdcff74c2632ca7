// The inequality of loads, which the balancer compares with its threshold before it plans anything.
// A pure function. Paper: ERIS 3.3.1.
#ifndef ERIS_BALANCER_IMBALANCE_H_
#define ERIS_BALANCER_IMBALANCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/load_sample.h"

namespace eris::balancer {

// A plan by rows is executed only if some AEU has this many rows above the mean: with fewer, a scan
// would hardly get faster.
inline constexpr double kRowsAboveMeanMin = 16384;

// The standard deviation of the loads, divided by their mean: 0 if all are equal or there is no
// load, sqrt(n - 1) if one of n has everything. Thresholds for it do not depend on n.
double Imbalance(absl::Span<const double> loads);

// The sampled load of each partition that is expected to last.
std::vector<double> PartitionLoads(const LoadSample& sample);
// By AeuId, the sum over its partitions; at least `aeu_count` elements.
std::vector<double> AeuLoads(const LoadSample& sample, size_t aeu_count);
// The same including the moving load, at its current place.
std::vector<double> AeuLoadsNow(const LoadSample& sample, size_t aeu_count);
// The moving load of all partitions.
double MovingLoad(const LoadSample& sample);
std::vector<uint64_t> AeuRows(const LoadSample& sample, size_t aeu_count);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_IMBALANCE_H_
