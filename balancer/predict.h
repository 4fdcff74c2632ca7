// What a plan does to loads and rows. Pure functions, helpers of make_plan.h.
#ifndef ERIS_BALANCER_PREDICT_H_
#define ERIS_BALANCER_PREDICT_H_

#include "balancer/load/load_sample.h"
#include "balancer/plan_world.h"
#include "eris/balancer.h"

namespace eris::balancer {

// Fills in what follows from plan.transfers: shares, imbalances, bytes to copy. Loads are those of
// `sample`, and rows with world.by_size.
void Predict(const LoadSample& sample, const PlanWorld& world, BalancePlan& plan);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_PREDICT_H_
