// Samples the load of one data object: what its partitions have counted since the last sample.
// Reads the AEUs' counters while they run and stops nothing; a sample may be a few accesses off.
// One thread at a time. Cost: O(partitions). Paper: ERIS 3.3 (monitoring).
#ifndef ERIS_BALANCER_LOAD_SAMPLER_H_
#define ERIS_BALANCER_LOAD_SAMPLER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "aeu/partition_load.h"
#include "balancer/load_sample.h"

namespace eris::balancer {

// A partition in force and where its AEU counts.
struct SampledPartition {
  storage::Range range;
  AeuId owner;
  std::shared_ptr<const aeu::PartitionLoad> load;  // nullptr: not counted yet
};

class LoadSampler {
 public:
  // `partitions`: in key order, as in the partition table. The weights of the result are sampled
  // accesses since the last call (since the beginning, for partitions that are new).
  LoadSample Sample(ObjectId object, const std::vector<SampledPartition>& partitions);

 private:
  // A partition's counters at some moment.
  struct Reading {
    uint32_t width_log2 = 0;
    std::array<uint64_t, aeu::PartitionLoad::kBuckets> buckets{};
    uint64_t keys = 0;
    uint64_t execution_ns = 0;
  };
  static Reading Read(const aeu::PartitionLoad& load);

  // By the load's address; the shared pointer in the value keeps that from being used again.
  struct Remembered {
    std::shared_ptr<const aeu::PartitionLoad> load;
    Reading reading;
  };
  std::map<const aeu::PartitionLoad*, Remembered> last_;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_LOAD_SAMPLER_H_
