// From the current partitioning to the target: which ranges move, how, and in which order. Ranges
// with the same owner before and after do not move. Pure functions. Paper: ERIS 3.3.2, Figure 7.
#ifndef ERIS_BALANCER_TRANSFER_PLAN_H_
#define ERIS_BALANCER_TRANSFER_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/load_curve.h"
#include "balancer/load/load_sample.h"
#include "balancer/plan_world.h"
#include "eris/balancer.h"

namespace eris::balancer {

// [lo, hi) moves from one AEU to another.
struct RangeMove {
  Position lo = 0;
  Position hi = 0;
  AeuId from;
  AeuId to;
  friend bool operator==(const RangeMove&, const RangeMove&) = default;
};

// The next multiple of `grain`. With it equal prefixes of keys stay in one range.
Position OnGrain(Position position, uint64_t grain);
// Every start on the grain; ranges that become empty are gone. REQUIRES: the first start is 0.
Partitioning OnGrain(const Partitioning& partitioning, uint64_t grain);

// The difference of the two, in key order, in the largest possible pieces. REQUIRES: both over the
// same keys, up to `end`. O(ranges).
std::vector<RangeMove> DifferingRanges(const Partitioning& current, const Partitioning& target,
                                       Position end);

// Each range with its new owner; `from` does not matter. `end` is that of the last range.
Partitioning AfterMoves(const Partitioning& partitioning, absl::Span<const RangeMove> moves,
                        Position end);

// Orders the moves so that each can be made after the ones before it. Links come first, and near
// before far. If possible, no AEU becomes empty while a range is on its way to it, and each AEU's
// range stays in one piece. If world.cuts_inside is false every range leaves from an end of its
// owner's range, where adjacent ranges of one owner count as one; moves without such an order are
// left out (rare: the next cycle finds them). O(n log n) for n moves, as long as no AEU takes part
// in many of them.
std::vector<RangeMove> OrderMoves(const Partitioning& current, std::vector<RangeMove> moves,
                                  Position end, const PlanWorld& world);

// The transfers from the sample's partitioning to `target`.
std::vector<PlannedTransfer> PlanTransfers(const LoadSample& sample, const Partitioning& target,
                                           const PlanWorld& world);
// The moves as transfers, with expected rows.
std::vector<PlannedTransfer> ToTransfers(const LoadSample& sample,
                                         absl::Span<const RangeMove> moves, const PlanWorld& world);

// The end of the last partition.
Position EndOfSample(const LoadSample& sample);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_TRANSFER_PLAN_H_
