// Samples the load of one data object: reads what its AEUs have noted since the last call, while
// they run, without stopping them. An access counts for the partition that has its key now,
// whichever AEU executed it and whatever has moved since. One thread at a time. Cost: O(AEUs +
// partitions + samples). Paper: ERIS 3.3 (monitoring).
#ifndef ERIS_BALANCER_LOAD_SAMPLER_H_
#define ERIS_BALANCER_LOAD_SAMPLER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "aeu/state/access_sample.h"
#include "balancer/load/access_history.h"
#include "balancer/load/expected_load.h"
#include "balancer/load/load_sample.h"

namespace eris::balancer {

// A current partition.
struct SampledPartition {
  storage::Range range;
  AeuId owner;
  uint64_t rows = 0;
};

// An AEU's work for the object.
struct SampledAeu {
  AeuId aeu;
  std::shared_ptr<const aeu::AccessSample> accesses;  // nullptr: nothing was sampled
};

class LoadSampler {
 public:
  // `begun_ns`: when the object was created, on the clock of `now_ns` below; 0: unknown, and then
  // the first sample has no window.
  explicit LoadSampler(uint64_t begun_ns = 0) : sampled_ns_(begun_ns), faded_ns_(begun_ns) {}

  // `partitions`: in key order, as in the partition table. `now_ns`: from a monotonic clock. Known
  // load loses half its weight after each `period_ns`; a period counts when most of it has passed.
  // Calls within a period add to the known load. An object that has not been accessed for some
  // periods has no known load.
  LoadSample Sample(ObjectId object, const std::vector<SampledPartition>& partitions,
                    const std::vector<SampledAeu>& aeus, uint64_t now_ns, uint64_t period_ns);
  // Replaces Sample if that would return nothing new: the object has not been accessed for some
  // periods, nor since the last sample. `keys`: of all AEUs together, as AccessSample::keys. O(1).
  // False: call Sample.
  bool StaysQuiet(uint64_t keys, uint64_t now_ns, uint64_t period_ns);

 private:
  // A key must cost more at one AEU than elsewhere in this many reads before that counts.
  static constexpr size_t kCostReads = 8;

  // The position up to which an AEU's notes have been read.
  struct Read {
    std::shared_ptr<const aeu::AccessSample> accesses;
    uint64_t noted = 0;
    std::array<uint64_t, aeu::AccessSample::kKinds> execution_ns{};
    std::array<uint64_t, aeu::AccessSample::kKinds> kind_keys{};
    uint64_t keys = 0;
    uint64_t all_ns = 0;
    uint64_t spread_ns = 0;
    uint64_t fresh_ns = 0;  // time since it was read, if known
    uint64_t mean_execution_ns = 0;

    // The cost of a key of the kind in each of the last reads with such keys; 0: no read had any.
    std::array<std::array<float, kCostReads>, aeu::AccessSample::kKinds> costs_ns{};
    // The least of those costs and `cost_ns`: other programs on the AEU's core can only make its
    // keys look more expensive, never cheaper.
    double LeastCost(uint32_t kind, double cost_ns);
  };
  using Costs = std::array<double, aeu::AccessSample::kKinds>;  // ns per key
  // The cost of a key of each kind over all AEUs together since they were read; 0: unknown.
  Costs UsualCosts(const std::map<const aeu::AccessSample*, Read>& now) const;
  void ReadAeu(const aeu::AccessSample& accesses, uint32_t count_max, const Costs& usual_ns,
               Read& read, std::vector<WeightedKey>& fresh);
  // Distributes an AEU's work on all of its rows over their keys.
  void Spread(uint64_t fresh_ns, AeuId aeu, const std::vector<SampledPartition>& partitions,
              const std::vector<RowKey>& row_keys, size_t keys_max,
              std::vector<WeightedKey>& fresh) const;
  // Computes the sub-ranges of all partitions, and their moving load.
  void Fill(LoadSample& sample) const;
  void Advance(std::vector<WeightedKey> fresh, size_t entries_max, uint64_t now_ns,
               uint64_t period_ns);

  // By address; the shared pointer in the value prevents its reuse.
  std::map<const aeu::AccessSample*, Read> read_;
  AccessHistory history_;
  ExpectedLoad expected_;
  uint64_t window_ns_ = 0;
  uint64_t sampled_ns_;  // 0: never
  uint64_t faded_ns_;
  uint32_t quiet_periods_ = 0;  // without any access
  uint64_t keys_read_ = 0;      // of all AEUs together, at the last sample
  uint64_t seen_first_ = ~uint64_t{0};
  uint64_t seen_last_ = 0;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_LOAD_SAMPLER_H_
