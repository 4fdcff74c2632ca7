#include "balancer/family_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "balancer/load/added_loads.h"
#include "balancer/make_plan.h"
#include "balancer/one_shot.h"
#include "balancer/predict.h"
#include "balancer/transfer_plan.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace eris::balancer {
namespace {

LoadSample SumOf(const std::vector<FamilyMember>& members) {
  std::vector<LoadSample> samples;
  for (const FamilyMember& member : members) samples.push_back(member.sample);
  return AddedLoads(samples);
}

// A plan for it can be made for each member.
PlanWorld JointWorld(const std::vector<FamilyMember>& members) {
  ERIS_CHECK(!members.empty());
  PlanWorld world = members.front().world;
  for (const FamilyMember& member : members) world.cuts_inside &= member.world.cuts_inside;
  return world;
}

std::vector<RangeMove> MovesOf(const std::vector<PlannedTransfer>& transfers) {
  std::vector<RangeMove> moves;
  for (const PlannedTransfer& one : transfers) {
    const Position hi = one.range.hi ? Position{*one.range.hi} : kEndOfKeys;
    moves.push_back({one.range.lo, hi, one.from, one.to});
  }
  return moves;
}

void SetObject(const std::string& object, std::vector<PlannedTransfer>& transfers) {
  for (PlannedTransfer& transfer : transfers) transfer.object = object;
}

}  // namespace

FamilyPlan::FamilyPlan(std::vector<FamilyMember> members)
    : members_(std::move(members)), world_(JointWorld(members_)) {
  if (members_.size() > 1) sum_ = SumOf(members_);
}

std::vector<PlannedTransfer> FamilyPlan::IntoLine() const {
  std::vector<PlannedTransfer> all;
  if (members_.size() == 1) return all;
  const Partitioning target = OnGrain(CurrentPartitioning(members_.front().sample), world_.grain);
  for (const FamilyMember& member : members_) {
    std::vector<PlannedTransfer> own = PlanTransfers(member.sample, target, member.world);
    SetObject(member.object, own);
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

absl::Status FamilyPlan::Spread(BalancePlan& plan, std::optional<TransferKind> kind) const {
  if (members_.size() == 1) {
    if (kind) ERIS_RETURN_IF_ERROR(SetKind(*kind, sample(), world_, plan));
    SetObject(members_.front().object, plan.transfers);
    return absl::OkStatus();
  }
  const std::vector<RangeMove> moves = MovesOf(plan.transfers);
  std::vector<BalancePlan> parts;
  for (const FamilyMember& member : members_) {
    BalancePlan& part = parts.emplace_back();
    part.transfers = ToTransfers(member.sample, moves, member.world);
    SetObject(member.object, part.transfers);
    if (kind && member.object == plan.object) {
      ERIS_RETURN_IF_ERROR(SetKind(*kind, member.sample, member.world, part));
    } else {
      Predict(member.sample, member.world, part);
    }
  }
  plan.transfers.clear();
  plan.bytes_to_copy = plan.bytes_to_remap = plan.bytes_to_move = 0;
  for (size_t i = 0; i < moves.size(); ++i) {
    for (const BalancePlan& part : parts) plan.transfers.push_back(part.transfers[i]);
  }
  for (const BalancePlan& part : parts) {
    plan.bytes_to_copy += part.bytes_to_copy;
    plan.bytes_to_remap += part.bytes_to_remap;
    plan.bytes_to_move += part.bytes_to_move;
  }
  return absl::OkStatus();
}

}  // namespace eris::balancer
