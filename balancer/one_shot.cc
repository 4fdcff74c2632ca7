#include "balancer/one_shot.h"

#include <cstdint>
#include <vector>

#include "balancer/load/load_curve.h"

namespace eris::balancer {

Partitioning CurrentPartitioning(const LoadSample& sample) {
  Partitioning result;
  for (const PartitionSample& partition : sample.partitions) {
    result.starts.push_back(partition.range.lo);
    result.owners.push_back(partition.owner);
  }
  return result;
}

Partitioning OneShot(const LoadSample& sample, const Places& places) {
  const LoadCurve curve(sample);
  if (curve.total() == 0 || places.starts.size() < 2) return CurrentPartitioning(sample);
  const AeuOrder order = OrderAeus(curve, places);
  return PlaceBoundaries(curve, places, order, std::vector<uint64_t>(order.aeus.size(), 1));
}

Partitioning OneShot(const LoadSample& sample) { return OneShot(sample, PlacesOf(sample)); }

}  // namespace eris::balancer
