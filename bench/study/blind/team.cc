#include "bench/study/blind/team.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "bench/must.h"
#include "topology/topology.h"

namespace eris::bench::study {
namespace {

// Where a cpu is: its NumaNode, its core's number there, its number in the core.
struct Place {
  uint32_t numa_node, core, thread;
  int cpu;
};

std::vector<Place> PlacesOfAll() {
  const auto topology = Must(topology::Topology::Discover());
  std::map<uint32_t, uint32_t> cores;
  std::vector<Place> places;
  for (const topology::Core& core : topology.cores()) {
    const uint32_t number = cores[core.home_numa_node.value]++;
    for (uint32_t i = 0; i < core.cpus.size(); ++i) {
      places.push_back({core.home_numa_node.value, number, i, static_cast<int>(core.cpus[i])});
    }
  }
  return places;
}

}  // namespace

std::vector<int> CpusFor(const std::string& affinity, size_t threads) {
  if (affinity == "none") return {};
  std::vector<Place> places = PlacesOfAll();
  const bool dense = affinity == "dense";
  const auto order = [dense](const Place& place) {
    return dense ? std::tuple(place.numa_node, place.core, place.thread)
                 : std::tuple(place.thread, place.core, place.numa_node);
  };
  std::sort(places.begin(), places.end(),
            [&](const Place& one, const Place& other) { return order(one) < order(other); });
  std::vector<int> cpus(threads);
  for (size_t i = 0; i < threads; ++i) cpus[i] = places[i % places.size()].cpu;
  return cpus;
}

}  // namespace eris::bench::study
