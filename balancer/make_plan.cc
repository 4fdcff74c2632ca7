#include "balancer/make_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "balancer/load/imbalance.h"
#include "balancer/load/load_curve.h"
#include "balancer/load/row_estimate.h"
#include "balancer/moving_average.h"
#include "balancer/one_shot.h"
#include "balancer/place_boundaries.h"
#include "balancer/predict.h"
#include "balancer/size_balance.h"
#include "balancer/transfer_plan.h"
#include "balancer/trigger.h"
#include "base/check.h"

namespace eris::balancer {
namespace {

constexpr char kNoRows[] = "the object has no rows";

std::vector<PlannedTransfer> BySize(const LoadSample& sample, const PlanWorld& world) {
  std::vector<PlannedTransfer> transfers;
  for (const RowMove& move : SizeBalance(AeuRows(sample, world.aeu_count()), world)) {
    transfers.push_back({.from = move.from,
                         .to = move.to,
                         .kind = TransferKind::kCopy,
                         .rows = move.rows,
                         .bytes = move.rows * world.row_bytes});
  }
  return transfers;
}

// The rows instead of the load.
LoadSample OfSizes(const LoadSample& sample) {
  LoadSample sizes = sample;
  sizes.window_ns = 0;
  sizes.accesses = 0;
  sizes.one_period = false;
  const RowEstimate estimate(sample);
  for (PartitionSample& partition : sizes.partitions) {
    partition.moving_weight = 0;
    partition.sub_ranges = estimate.RowsOf(partition);
  }
  return sizes;
}

}  // namespace

BalancePlan MakePlan(std::string object, const LoadSample& sample, BalanceAlgorithm algorithm,
                     uint32_t window, const PlanWorld& world) {
  ERIS_CHECK(!sample.partitions.empty());
  BalancePlan plan;
  plan.object = std::move(object);
  plan.algorithm = world.by_size ? BalanceAlgorithm::kSize : algorithm;
  if (world.by_size) {
    plan.transfers = BySize(sample, world);
    Predict(sample, world, plan);
    if (plan.transfers.empty()) {
      const auto has_rows = [](const PartitionSample& partition) { return partition.size > 0; };
      const bool any = std::any_of(sample.partitions.begin(), sample.partitions.end(), has_rows);
      plan.reason = any ? "all AEUs have equally many rows" : kNoRows;
    }
    return plan;
  }
  const bool of_sizes = algorithm == BalanceAlgorithm::kSize;
  std::optional<LoadSample> sizes;
  if (of_sizes) sizes = OfSizes(sample);
  const LoadSample& measured = of_sizes ? *sizes : sample;
  if (sample.partitions.size() > LoadCurve::kPartsMax) {
    plan.reason = "the object has more ranges than can be balanced";
  } else if (LoadCurve(measured).total() == 0) {
    plan.reason = of_sizes                 ? kNoRows
                  : MovingLoad(sample) > 0 ? TriggerText(TriggerVerdict::kMoving)
                                           : "the object has not been accessed lately";
  } else {
    const Places places = WithEveryAeu(measured, world);
    const Partitioning target = algorithm == BalanceAlgorithm::kMovingAverage
                                    ? MovingAverage(measured, places, window)
                                    : OneShot(measured, places);
    plan.transfers = PlanTransfers(measured, OnGrain(target, world.grain), world);
    if (plan.transfers.empty()) plan.reason = "no other boundaries would make loads more equal";
  }
  Predict(measured, world, plan);
  return plan;
}

}  // namespace eris::balancer
