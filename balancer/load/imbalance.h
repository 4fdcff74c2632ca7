// How unequal loads are: what the balancer compares with its threshold before it plans anything. A
// pure function. Paper: ERIS 3.3.1.
#ifndef ERIS_BALANCER_IMBALANCE_H_
#define ERIS_BALANCER_IMBALANCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/load_sample.h"

namespace eris::balancer {

// A plan by rows is worth making only if some AEU has so many rows above the mean: with fewer, a
// scan would hardly be faster.
inline constexpr double kRowsAboveMeanMin = 16384;

// The standard deviation of the loads, in units of their mean: 0 when all are equal or there is no
// load, sqrt(n - 1) when one of n has everything. Thresholds on it do not depend on n.
double Imbalance(absl::Span<const double> loads);

// The sampled load of each partition that is expected again.
std::vector<double> PartitionLoads(const LoadSample& sample);
// By AeuId, the sum over what each owns; as long as `aeu_count` at least.
std::vector<double> AeuLoads(const LoadSample& sample, size_t aeu_count);
// The same with the load that moves on, where it is now.
std::vector<double> AeuLoadsNow(const LoadSample& sample, size_t aeu_count);
// What moves on, of all partitions.
double MovingLoad(const LoadSample& sample);
std::vector<uint64_t> AeuRows(const LoadSample& sample, size_t aeu_count);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_IMBALANCE_H_
