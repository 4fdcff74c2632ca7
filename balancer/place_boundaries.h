// Where boundaries have to be so that every AEU gets its share of the load: what all balancing
// algorithms on key ranges have in common. Pure functions. Paper: ERIS 3.3.1, Figure 6.
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
// With a place for each AEU of `world` that has no range: beside that of the next AEU of its
// NumaNode, or else of the nearest one that has AEUs with ranges. Without places where the key
// space has too few keys for all.
Places WithEveryAeu(const LoadSample& sample, const PlanWorld& world);

// The loads of the AEUs that have places, in the order of their main places: that with the most
// load, of equal ones the widest.
struct AeuOrder {
  std::vector<AeuId> aeus{};
  std::vector<uint64_t> loads{};         // by place in `aeus`
  std::vector<size_t> main_places{};     // likewise
  std::vector<size_t> index_of_place{};  // by place: its AEU's index in `aeus`
  std::vector<uint64_t> place_loads{};   // by place
};
AeuOrder OrderAeus(const LoadCurve& curve, const Places& places);

// The partitioning in which AEU order.aeus[i] has the part shares[i] of the load, of all shares
// together. What an AEU has several ranges of is divided over them as its load is now; ranges that
// get nothing are left out, unless they are all that the AEU has: each AEU of `places` that owns
// anything keeps a key at least. A boundary is placed inside a sub-range by linear interpolation;
// where nobody accesses the keys around it, it stays as near as can be to where it is. `places` as
// they are when the loads would not become more equal (by the sum of their squares). REQUIRES: a
// load; 1 to 65536 places; as many keys as places; shares below 2^63, not all 0.
Partitioning PlaceBoundaries(const LoadCurve& curve, const Places& places, const AeuOrder& order,
                             absl::Span<const uint64_t> shares);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_PLACE_BOUNDARIES_H_
