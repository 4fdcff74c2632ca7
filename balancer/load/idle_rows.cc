#include "balancer/load/idle_rows.h"

#include <algorithm>
#include <cstddef>

#include "balancer/load/imbalance.h"

namespace eris::balancer {
namespace {

// If an AEU works for more than this part of its time, rows of idle objects are not moved.
constexpr double kBusyMax = 0.5;
// A step must reduce the unevenness to this part of it. Otherwise another step would not help.
constexpr double kLeftMax = 0.75;

}  // namespace

bool IdleRows::Due(bool idle, double busiest, PlacedBy placed_by) {
  if (!idle) {
    const bool followed = uneven_before_ > 0;
    const uint32_t rest = followed ? std::min(2 * rest_, kRestPeriodsPlaced) : rest_;
    *this = {};
    rest_ = rest;
    return false;
  }
  ++idle_periods_;
  if (done_ || placed_by == PlacedBy::kOperator || busiest > kBusyMax) return false;
  const bool chosen = placed_by == PlacedBy::kLoad || placed_by == PlacedBy::kCreator;
  const uint32_t rest = chosen && uneven_before_ == 0 ? kRestPeriodsPlaced : rest_;
  if (idle_periods_ < std::max(rest, next_look_)) return false;
  next_look_ = idle_periods_ + kRestPeriods;
  return true;
}

bool IdleRows::Worth(const BalancePlan& plan, double threshold) {
  double most = 0;
  double sum = 0;
  for (const AeuShare& share : plan.shares) {
    most = std::max(most, static_cast<double>(share.rows_before));
    sum += static_cast<double>(share.rows_before);
  }
  const double mean = sum / static_cast<double>(std::max<size_t>(1, plan.shares.size()));
  const double uneven = mean == 0 ? 0 : std::max(plan.imbalance_before, most / mean - 1);
  const double limit = uneven_before_ == 0 ? threshold : threshold / 2;
  const bool stuck = uneven_before_ > 0 && uneven > kLeftMax * uneven_before_;
  if (uneven <= limit || most - mean < kRowsAboveMeanMin || stuck || plan.transfers.empty() ||
      plan.imbalance_after >= plan.imbalance_before) {
    if (uneven_before_ == 0) rest_ = kRestPeriods;
    done_ = true;
    return false;
  }
  uneven_before_ = uneven;
  return true;
}

}  // namespace eris::balancer
