// From the current partitioning to the target: which ranges change hands, how, and in which order.
// What has the same owner before and after does not move. Pure functions. Paper: ERIS 3.3.2,
// Figure 7.
#ifndef ERIS_BALANCER_TRANSFER_PLAN_H_
#define ERIS_BALANCER_TRANSFER_PLAN_H_

#include <vector>

#include "absl/types/span.h"
#include "balancer/load/load_curve.h"
#include "balancer/load/load_sample.h"
#include "balancer/plan_world.h"
#include "eris/balancer.h"

namespace eris::balancer {

// [lo, hi) goes from one AEU to another.
struct RangeMove {
  Position lo = 0;
  Position hi = 0;
  AeuId from;
  AeuId to;
  friend bool operator==(const RangeMove&, const RangeMove&) = default;
};

// What of the two differs, in key order, pieces as large as they can be. REQUIRES: both over the
// same keys, up to `end`. O(ranges).
std::vector<RangeMove> DifferingRanges(const Partitioning& current, const Partitioning& target,
                                       Position end);

// In an order in which each can be made after those before it. Links before copies and near before
// far, but, where that can be avoided, no AEU runs empty while something is on its way to it, and
// what an AEU has stays in one piece. With world.cuts_inside false every range leaves from an end
// of its owner's range, neighbouring ranges of one owner being one; moves for which there is no
// such order are left out (rare: the next cycle finds them). O(n log n) for n moves, as long as no
// AEU takes part in many of them.
std::vector<RangeMove> OrderMoves(const Partitioning& current, std::vector<RangeMove> moves,
                                  Position end, const PlanWorld& world);

// The transfers that lead from the sample's partitioning to `target`.
std::vector<PlannedTransfer> PlanTransfers(const LoadSample& sample, const Partitioning& target,
                                           const PlanWorld& world);
// As transfers, with the rows that may be expected.
std::vector<PlannedTransfer> ToTransfers(const LoadSample& sample,
                                         absl::Span<const RangeMove> moves, const PlanWorld& world);

// The end of the last partition.
Position EndOfSample(const LoadSample& sample);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_TRANSFER_PLAN_H_
