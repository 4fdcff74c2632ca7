#include "balancer/predict.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "balancer/load/imbalance.h"
#include "balancer/load/load_curve.h"
#include "base/check.h"

namespace eris::balancer {
namespace {

struct LoadScale {
  double window;  // nanoseconds, or 1
  double total;   // of all weights
};

LoadScale ScaleOf(const LoadSample& sample) {
  double total = 0;
  for (const double load : PartitionLoads(sample)) total += load;
  return {sample.window_ns == 0 ? 1.0 : static_cast<double>(sample.window_ns), total};
}

// `all`: the source gives all rows that it has, so nothing else is in their superblocks.
void AddBytes(const PlannedTransfer& transfer, bool all, const PlanWorld& world,
              BalancePlan& plan) {
  const TransferTraits traits = TraitsOf(transfer.kind);
  if (traits.copies_rows) plan.bytes_to_copy += transfer.bytes;
  if (!traits.memory_follows) return;
  const double share = all ? 1 : world.remapped_share.value_or(0);
  const auto remapped = static_cast<uint64_t>(share * static_cast<double>(transfer.bytes));
  plan.bytes_to_remap += remapped;
  plan.bytes_to_move += transfer.bytes - remapped;
}

}  // namespace

void Predict(const LoadSample& sample, const PlanWorld& world, BalancePlan& plan) {
  const size_t count = world.aeu_count();
  std::vector<uint64_t> rows = AeuRows(sample, count);
  std::vector<double> loads(count);
  if (world.by_size) {
    std::copy(rows.begin(), rows.end(), loads.begin());
  } else {
    const LoadScale scale = ScaleOf(sample);
    loads = AeuLoads(sample, count);
    // This load soon moves to other AEUs, so each AEU is charged an equal part.
    const double moving = MovingLoad(sample) / static_cast<double>(count);
    for (double& load : loads) load = (load + moving) / scale.window;
  }
  ERIS_CHECK(rows.size() == count && loads.size() == count);
  plan.shares.clear();
  for (uint32_t i = 0; i < count; ++i) {
    plan.shares.push_back({.aeu = AeuId{i}, .load_before = loads[i], .rows_before = rows[i]});
  }
  plan.imbalance_before = Imbalance(loads);

  plan.bytes_to_copy = plan.bytes_to_remap = plan.bytes_to_move = 0;
  std::optional<LoadCurve> curve;
  if (!world.by_size) curve.emplace(sample);
  const LoadScale scale = ScaleOf(sample);
  for (const PlannedTransfer& transfer : plan.transfers) {
    const uint64_t moved = std::min(transfer.rows, rows[transfer.from.value]);
    AddBytes(transfer, moved == rows[transfer.from.value], world, plan);
    rows[transfer.from.value] -= moved;
    rows[transfer.to.value] += moved;
    double load = world.by_size ? static_cast<double>(moved) : 0;
    if (curve && curve->total() > 0) {
      const Position hi = transfer.range.hi ? Position{*transfer.range.hi} : curve->end();
      load = static_cast<double>(curve->Below(hi) - curve->Below(transfer.range.lo)) /
             static_cast<double>(curve->total()) * scale.total / scale.window;
    }
    loads[transfer.from.value] = std::max(0.0, loads[transfer.from.value] - load);
    loads[transfer.to.value] += load;
  }
  for (uint32_t i = 0; i < count; ++i) {
    plan.shares[i].load_after = loads[i];
    plan.shares[i].rows_after = rows[i];
  }
  plan.imbalance_after = Imbalance(loads);
}

}  // namespace eris::balancer
