// Whether a plan is worth making: the imbalance against the threshold, so that a balanced system
// never moves anything. What counts is the standard deviation of the loads, or what the busiest AEU
// has above their mean, whichever is larger. It has to be beyond what chance makes of equal loads,
// to be made of load that lasts, to last itself, to be curable, and there has to be load at all.
// Once it has moved something, an object is evened out to below half the threshold (hysteresis);
// then the threshold counts again. Pure functions of their arguments. Paper: ERIS 3.3 (standard
// deviation against a threshold).
#ifndef ERIS_BALANCER_TRIGGER_H_
#define ERIS_BALANCER_TRIGGER_H_

#include <cstddef>
#include <cstdint>

#include "balancer/load/load_sample.h"
#include "balancer/plan_world.h"
#include "eris/balancer.h"

namespace eris::balancer {

// Of an object, from period to period.
struct TriggerState {
  uint32_t periods_above = 0;  // one after the other
  bool evening_out = false;
};

enum class TriggerVerdict : uint8_t {
  kMove = 0,
  kBalanced = 1,    // the imbalance is below the threshold, or chance
  kIdle = 2,        // there is next to no load, or hardly a row
  kNotLasting = 3,  // above the threshold for the first period
  kNoGain = 4,      // no plan would make it much better
  kMoving = 5,      // what the AEUs do unequally will be done by others in the next period
};
const char* TriggerText(TriggerVerdict verdict);

// What the imbalance of equal loads may well look like, squared, when they are made of so many
// accesses: exceeded about once in a million times. 0 when `accesses` is 0 (loads are exact).
double ChanceSquared(double accesses, size_t aeus);

// Once a period and object, with the plan that a cycle would carry out. `state` is brought up to
// date. Half as much again above the threshold is moved at once, less than that if it lasts for two
// periods.
TriggerVerdict Decide(const LoadSample& sample, const BalancePlan& plan, double threshold,
                      const PlanWorld& world, TriggerState& state);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_TRIGGER_H_
