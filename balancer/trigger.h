// Whether a plan is worth executing: compares the imbalance with the threshold, so that a balanced
// system never moves anything. The imbalance is the standard deviation of the loads, or the excess
// of the busiest AEU over their mean, whichever is larger. It must be beyond chance, consist of
// lasting load, last itself and be curable, and there must be some load. Once ranges have moved, an
// object is evened out to below half the threshold (hysteresis); then the full threshold applies
// again. Pure functions of their arguments. Paper: ERIS 3.3 (standard deviation against a
// threshold).
#ifndef ERIS_BALANCER_TRIGGER_H_
#define ERIS_BALANCER_TRIGGER_H_

#include <cstddef>
#include <cstdint>

#include "balancer/load/load_sample.h"
#include "balancer/plan_world.h"
#include "eris/balancer.h"

namespace eris::balancer {

// The state of an object, kept from period to period.
struct TriggerState {
  uint32_t periods_above = 0;  // consecutive
  bool evening_out = false;
};

enum class TriggerVerdict : uint8_t {
  kMove = 0,
  kBalanced = 1,    // the imbalance is below the threshold, or may be chance
  kIdle = 2,        // there is nearly no load, or nearly no row
  kNotLasting = 3,  // above the threshold for the first period
  kNoGain = 4,      // no plan would make it much better
  kMoving = 5,      // the AEUs' unequal load will move to others in the next period
};
const char* TriggerText(TriggerVerdict verdict);

// The squared imbalance that equal loads may show by chance when they consist of `accesses`
// accesses: exceeded about once in a million times. 0 if `accesses` is 0 (loads are exact).
double ChanceSquared(double accesses, size_t aeus);

// Call it once per period and object, with the plan that a cycle would execute. Updates `state`. An
// imbalance half as large again as the threshold is acted on at once, a smaller one if it lasts for
// two periods.
TriggerVerdict Decide(const LoadSample& sample, const BalancePlan& plan, double threshold,
                      const PlanWorld& world, TriggerState& state);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_TRIGGER_H_
