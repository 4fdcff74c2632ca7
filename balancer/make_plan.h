// Computes from a sample of the load the transfers that would even it out: first the target
// partitioning, then the moves. It moves as little as possible, prefers links to copies, and near
// AEUs to far ones. Pure functions; they move nothing. Paper: ERIS 3.3, Figures 6 and 7.
#ifndef ERIS_BALANCER_MAKE_PLAN_H_
#define ERIS_BALANCER_MAKE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "balancer/load/load_sample.h"
#include "balancer/plan_world.h"
#include "eris/balancer.h"
#include "eris/types.h"

namespace eris::balancer {

// All three: REQUIRES: world.numa_nodes has every AEU, including the sample's owners; the sample
// has a partition. Loads of the result are in time per time (1: an AEU that does nothing else), or
// in the unit of the sample's weights if its window is unknown.

// The plan of a cycle. The load of an AEU is the sum over its partitions; each AEU of the world
// gets its share, even one that owns nothing.
BalancePlan MakePlan(std::string object, const LoadSample& sample, BalanceAlgorithm algorithm,
                     uint32_t window, const PlanWorld& world);
// As Engine::Presplit and Engine::MoveRange, with their InvalidArgument and FailedPrecondition.
absl::StatusOr<BalancePlan> PlanPresplit(std::string object, const LoadSample& sample,
                                         const KeyRange& range, uint32_t parts,
                                         const PlanWorld& world);
absl::StatusOr<BalancePlan> PlanMove(std::string object, const LoadSample& sample,
                                     const KeyRange& range, AeuId to,
                                     std::optional<TransferKind> kind, const PlanWorld& world);

// Makes all transfers of the plan by this kind. Errors: InvalidArgument: there is no such kind;
// FailedPrecondition: they cannot be made so; the plan is then undefined.
absl::Status SetKind(TransferKind kind, const LoadSample& sample, const PlanWorld& world,
                     BalancePlan& plan);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_MAKE_PLAN_H_
