#include "balancer/place_boundaries.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"

namespace eris::balancer {
namespace {

Position EndOf(const Places& places, size_t i, Position end) {
  return i + 1 < places.starts.size() ? places.starts[i + 1] : end;
}

// Shares of places: those of their AEUs, divided by the current load.
std::vector<uint64_t> PlaceShares(const AeuOrder& order, absl::Span<const uint64_t> shares) {
  // Scaled so that a small fraction of one is an integer, and their sum is what Divide allows.
  Position sum = 0;
  for (const uint64_t share : shares) sum += share;
  int left = 0;
  for (; sum << left < LoadCurve::kTotalMax / 4; ++left) continue;
  int right = 0;
  for (; sum >> right > LoadCurve::kTotalMax / 2; ++right) continue;
  const auto scaled = [&](uint64_t share) { return Position{share} << left >> right; };

  std::vector<uint64_t> result(order.index_of_place.size());
  std::vector<uint64_t> given(shares.size());
  for (size_t place = 0; place < result.size(); ++place) {
    const size_t aeu = order.index_of_place[place];
    if (place == order.main_places[aeu]) continue;
    if (order.loads[aeu] == 0) continue;
    result[place] =
        static_cast<uint64_t>(scaled(shares[aeu]) * order.place_loads[place] / order.loads[aeu]);
    given[aeu] += result[place];
  }
  for (size_t aeu = 0; aeu < shares.size(); ++aeu) {
    result[order.main_places[aeu]] = static_cast<uint64_t>(scaled(shares[aeu])) - given[aeu];
  }
  // Equal shares become ones: then the division is exact.
  uint64_t common = 0;
  for (const uint64_t share : result) common = std::gcd(common, share);
  if (common > 1) {
    for (uint64_t& share : result) share /= common;
  }
  return result;
}

// Boundaries on the same (hot) key are moved apart, so that every range keeps a key. There are as
// many keys as ranges, so there is room.
void MakeStrictlyAscending(std::vector<Position>& starts, Position end) {
  for (size_t i = 1; i < starts.size(); ++i) {
    starts[i] = std::max(starts[i], starts[i - 1] + 1);
  }
  for (size_t i = starts.size() - 1; i > 0; --i) {
    const Position next = i + 1 < starts.size() ? starts[i + 1] : end;
    starts[i] = std::min(starts[i], next - 1);
  }
}

// Larger means less equal, because the sum of the loads is the same.
Position SumOfSquares(const LoadCurve& curve, const Places& places) {
  std::map<AeuId, Position> loads;
  for (size_t i = 0; i < places.starts.size(); ++i) {
    loads[places.owners[i]] +=
        curve.Below(EndOf(places, i, curve.end())) - curve.Below(places.starts[i]);
  }
  Position sum = 0;
  for (const auto& [aeu, load] : loads) sum += load * load;
  return sum;
}

Partitioning ToPartitioning(const Places& places, Position end) {
  Partitioning result;
  for (size_t i = 0; i < places.starts.size(); ++i) {
    if (places.starts[i] == EndOf(places, i, end)) continue;
    result.starts.push_back(storage::Key::FromU64(static_cast<uint64_t>(places.starts[i])));
    result.owners.push_back(places.owners[i]);
  }
  return result;
}

// An AEU with a place, near one without a place.
std::optional<AeuId> NeighbourOf(AeuId aeu, const PlanWorld& world,
                                 const std::map<NumaNodeId, std::vector<AeuId>>& placed) {
  const std::vector<AeuId>* candidates = nullptr;
  uint32_t nearest = 0;
  for (const auto& [numa_node, aeus] : placed) {
    const uint32_t distance = world.Distance(aeu, aeus.front());
    if (candidates != nullptr && distance >= nearest) continue;
    candidates = &aeus;
    nearest = distance;
  }
  if (candidates == nullptr) return std::nullopt;
  const auto after = std::lower_bound(candidates->begin(), candidates->end(), aeu);
  return after == candidates->begin() ? *after : *(after - 1);
}

}  // namespace

Places PlacesOf(const LoadSample& sample) {
  Places places;
  for (const PartitionSample& partition : sample.partitions) {
    places.starts.push_back(partition.range.lo.head);
    places.owners.push_back(partition.owner);
  }
  return places;
}

Places WithEveryAeu(const LoadSample& sample, const PlanWorld& world) {
  Places places = PlacesOf(sample);
  const auto& last = sample.partitions.back().range.hi;
  const Position end = last ? Position{last->head} : kEndOfKeys;
  std::vector<uint64_t> loads;  // by place
  std::vector<bool> owns(world.aeu_count());
  std::map<AeuId, size_t> main;  // by load, else by width: the widest range of each AEU
  std::vector<double> weights;
  for (size_t i = 0; i < places.starts.size(); ++i) {
    double load = 0;
    for (const SubRange& sub_range : sample.partitions[i].sub_ranges) {
      load += static_cast<double>(sub_range.weight);
    }
    weights.push_back(load);
    const auto [found, inserted] = main.try_emplace(places.owners[i], i);
    const auto size = [&](size_t at) {
      return std::pair(weights[at], EndOf(places, at, end) - places.starts[at]);
    };
    if (!inserted && size(i) > size(found->second)) found->second = i;
  }
  std::map<NumaNodeId, std::vector<AeuId>> placed;
  for (const auto& [aeu, place] : main) {
    if (aeu.value >= owns.size()) continue;
    owns[aeu.value] = true;
    placed[world.numa_nodes[aeu.value]].push_back(aeu);
  }
  const auto missing = static_cast<size_t>(std::count(owns.begin(), owns.end(), false));
  const size_t count = places.starts.size() + missing;
  if (missing == 0 || count > LoadCurve::kPartsMax || end - places.starts.front() < count) {
    return places;
  }

  // By place: the AEUs to insert directly before it and directly after it, ascending.
  std::map<size_t, std::vector<AeuId>> before;
  std::map<size_t, std::vector<AeuId>> after;
  for (uint32_t i = 0; i < owns.size(); ++i) {
    if (owns[i]) continue;
    const std::optional<AeuId> neighbour = NeighbourOf(AeuId{i}, world, placed);
    if (!neighbour) continue;
    (AeuId{i} < *neighbour ? before : after)[main.at(*neighbour)].push_back(AeuId{i});
  }
  Places result;
  const auto insert = [&](const std::vector<AeuId>& aeus, Position start) {
    for (const AeuId aeu : aeus) {
      result.starts.push_back(start);
      result.owners.push_back(aeu);
    }
  };
  for (size_t i = 0; i < places.starts.size(); ++i) {
    // The very first range keeps its beginning: only empty places come before it.
    if (const auto found = before.find(i); found != before.end()) {
      insert(found->second, places.starts[i]);
    }
    insert({places.owners[i]}, places.starts[i]);
    if (const auto found = after.find(i); found != after.end()) {
      insert(found->second, EndOf(places, i, end));
    }
  }
  return result;
}

AeuOrder OrderAeus(const LoadCurve& curve, const Places& places) {
  AeuOrder order;
  const size_t count = places.starts.size();
  std::map<AeuId, size_t> main;
  const auto width = [&](size_t i) { return EndOf(places, i, curve.end()) - places.starts[i]; };
  for (size_t i = 0; i < count; ++i) {
    order.place_loads.push_back(curve.Below(EndOf(places, i, curve.end())) -
                                curve.Below(places.starts[i]));
    const auto [found, inserted] = main.try_emplace(places.owners[i], i);
    const auto size = [&](size_t at) { return std::pair(order.place_loads[at], width(at)); };
    if (!inserted && size(i) > size(found->second)) found->second = i;
  }
  for (const auto& [aeu, place] : main) order.main_places.push_back(place);
  std::sort(order.main_places.begin(), order.main_places.end());
  std::map<AeuId, size_t> index;
  for (const size_t place : order.main_places) {
    index[places.owners[place]] = order.aeus.size();
    order.aeus.push_back(places.owners[place]);
  }
  order.loads.resize(order.aeus.size());
  for (size_t i = 0; i < count; ++i) {
    order.index_of_place.push_back(index[places.owners[i]]);
    order.loads[order.index_of_place[i]] += order.place_loads[i];
  }
  return order;
}

Partitioning PlaceBoundaries(const LoadCurve& curve, const Places& places, const AeuOrder& order,
                             absl::Span<const uint64_t> shares) {
  ERIS_CHECK(shares.size() == order.aeus.size());
  const size_t count = places.starts.size();
  const std::vector<uint64_t> place_shares = PlaceShares(order, shares);
  std::vector<Position> starts = {places.starts.front()};
  for (const LoadCurve::Boundary& boundary : curve.Divide(place_shares)) {
    starts.push_back(std::clamp(places.starts[starts.size()], boundary.first, boundary.last));
  }
  Places target;
  for (size_t i = 0; i < count; ++i) {
    const bool nothing = starts[i] == (i + 1 < count ? starts[i + 1] : curve.end());
    const bool had_nothing = places.starts[i] == EndOf(places, i, curve.end());
    const bool main = order.main_places[order.index_of_place[i]] == i;
    if (nothing && (!main || (had_nothing && place_shares[i] == 0))) continue;
    target.starts.push_back(starts[i]);
    target.owners.push_back(places.owners[i]);
  }
  target.starts.front() = curve.begin();
  MakeStrictlyAscending(target.starts, curve.end());
  const bool better = SumOfSquares(curve, target) < SumOfSquares(curve, places);
  return ToPartitioning(better ? target : places, curve.end());
}

}  // namespace eris::balancer
