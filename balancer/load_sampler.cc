#include "balancer/load_sampler.h"

#include <algorithm>
#include <utility>

#include "balancer/sub_ranges.h"
#include "routing/data_command.h"

namespace eris::balancer {
namespace {

// Of an object; more where there are many AEUs, so that each has some.
constexpr size_t kEntriesMin = 8192;
constexpr size_t kEntriesPerAeu = 64;
constexpr uint32_t kSamplesPerAeuMin = 64;
// Sub-ranges of an object, about; more where there are many partitions.
constexpr size_t kSubRangesMin = 512;
constexpr size_t kSubRangesPerPartition = 32;
// A sample stands for at most so many accesses when chance is reckoned with: those of one batch
// have more in common than chance.
constexpr float kStandsForMax = 16;
// By then a key that was noted once is forgotten. What were left of others would be their rounding.
constexpr uint32_t kQuietPeriodsMax = 5;

// What a key costs all AEUs together is what it counts for, but half of what it costs its own AEU
// where that is more. Less may well be the caches', and would be lost with other keys beside it.
constexpr double kCostsAlike = 2;

uint64_t ExecutionNs(const aeu::AccessSample& accesses) {
  uint64_t sum = 0;
  for (uint32_t kind = 0; kind < aeu::AccessSample::kKinds; ++kind) {
    sum += accesses.execution_ns(kind);
  }
  return sum;
}

}  // namespace

LoadSample LoadSampler::Sample(ObjectId object, const std::vector<SampledPartition>& partitions,
                               const std::vector<SampledAeu>& aeus, uint64_t now_ns,
                               uint64_t period_ns) {
  const size_t entries_max = std::max(kEntriesMin, kEntriesPerAeu * aeus.size());
  std::vector<WeightedKey> fresh;
  std::map<const aeu::AccessSample*, Read> now;
  std::map<AeuId, uint64_t> mean_execution_ns;
  uint64_t all_ns = 0;
  for (const SampledAeu& aeu : aeus) {
    if (aeu.accesses == nullptr) continue;
    Read& read = now[aeu.accesses.get()];
    if (auto before = read_.find(aeu.accesses.get()); before != read_.end()) {
      read = std::move(before->second);
    }
    read.accesses = aeu.accesses;
    read.fresh_ns = ExecutionNs(*aeu.accesses) - read.all_ns;
    all_ns += read.fresh_ns;
  }
  const Costs usual_ns = UsualCosts(now);
  for (const SampledAeu& aeu : aeus) {
    if (aeu.accesses == nullptr) continue;
    Read& read = now[aeu.accesses.get()];
    // As many samples of each AEU as it has of the load: where much is, much has to be divided.
    const double part =
        all_ns == 0 ? 0 : static_cast<double>(read.fresh_ns) / static_cast<double>(all_ns);
    const auto count_max = static_cast<uint32_t>(part * static_cast<double>(entries_max));
    ReadAeu(*aeu.accesses, std::max(count_max, kSamplesPerAeuMin), usual_ns, read, fresh);
    mean_execution_ns[aeu.aeu] = read.mean_execution_ns;
  }
  read_ = std::move(now);
  keys_read_ = 0;
  for (const auto& [accesses, read] : read_) keys_read_ += read.keys;
  for (const WeightedKey& one : fresh) {
    seen_first_ = std::min(seen_first_, one.key);
    seen_last_ = std::max(seen_last_, one.key);
  }
  Advance(std::move(fresh), entries_max, now_ns, period_ns);

  LoadSample sample{.object = object};
  sample.window_ns = window_ns_;
  sample.accesses = history_.EffectiveAccesses();
  if (seen_first_ <= seen_last_) {
    sample.seen_first = seen_first_;
    sample.seen_last = seen_last_;
  }
  const std::vector<WeightedKey>& entries = history_.entries();
  const uint64_t quantum =
      history_.total_weight() /
      std::max(kSubRangesMin, kSubRangesPerPartition * std::max<size_t>(1, partitions.size()));
  auto at = entries.begin();
  for (const SampledPartition& partition : partitions) {
    PartitionSample one{.range = partition.range, .owner = partition.owner};
    one.size = partition.rows;
    one.mean_execution_ns = mean_execution_ns[partition.owner];
    const auto below = [](const WeightedKey& entry, uint64_t key) { return entry.key < key; };
    at = std::lower_bound(at, entries.end(), partition.range.lo.head, below);
    const auto end = partition.range.hi
                         ? std::lower_bound(at, entries.end(), partition.range.hi->head, below)
                         : entries.end();
    one.sub_ranges = CutSubRanges(
        {entries.data() + (at - entries.begin()), static_cast<size_t>(end - at)}, quantum);
    // The last one may end with the partition.
    if (partition.range.hi && !one.sub_ranges.empty() &&
        one.sub_ranges.back().begin == partition.range.hi->head) {
      one.sub_ranges.pop_back();
    }
    at = end;
    sample.partitions.push_back(std::move(one));
  }
  return sample;
}

bool LoadSampler::StaysQuiet(uint64_t keys, uint64_t now_ns, uint64_t period_ns) {
  if (quiet_periods_ < kQuietPeriodsMax || keys != keys_read_) return false;
  Advance({}, 0, now_ns, period_ns);
  return true;
}

LoadSampler::Costs LoadSampler::UsualCosts(
    const std::map<const aeu::AccessSample*, Read>& now) const {
  Costs execution_ns{};
  Costs keys{};
  for (const auto& [accesses, read] : now) {
    for (uint32_t kind = 0; kind < keys.size(); ++kind) {
      execution_ns[kind] +=
          static_cast<double>(accesses->execution_ns(kind) - read.execution_ns[kind]);
      keys[kind] += static_cast<double>(accesses->keys(kind) - read.kind_keys[kind]);
    }
  }
  for (uint32_t kind = 0; kind < keys.size(); ++kind) {
    const bool keyed = routing::IsKeyed(static_cast<routing::CommandType>(kind));
    execution_ns[kind] = keyed && keys[kind] > 0 ? execution_ns[kind] / keys[kind] : 0;
  }
  return execution_ns;
}

double LoadSampler::Read::LeastCost(uint32_t kind, double cost_ns) {
  auto& costs = costs_ns[kind];
  std::rotate(costs.begin(), costs.end() - 1, costs.end());
  costs.front() = static_cast<float>(cost_ns);
  return *std::min_element(costs.begin(), costs.end());
}

void LoadSampler::ReadAeu(const aeu::AccessSample& accesses, uint32_t count_max,
                          const Costs& usual_ns, Read& read, std::vector<WeightedKey>& fresh) {
  std::vector<aeu::AccessSample::Access> samples;
  read.noted = accesses.Read(read.noted, count_max, samples);
  std::array<uint64_t, aeu::AccessSample::kKinds> noted{};
  for (const auto& one : samples) ++noted[one.kind];
  // The time of a kind is shared by its samples; without one it waits for the next time.
  std::array<uint64_t, aeu::AccessSample::kKinds> weight{};
  std::array<float, aeu::AccessSample::kKinds> stands_for{};
  uint64_t keys = 0;
  uint64_t all_ns = 0;
  for (uint32_t kind = 0; kind < noted.size(); ++kind) {
    const uint64_t execution_ns = accesses.execution_ns(kind);
    keys += accesses.keys(kind);
    all_ns += execution_ns;
    if (noted[kind] == 0) continue;
    const uint64_t kind_keys = accesses.keys(kind);
    const auto fresh_keys = static_cast<double>(kind_keys - read.kind_keys[kind]);
    auto fresh_ns = static_cast<double>(execution_ns - read.execution_ns[kind]);
    const auto samples_of_kind = static_cast<double>(noted[kind]);
    if (usual_ns[kind] > 0 && fresh_keys > 0) {
      const double own_ns = read.LeastCost(kind, fresh_ns / fresh_keys);
      fresh_ns = std::max(usual_ns[kind], own_ns / kCostsAlike) * fresh_keys;
    }
    weight[kind] = static_cast<uint64_t>(fresh_ns / samples_of_kind);
    stands_for[kind] = std::min(kStandsForMax, static_cast<float>(fresh_keys / samples_of_kind));
    read.execution_ns[kind] = execution_ns;
    read.kind_keys[kind] = kind_keys;
  }
  if (keys > read.keys) read.mean_execution_ns = (all_ns - read.all_ns) / (keys - read.keys);
  read.keys = keys;
  read.all_ns = all_ns;
  // A sample counts at least for something: an access takes time, however coarse the clock.
  for (const auto& one : samples) {
    fresh.push_back({one.key, std::max<uint64_t>(weight[one.kind], 1), 256, stands_for[one.kind]});
  }
}

void LoadSampler::Advance(std::vector<WeightedKey> fresh, size_t entries_max, uint64_t now_ns,
                          uint64_t period_ns) {
  const bool first = sampled_ns_ == 0;
  const uint64_t passed_ns = first ? 0 : now_ns - sampled_ns_;
  if (first) {
    faded_ns_ = now_ns;
  } else if (now_ns - faded_ns_ >= period_ns - period_ns / 4) {
    history_.Fade();
    window_ns_ /= 2;
    faded_ns_ = now_ns;
    if (++quiet_periods_ == kQuietPeriodsMax) history_ = {};
  }
  if (!fresh.empty()) quiet_periods_ = 0;
  sampled_ns_ = std::max<uint64_t>(now_ns, 1);
  const bool shifted = history_.Add(std::move(fresh), entries_max);
  window_ns_ = shifted ? passed_ns : window_ns_ + passed_ns;
}

}  // namespace eris::balancer
