// Plans for a family: objects whose ranges lie beside each other, so that equal keys stay with one
// AEU. Their loads count together, there is one target, and each transfer is made for one member
// after the other. Pure functions; they move nothing. A family of one is an object alone.
#ifndef ERIS_BALANCER_FAMILY_PLAN_H_
#define ERIS_BALANCER_FAMILY_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "balancer/load/load_sample.h"
#include "balancer/plan_world.h"
#include "eris/balancer.h"

namespace eris::balancer {

// An object of the family. world.grain is the same for all.
struct FamilyMember {
  std::string object;
  LoadSample sample;
  PlanWorld world;
};

// Why nothing else moves while IntoLine() is not empty.
inline constexpr char kFollowFirst[] = "ranges of objects beside it follow first";

class FamilyPlan {
 public:
  // The first member is the one whose cuts the others have. REQUIRES: at least one; each sample has
  // a partition.
  explicit FamilyPlan(std::vector<FamilyMember> members);

  // The sum of the members' loads, and what is allowed to all of them: the input of MakePlan,
  // PlanPresplit, PlanMove and Decide.
  const LoadSample& sample() const { return sum_ ? *sum_ : members_.front().sample; }
  const PlanWorld& world() const { return world_; }

  // The transfers after which all members are cut like the first one, on the grain. Empty: they
  // are. A table or a hash gives nothing from the middle of a range: there all behind it leaves,
  // too, and comes back from the end of its new owner's range.
  std::vector<PlannedTransfer> IntoLine() const;
  // If IntoLine() is not empty, it becomes what the plan, one for sample() and world(), does first,
  // with a reason. Returns whether.
  bool ComesIntoLine(BalancePlan& plan) const;
  // Replaces the transfers of a plan for sample() and world() by those of all members, each next to
  // that of the member before. With `kind` those of plan.object are all of it.
  // Errors: FailedPrecondition (plan.object cannot move by this kind).
  // If IntoLine() is not empty, the result must not be executed.
  absl::Status Spread(BalancePlan& plan, std::optional<TransferKind> kind = std::nullopt) const;

  using Planner = absl::FunctionRef<absl::StatusOr<BalancePlan>(const FamilyPlan&)>;
  // What `planner` wants for each member alone. Errors: the planner's; FailedPrecondition (it is
  // about no keys of IntoLine()).
  absl::StatusOr<std::vector<PlannedTransfer>> Apart(Planner planner) const;

 private:
  // Unchanged after construction.
  std::vector<FamilyMember> members_;
  std::optional<LoadSample> sum_{};  // of several members
  PlanWorld world_;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_FAMILY_PLAN_H_
