#include "balancer/moving_average.h"

#include <algorithm>
#include <cstddef>

#include "balancer/load/load_curve.h"
#include "balancer/one_shot.h"

namespace eris::balancer {

std::vector<uint64_t> MovingAverages(absl::Span<const uint64_t> loads, uint32_t k) {
  std::vector<Position> below = {0};
  for (const uint64_t load : loads) below.push_back(below.back() + load);
  std::vector<uint64_t> result;
  for (size_t i = 0; i < loads.size(); ++i) {
    const size_t first = i - std::min<size_t>(i, k);
    const size_t end = std::min<size_t>(loads.size(), i + k + 1);
    // Keep fractions of an average.
    result.push_back(static_cast<uint64_t>(((below[end] - below[first]) << 15) / (end - first)));
  }
  return result;
}

Partitioning MovingAverage(const LoadSample& sample, const Places& places, uint32_t k) {
  const LoadCurve curve(sample);
  if (curve.total() == 0 || places.starts.size() < 2) return CurrentPartitioning(sample);
  const AeuOrder order = OrderAeus(curve, places);
  return PlaceBoundaries(curve, places, order, MovingAverages(order.loads, k));
}

Partitioning MovingAverage(const LoadSample& sample, uint32_t k) {
  return MovingAverage(sample, PlacesOf(sample), k);
}

}  // namespace eris::balancer
