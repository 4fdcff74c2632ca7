// Combines the AEUs' figures for one data object with the current partition table: the input of the
// balancer's sampler.
#ifndef ERIS_ENGINE_MOVING_LOAD_READING_H_
#define ERIS_ENGINE_MOVING_LOAD_READING_H_

#include <memory>
#include <vector>

#include "aeu/aeu.h"
#include "balancer/load/load_sampler.h"
#include "engine/objects/object_entry.h"
#include "eris/balancer.h"

namespace eris::engine {

struct LoadReading {
  std::vector<balancer::SampledPartition> partitions{};
  std::vector<balancer::SampledAeu> aeus{};
};

// For a heap table: a partition [i, i + 1) for each AEU i, which may have no rows. Any thread;
// stops no AEU.
LoadReading ReadLoads(const ObjectEntry& object,
                      const std::vector<std::unique_ptr<aeu::Aeu>>& aeus);

// A sample as the interface shows it. `heap`: the partitions' ranges mean nothing.
HotRanges HotRangesOf(const balancer::LoadSample& sample, bool heap, uint32_t ranges_max);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_LOAD_READING_H_
