#include "balancer/imbalance.h"

#include <cmath>
#include <numeric>

namespace eris::balancer {

double Imbalance(absl::Span<const double> loads) {
  if (loads.empty()) return 0;
  const auto count = static_cast<double>(loads.size());
  const double mean = std::accumulate(loads.begin(), loads.end(), 0.0) / count;
  if (mean <= 0) return 0;
  double squares = 0;
  for (const double load : loads) squares += (load - mean) * (load - mean);
  return std::sqrt(squares / count) / mean;
}

std::vector<double> PartitionLoads(const LoadSample& sample) {
  std::vector<double> loads;
  for (const PartitionSample& partition : sample.partitions) {
    loads.push_back(std::accumulate(partition.weights.begin(), partition.weights.end(), 0.0));
  }
  return loads;
}

}  // namespace eris::balancer
