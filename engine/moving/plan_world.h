// What the balancer's plans have to know of the machine and of an object's kind.
#ifndef ERIS_ENGINE_MOVING_PLAN_WORLD_H_
#define ERIS_ENGINE_MOVING_PLAN_WORLD_H_

#include "balancer/make_plan.h"
#include "engine/objects/object_entry.h"
#include "engine/options/resolve_options.h"

namespace eris::engine {

// Of the machine; what depends on the object is set by ForObject.
balancer::PlanWorld MakePlanWorld(const ResolvedOptions& resolved);
balancer::PlanWorld ForObject(const balancer::PlanWorld& machine, const ObjectEntry& object);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_PLAN_WORLD_H_
