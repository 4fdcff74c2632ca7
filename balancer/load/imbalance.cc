#include "balancer/load/imbalance.h"

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
    double sum = 0;
    for (const SubRange& sub_range : partition.sub_ranges) {
      sum += static_cast<double>(sub_range.weight);
    }
    loads.push_back(sum);
  }
  return loads;
}

std::vector<double> AeuLoads(const LoadSample& sample, size_t aeu_count) {
  const std::vector<double> by_partition = PartitionLoads(sample);
  std::vector<double> loads(aeu_count);
  for (size_t i = 0; i < by_partition.size(); ++i) {
    const size_t owner = sample.partitions[i].owner.value;
    if (owner >= loads.size()) loads.resize(owner + 1);
    loads[owner] += by_partition[i];
  }
  return loads;
}

std::vector<double> AeuLoadsNow(const LoadSample& sample, size_t aeu_count) {
  std::vector<double> loads = AeuLoads(sample, aeu_count);
  for (const PartitionSample& partition : sample.partitions) {
    loads[partition.owner.value] += static_cast<double>(partition.moving_weight);
  }
  return loads;
}

double MovingLoad(const LoadSample& sample) {
  double sum = 0;
  for (const PartitionSample& partition : sample.partitions) {
    sum += static_cast<double>(partition.moving_weight);
  }
  return sum;
}

std::vector<uint64_t> AeuRows(const LoadSample& sample, size_t aeu_count) {
  std::vector<uint64_t> rows(aeu_count);
  for (const PartitionSample& partition : sample.partitions) {
    if (partition.owner.value >= rows.size()) rows.resize(partition.owner.value + 1);
    rows[partition.owner.value] += partition.size;
  }
  return rows;
}

}  // namespace eris::balancer
