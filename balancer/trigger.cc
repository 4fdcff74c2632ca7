#include "balancer/trigger.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "balancer/load/imbalance.h"
#include "balancer/make_plan.h"

namespace eris::balancer {
namespace {

// If the busiest AEU spends less than this part of its time on the object, no client would notice.
constexpr double kBusyMin = 0.005;
constexpr uint32_t kLastingPeriods = 2;
constexpr double kFarBeyond = 1.5;
// At least this part of the square of the imbalance must be curable.
constexpr double kGainMin = 0.05;
// This many standard deviations are exceeded once in a million times.
constexpr double kTail = 4.75;

bool IsIdle(const LoadSample& sample, const BalancePlan& plan, const PlanWorld& world) {
  double busiest = 0;
  double sum = 0;
  for (const AeuShare& share : plan.shares) {
    busiest = std::max(busiest, share.load_before);
    sum += share.load_before;
  }
  if (plan.shares.empty() || sum == 0) return true;
  if (world.by_size || plan.algorithm == BalanceAlgorithm::kSize) {
    return busiest - sum / static_cast<double>(plan.shares.size()) < kRowsAboveMeanMin;
  }
  return sample.window_ns == 0 || busiest < kBusyMin;
}

// The standard deviation, and the excess of the busiest AEU over the mean: among many AEUs a single
// busy one hardly shows in the first, but all clients wait for it. For two AEUs they are the same.
class Measure {
 public:
  Measure(const BalancePlan& plan, double accesses)
      : deviation_(plan.imbalance_before),
        chance_squared_(ChanceSquared(accesses, plan.shares.size())),
        scatter_(accesses > 0 ? 1 / std::sqrt(accesses) : 0) {
    const auto aeus = static_cast<double>(plan.shares.size());
    double busiest = 0;
    double sum = 0;
    for (const AeuShare& share : plan.shares) {
      busiest = std::max(busiest, share.load_before);
      sum += share.load_before;
    }
    if (accesses > 0 && accesses < kAccessesPerAeuMin * aeus) return;
    excess_ = busiest * aeus / sum - 1;
    if (accesses > 0) excess_chance_squared_ = kExcessTail * kExcessTail * aeus / accesses;
  }

  bool Above(double limit) const {
    return deviation_ * deviation_ > limit * limit + chance_squared_ ||
           excess_ * excess_ > limit * limit + excess_chance_squared_;
  }
  // How much better, squared, another partitioning may seem only by chance: a part that scatters by
  // itself, and a part proportional to the inequality of the loads; times one and a half, because
  // it is the best of many.
  double GainByChance() const { return chance_squared_ + 3 * kTail * deviation_ * scatter_; }

 private:
  // kExcessTail: exceeded by the largest of up to some hundred normal deviates once in a million
  // times. kAccessesPerAeuMin: with this many accesses they are normal enough.
  static constexpr double kExcessTail = 5.6;
  static constexpr double kAccessesPerAeuMin = 32;

  double deviation_;
  double chance_squared_;
  double scatter_;
  double excess_ = 0;
  double excess_chance_squared_ = 0;
};

// What can be reached in any number of steps: measured by a single plan, a gentle algorithm would
// never seem worthwhile.
double BestImbalance(const LoadSample& sample, const BalancePlan& plan, const PlanWorld& world) {
  if (plan.algorithm != BalanceAlgorithm::kMovingAverage) return plan.imbalance_after;
  return MakePlan({}, sample, BalanceAlgorithm::kOneShot, 0, world).imbalance_after;
}

}  // namespace

const char* TriggerText(TriggerVerdict verdict) {
  switch (verdict) {
    case TriggerVerdict::kMove:
      return "";
    case TriggerVerdict::kBalanced:
      return "the loads are balanced";
    case TriggerVerdict::kIdle:
      return "there is too little to balance";
    case TriggerVerdict::kNotLasting:
      return "the imbalance has not lasted for two periods";
    case TriggerVerdict::kNoGain:
      return "no other boundaries would make loads much more equal";
    case TriggerVerdict::kMoving:
      return "the load moves on along the keys, and boundaries would come too late for it";
  }
  return "";
}

double ChanceSquared(double accesses, size_t aeus) {
  if (accesses <= 0 || aeus < 2) return 0;
  // The squared imbalance of equal loads, times `accesses`, has a chi-square distribution with one
  // degree of freedom less than there are AEUs; its tail is computed by the Wilson-Hilferty
  // approximation.
  const auto degrees = static_cast<double>(aeus - 1);
  const double ninth = 2 / (9 * degrees);
  const double root = 1 - ninth + kTail * std::sqrt(ninth);
  return degrees * root * root * root / accesses;
}

TriggerVerdict Decide(const LoadSample& sample, const BalancePlan& plan, double threshold,
                      const PlanWorld& world, TriggerState& state) {
  const auto quiet = [&](TriggerVerdict verdict) {
    state = {};
    return verdict;
  };
  if (IsIdle(sample, plan, world)) return quiet(TriggerVerdict::kIdle);
  const bool by_rows = world.by_size || plan.algorithm == BalanceAlgorithm::kSize;
  const Measure measure(plan, by_rows ? 0 : sample.accesses);
  if (!by_rows && sample.one_period) return quiet(TriggerVerdict::kNotLasting);
  if (!measure.Above(state.evening_out ? threshold / 2 : threshold)) {
    const bool uneven = !by_rows && MovingLoad(sample) > 0 &&
                        Imbalance(AeuLoadsNow(sample, world.aeu_count())) > threshold;
    return quiet(uneven ? TriggerVerdict::kMoving : TriggerVerdict::kBalanced);
  }
  ++state.periods_above;
  if (!state.evening_out && state.periods_above < kLastingPeriods &&
      !measure.Above(kFarBeyond * threshold)) {
    return TriggerVerdict::kNotLasting;
  }
  const double squared = plan.imbalance_before * plan.imbalance_before;
  const double after = BestImbalance(sample, plan, world);
  if (plan.transfers.empty() || plan.imbalance_after >= plan.imbalance_before ||
      squared - after * after < std::max(measure.GainByChance(), kGainMin * squared)) {
    state.evening_out = false;
    return TriggerVerdict::kNoGain;
  }
  state.evening_out = true;
  return TriggerVerdict::kMove;
}

}  // namespace eris::balancer
