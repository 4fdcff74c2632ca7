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

bool Overlap(const KeyRange& range, const std::vector<PlannedTransfer>& transfers) {
  return std::any_of(transfers.begin(), transfers.end(), [&](const PlannedTransfer& one) {
    return (!range.hi || one.range.lo < *range.hi) && (!one.range.hi || range.lo < *one.range.hi);
  });
}

void SetObject(const std::string& object, std::vector<PlannedTransfer>& transfers) {
  for (PlannedTransfer& transfer : transfers) transfer.object = object;
}

// With all of its owner's keys that follow.
RangeMove ToTheEnd(RangeMove move, const Partitioning& current, Position end) {
  move.hi = end;
  for (size_t i = 0; i < current.starts.size(); ++i) {
    const Position start = current.starts[i].head;
    if (start > move.lo && current.owners[i] != move.from) {
      move.hi = start;
      break;
    }
  }
  return move;
}

// All moves from the member's ranges to `target`. Ends, since ranges are right up to a position
// that each move to the end takes farther, over one boundary at least; no move takes it back.
std::vector<RangeMove> MovesTo(const Partitioning& target, const FamilyMember& member) {
  Partitioning current = CurrentPartitioning(member.sample);
  const Position end = EndOfSample(member.sample);
  std::vector<RangeMove> all;
  for (;;) {
    const std::vector<RangeMove> wanted = DifferingRanges(current, target, end);
    if (wanted.empty()) return all;
    std::vector<RangeMove> next = OrderMoves(current, wanted, end, member.world);
    if (next.empty()) next.push_back(ToTheEnd(wanted.front(), current, end));
    current = AfterMoves(current, next, end);
    all.insert(all.end(), next.begin(), next.end());
  }
}

void AddBytes(const BalancePlan& part, BalancePlan& plan) {
  plan.bytes_to_copy += part.bytes_to_copy;
  plan.bytes_to_remap += part.bytes_to_remap;
  plan.bytes_to_move += part.bytes_to_move;
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
    std::vector<PlannedTransfer> own =
        ToTransfers(member.sample, MovesTo(target, member), member.world);
    SetObject(member.object, own);
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

bool FamilyPlan::ComesIntoLine(BalancePlan& plan) const {
  std::vector<PlannedTransfer> transfers = IntoLine();
  if (transfers.empty()) return false;
  plan.transfers = std::move(transfers);
  plan.reason = kFollowFirst;
  // Loads are added up as if all were in line.
  plan.imbalance_after = plan.imbalance_before;
  for (AeuShare& share : plan.shares) {
    share.load_after = share.load_before;
    share.rows_after = share.rows_before;
  }
  plan.bytes_to_copy = plan.bytes_to_remap = plan.bytes_to_move = 0;
  for (const FamilyMember& member : members_) {
    BalancePlan part;
    std::copy_if(plan.transfers.begin(), plan.transfers.end(), std::back_inserter(part.transfers),
                 [&](const PlannedTransfer& one) { return one.object == member.object; });
    Predict(member.sample, member.world, part);
    AddBytes(part, plan);
  }
  return true;
}

absl::StatusOr<std::vector<PlannedTransfer>> FamilyPlan::Apart(Planner planner) const {
  std::vector<PlannedTransfer> all;
  for (const FamilyMember& member : members_) {
    ERIS_ASSIGN_OR_RETURN(const BalancePlan part,
                          planner(FamilyPlan(std::vector<FamilyMember>{member})));
    all.insert(all.end(), part.transfers.begin(), part.transfers.end());
  }
  const std::vector<PlannedTransfer> into_line = IntoLine();
  if (std::none_of(all.begin(), all.end(),
                   [&](const PlannedTransfer& one) { return Overlap(one.range, into_line); })) {
    return absl::FailedPreconditionError("these keys are in line");
  }
  return all;
}

absl::Status FamilyPlan::Spread(BalancePlan& plan, std::optional<TransferKind> kind) const {
  if (members_.size() == 1) {
    if (kind && members_.front().object == plan.object) {
      ERIS_RETURN_IF_ERROR(SetKind(*kind, sample(), world_, plan));
    }
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
  for (const BalancePlan& part : parts) AddBytes(part, plan);
  return absl::OkStatus();
}

}  // namespace eris::balancer
