#include "balancer/load_sampler.h"

#include <algorithm>
#include <utility>

namespace eris::balancer {

LoadSampler::Reading LoadSampler::Read(const aeu::PartitionLoad& load) {
  Reading reading;
  // The AEU may fold its buckets while they are read: read again until the width stands still. It
  // folds at most 58 times in the life of a partition.
  do {
    reading.width_log2 = load.width_log2();
    for (uint32_t i = 0; i < reading.buckets.size(); ++i) reading.buckets[i] = load.bucket(i);
  } while (reading.width_log2 != load.width_log2());
  reading.keys = load.keys();
  reading.execution_ns = load.execution_ns();
  return reading;
}

LoadSample LoadSampler::Sample(ObjectId object, const std::vector<SampledPartition>& partitions) {
  LoadSample sample{.object = object, .partitions = {}};
  std::map<const aeu::PartitionLoad*, Remembered> now;
  for (const SampledPartition& partition : partitions) {
    PartitionSample one;
    one.range = partition.range;
    one.owner = partition.owner;
    if (partition.load != nullptr) {
      const Reading reading = Read(*partition.load);
      Reading before;
      if (const auto found = last_.find(partition.load.get()); found != last_.end()) {
        before = found->second.reading;
      }
      one.weights.assign(reading.buckets.begin(), reading.buckets.end());
      one.sub_range_width = uint64_t{1} << reading.width_log2;
      // The older reading in today's buckets: each fold since then has halved the index.
      const uint32_t folds = reading.width_log2 - before.width_log2;
      for (uint32_t i = 0; i < before.buckets.size(); ++i) {
        uint64_t& weight = one.weights[folds < 6 ? i >> folds : 0];
        weight -= std::min(weight, before.buckets[i]);
      }
      const uint64_t keys = reading.keys - before.keys;
      one.mean_execution_ns = keys == 0 ? 0 : (reading.execution_ns - before.execution_ns) / keys;
      one.size = partition.load->rows();
      now[partition.load.get()] = {partition.load, reading};
    }
    sample.partitions.push_back(std::move(one));
  }
  last_ = std::move(now);
  return sample;
}

}  // namespace eris::balancer
