#include "balancer/one_shot.h"

#include <algorithm>
#include <cstddef>

#include "balancer/load_curve.h"

namespace eris::balancer {
namespace {

// Boundaries that fall on one key (a hot one) are pulled apart, so that every partition keeps a
// key. There is room: the current partitions have one each.
void MakeStrictlyAscending(std::vector<Position>& starts, Position end) {
  for (size_t i = 1; i < starts.size(); ++i) {
    starts[i] = std::max(starts[i], starts[i - 1] + 1);
  }
  for (size_t i = starts.size() - 1; i > 0; --i) {
    const Position next = i + 1 < starts.size() ? starts[i + 1] : end;
    starts[i] = std::min(starts[i], next - 1);
  }
}

// Larger means less equal, as the sum of the shares is the same.
Position SumOfSquares(const LoadCurve& curve, const std::vector<Position>& starts) {
  Position sum = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const Position end = i + 1 < starts.size() ? starts[i + 1] : curve.end();
    const Position share = curve.Below(end) - curve.Below(starts[i]);
    sum += share * share;
  }
  return sum;
}

}  // namespace

Partitioning CurrentPartitioning(const LoadSample& sample) {
  Partitioning result;
  for (const PartitionSample& partition : sample.partitions) {
    result.starts.push_back(partition.range.lo);
    result.owners.push_back(partition.owner);
  }
  return result;
}

Partitioning OneShot(const LoadSample& sample) {
  Partitioning result = CurrentPartitioning(sample);
  if (result.starts.size() < 2) return result;
  const LoadCurve curve(sample);
  if (curve.total() == 0) return result;

  std::vector<Position> current;
  for (const storage::Key& start : result.starts) current.push_back(start.head);
  std::vector<Position> target = {current.front()};
  for (const LoadCurve::Boundary& boundary : curve.Divide(static_cast<uint32_t>(current.size()))) {
    target.push_back(std::clamp(current[target.size()], boundary.first, boundary.last));
  }
  MakeStrictlyAscending(target, curve.end());
  if (SumOfSquares(curve, target) >= SumOfSquares(curve, current)) return result;

  for (size_t i = 1; i < target.size(); ++i) {
    if (target[i] == current[i]) continue;
    result.starts[i] = storage::Key::FromU64(static_cast<uint64_t>(target[i]));
  }
  return result;
}

}  // namespace eris::balancer
