// Samples the load of one data object: reads what its AEUs have noted since the last time, while
// they run, and stops nothing. Accesses are assigned to partitions by their keys, so whoever
// executed them and whatever has moved since, they count for the partition that has the key now.
// One thread at a time. Cost: O(AEUs + partitions + samples). Paper: ERIS 3.3 (monitoring).
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

// A partition in force.
struct SampledPartition {
  storage::Range range;
  AeuId owner;
  uint64_t rows = 0;
};

// What an AEU does for the object.
struct SampledAeu {
  AeuId aeu;
  std::shared_ptr<const aeu::AccessSample> accesses;  // nullptr: nothing was sampled
};

class LoadSampler {
 public:
  // `begun_ns`: since when the object is there, of the clock of `now_ns` below; 0: not known, and
  // then the first sample has no window.
  explicit LoadSampler(uint64_t begun_ns = 0) : sampled_ns_(begun_ns), faded_ns_(begun_ns) {}

  // `partitions`: in key order, as in the partition table. `now_ns`: of a clock that does not go
  // back. What is known weighs half after each `period_ns`, of which the last one counts when most
  // of it has passed; called more often than that, it adds to what it knows. Of an object that
  // nobody has accessed for some periods nothing is known.
  LoadSample Sample(ObjectId object, const std::vector<SampledPartition>& partitions,
                    const std::vector<SampledAeu>& aeus, uint64_t now_ns, uint64_t period_ns);
  // In place of Sample where that would tell nothing new: nobody has accessed the object for some
  // periods, nor since the last sample. `keys`: of all AEUs together, as AccessSample::keys. O(1).
  // False: Sample has to be called.
  bool StaysQuiet(uint64_t keys, uint64_t now_ns, uint64_t period_ns);

 private:
  // For so long a key has to cost more at one AEU than elsewhere before that counts.
  static constexpr size_t kCostReads = 8;

  // How far an AEU's notes have been read.
  struct Read {
    std::shared_ptr<const aeu::AccessSample> accesses;
    uint64_t noted = 0;
    std::array<uint64_t, aeu::AccessSample::kKinds> execution_ns{};
    std::array<uint64_t, aeu::AccessSample::kKinds> kind_keys{};
    uint64_t keys = 0;
    uint64_t all_ns = 0;
    uint64_t spread_ns = 0;
    uint64_t fresh_ns = 0;  // since it was read, as far as known
    uint64_t mean_execution_ns = 0;

    // What a key of the kind has cost in each of the last reads that had any; 0: no read had.
    std::array<std::array<float, kCostReads>, aeu::AccessSample::kKinds> costs_ns{};
    // With the one just read, the least of them: who else runs on the AEU's core makes its keys
    // look more expensive now and then, never cheaper.
    double LeastCost(uint32_t kind, double cost_ns);
  };
  using Costs = std::array<double, aeu::AccessSample::kKinds>;  // ns per key
  // What a key of each kind has cost all AEUs together since they were read; 0: nothing to say.
  Costs UsualCosts(const std::map<const aeu::AccessSample*, Read>& now) const;
  void ReadAeu(const aeu::AccessSample& accesses, uint32_t count_max, const Costs& usual_ns,
               Read& read, std::vector<WeightedKey>& fresh);
  // What an AEU did for all of its rows alike, laid over their keys.
  void Spread(uint64_t fresh_ns, AeuId aeu, const std::vector<SampledPartition>& partitions,
              const std::vector<RowKey>& row_keys, size_t keys_max,
              std::vector<WeightedKey>& fresh) const;
  // The sub-ranges of all partitions, and what of their load moves on.
  void Fill(LoadSample& sample) const;
  void Advance(std::vector<WeightedKey> fresh, size_t entries_max, uint64_t now_ns,
               uint64_t period_ns);

  // By the address; the shared pointer in the value keeps that from being used again.
  std::map<const aeu::AccessSample*, Read> read_;
  AccessHistory history_;
  ExpectedLoad expected_;
  uint64_t window_ns_ = 0;
  uint64_t sampled_ns_;  // 0: never
  uint64_t faded_ns_;
  uint32_t quiet_periods_ = 0;  // since anything was accessed
  uint64_t keys_read_ = 0;      // of all AEUs together, as of the last sample
  uint64_t seen_first_ = ~uint64_t{0};
  uint64_t seen_last_ = 0;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_LOAD_SAMPLER_H_
