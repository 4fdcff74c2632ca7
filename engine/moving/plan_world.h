// Facts about the machine and an object's kind for the balancer's plans.
#ifndef ERIS_ENGINE_MOVING_PLAN_WORLD_H_
#define ERIS_ENGINE_MOVING_PLAN_WORLD_H_

#include "balancer/make_plan.h"
#include "engine/objects/object_entry.h"
#include "engine/options/resolve_options.h"

namespace eris::engine {

// For the machine; ForObject sets the fields that depend on the object.
balancer::PlanWorld MakePlanWorld(const ResolvedOptions& resolved);
balancer::PlanWorld ForObject(const balancer::PlanWorld& machine, const ObjectEntry& object);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_PLAN_WORLD_H_
