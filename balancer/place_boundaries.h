// Places boundaries so that every AEU gets its share of the load: the common part of all balancing
// algorithms on key ranges. Pure functions. Paper: ERIS 3.3.1, Figure 6.
#ifndef ERIS_BALANCER_PLACE_BOUNDARIES_H_
#define ERIS_BALANCER_PLACE_BOUNDARIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/load_curve.h"
#include "balancer/load/load_sample.h"
#include "balancer/plan_world.h"

namespace eris::balancer {

// Ranges in key order, as in the partition table. Starts ascend, not always strictly: an empty
// range is a place for an AEU that owns nothing.
struct Places {
  std::vector<Position> starts;
  std::vector<AeuId> owners;
};
Places PlacesOf(const LoadSample& sample);
// Adds a place for each AEU of `world` that has no range: next to that of the next AEU of its
// NumaNode, or else of the nearest NumaNode that has AEUs with ranges. Adds none if the key space
// has too few keys for all.
Places WithEveryAeu(const LoadSample& sample, const PlanWorld& world);

// The loads of the AEUs that have places, ordered by their main places: the place with the most
// load, or among equal ones the widest.
struct AeuOrder {
  std::vector<AeuId> aeus{};
  std::vector<uint64_t> loads{};         // by place in `aeus`
  std::vector<size_t> main_places{};     // likewise
  std::vector<size_t> index_of_place{};  // by place: its AEU's index in `aeus`
  std::vector<uint64_t> place_loads{};   // by place
};
AeuOrder OrderAeus(const LoadCurve& curve, const Places& places);

// The partitioning in which AEU order.aeus[i] has the fraction shares[i] of the load, relative to
// the sum of all shares. An AEU with several ranges divides its part by their current load. Ranges
// that get nothing are removed, unless the AEU has no other: each AEU of `places` that owns a range
// keeps at least one key. A boundary inside a sub-range is placed by linear interpolation; if the
// keys around it are not accessed, it stays as near as possible to its current place. Returns
// `places` unchanged if the loads would not become more equal (by the sum of their squares).
// REQUIRES: a load; 1 to 65536 places; as many keys as places; shares below 2^63, not all 0.
Partitioning PlaceBoundaries(const LoadCurve& curve, const Places& places, const AeuOrder& order,
                             absl::Span<const uint64_t> shares);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_PLACE_BOUNDARIES_H_
