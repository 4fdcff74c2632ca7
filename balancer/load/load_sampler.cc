#include "balancer/load/load_sampler.h"

#include <algorithm>
#include <utility>

#include "balancer/load/row_estimate.h"
#include "balancer/load/sub_ranges.h"
#include "routing/data_command.h"

namespace eris::balancer {
namespace {

// Entries of an object; more with many AEUs, so that each has some.
constexpr size_t kEntriesMin = 8192;
constexpr size_t kEntriesPerAeu = 64;
constexpr uint32_t kSamplesPerAeuMin = 64;
// About the number of sub-ranges of an object; more with many partitions.
constexpr size_t kSubRangesMin = 512;
constexpr size_t kSubRangesPerPartition = 32;
// Places of the load in which lasting load is separated from moving load.
constexpr size_t kPlacesPerAeu = 8;
// An AEU's work on all of its rows is spread over at least this many of their keys.
constexpr size_t kSpreadKeysMin = 32;
// For chance, a sample represents at most this many accesses: accesses of one batch are correlated.
constexpr float kStandsForMax = 16;
// Load spread over the keys of rows has been measured for each AEU, and has no scatter.
constexpr float kExact = 1e6;
// After this many, a key that was noted once has faded. Anything left of other keys would be
// rounding error.
constexpr uint32_t kQuietPeriodsMax = 5;

// A key counts with its average cost over all AEUs, or with half of its cost at its own AEU if that
// is more. A lower cost may be due to caches, and would be lost next to other keys.
constexpr double kCostsAlike = 2;

uint64_t ExecutionNs(const aeu::AccessSample& accesses) {
  uint64_t sum = 0;
  for (uint32_t kind = 0; kind < aeu::AccessSample::kKinds; ++kind) {
    sum += accesses.execution_ns(kind);
  }
  return sum;
}

// Keys of rows that the AEUs have added. Such a row may now belong to another AEU.
std::vector<RowKey> ReadRowKeys(const std::vector<SampledAeu>& aeus, size_t entries_max) {
  uint64_t all = 0;
  for (const SampledAeu& aeu : aeus) all += aeu.accesses == nullptr ? 0 : aeu.accesses->row_keys();
  std::vector<RowKey> result;
  std::vector<uint64_t> keys;
  for (const SampledAeu& aeu : aeus) {
    if (aeu.accesses == nullptr) continue;
    keys.clear();
    const uint64_t own = aeu.accesses->row_keys();
    const uint64_t keys_max = all <= entries_max ? own : own * entries_max / all;
    const uint64_t rows = aeu.accesses->ReadRows(static_cast<uint32_t>(keys_max), keys);
    for (const uint64_t key : keys) result.push_back({key, rows});
  }
  std::sort(result.begin(), result.end(),
            [](const RowKey& a, const RowKey& b) { return a.key < b.key; });
  size_t used = 0;
  for (const RowKey& one : result) {
    if (used > 0 && result[used - 1].key == one.key) {
      result[used - 1].rows += one.rows;
    } else {
      result[used++] = one;
    }
  }
  result.resize(used);
  return result;
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
  LoadSample sample{.object = object, .row_keys = ReadRowKeys(aeus, entries_max)};
  for (const SampledAeu& aeu : aeus) {
    if (aeu.accesses == nullptr) continue;
    Read& read = now[aeu.accesses.get()];
    // As many samples of each AEU as its part of the load: a large load must be divided finely.
    const double part =
        all_ns == 0 ? 0 : static_cast<double>(read.fresh_ns) / static_cast<double>(all_ns);
    const auto count_max = static_cast<uint32_t>(part * static_cast<double>(entries_max));
    ReadAeu(*aeu.accesses, std::max(count_max, kSamplesPerAeuMin), usual_ns, read, fresh);
    const uint64_t spread_ns = aeu.accesses->spread_ns();
    Spread(spread_ns - read.spread_ns, aeu.aeu, partitions, sample.row_keys,
           static_cast<size_t>(part * static_cast<double>(entries_max)), fresh);
    read.spread_ns = spread_ns;
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

  sample.window_ns = window_ns_;
  sample.accesses = history_.EffectiveAccesses();
  if (seen_first_ <= seen_last_) {
    sample.seen_first = seen_first_;
    sample.seen_last = seen_last_;
  }
  for (const SampledPartition& partition : partitions) {
    sample.partitions.push_back({.range = partition.range,
                                 .owner = partition.owner,
                                 .mean_execution_ns = mean_execution_ns[partition.owner],
                                 .size = partition.rows});
  }
  Fill(sample);
  return sample;
}

void LoadSampler::Fill(LoadSample& sample) const {
  std::vector<WeightedKey> entries = history_.entries();
  sample.one_period = !entries.empty() && !expected_.knows();
  std::vector<uint64_t> expected;
  if (expected_.knows()) expected = expected_.Of(entries, kPlacesPerAeu * read_.size());
  uint64_t all = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    all += expected.empty() ? entries[i].weight : expected[i];
  }
  const uint64_t quantum =
      all / std::max(kSubRangesMin,
                     kSubRangesPerPartition * std::max<size_t>(1, sample.partitions.size()));
  size_t at = 0;
  std::vector<WeightedKey> kept;
  for (PartitionSample& partition : sample.partitions) {
    while (at < entries.size() && entries[at].key < partition.range.lo.head) ++at;
    kept.clear();
    for (; at < entries.size(); ++at) {
      if (partition.range.hi && entries[at].key >= partition.range.hi->head) break;
      WeightedKey entry = entries[at];
      if (!expected.empty()) entry.weight = expected[at];
      partition.moving_weight += entries[at].weight - entry.weight;
      if (entry.weight > 0 || entries[at].weight == 0) kept.push_back(entry);
    }
    partition.sub_ranges = CutSubRanges(kept, quantum);
    // The last sub-range may end with the partition.
    if (partition.range.hi && !partition.sub_ranges.empty() &&
        partition.sub_ranges.back().begin == partition.range.hi->head) {
      partition.sub_ranges.pop_back();
    }
  }
}

void LoadSampler::Spread(uint64_t fresh_ns, AeuId aeu,
                         const std::vector<SampledPartition>& partitions,
                         const std::vector<RowKey>& row_keys, size_t keys_max,
                         std::vector<WeightedKey>& fresh) const {
  uint64_t all_rows = 0;
  for (const SampledPartition& one : partitions) all_rows += one.owner == aeu ? one.rows : 0;
  if (fresh_ns == 0 || all_rows == 0) return;
  const auto below = [](const RowKey& row, uint64_t key) { return row.key < key; };
  for (const SampledPartition& one : partitions) {
    if (one.owner != aeu || one.rows == 0) continue;
    const double part = static_cast<double>(one.rows) / static_cast<double>(all_rows);
    const double part_ns = part * static_cast<double>(fresh_ns);
    const uint64_t lo = one.range.lo.head;
    const auto begin = std::lower_bound(row_keys.begin(), row_keys.end(), lo, below);
    const auto end = one.range.hi
                         ? std::lower_bound(begin, row_keys.end(), one.range.hi->head, below)
                         : row_keys.end();
    const auto count = static_cast<size_t>(end - begin);
    double noted_rows = 0;
    for (auto row = begin; row != end; ++row) noted_rows += static_cast<double>(row->rows);
    const auto wanted =
        std::max(kSpreadKeysMin, static_cast<size_t>(part * static_cast<double>(keys_max)));
    const auto add = [&](uint64_t key, double ns) {
      fresh.push_back({key, std::max<uint64_t>(static_cast<uint64_t>(ns), 1), 256, kExact});
    };
    if (count >= kSpreadKeysMin && TellsWhereRowsAre(noted_rows, one.rows)) {
      const size_t step = (count + wanted - 1) / wanted;
      // Each chosen one also represents the omitted ones after it.
      for (size_t i = 0; i < count; i += step) {
        double for_rows = 0;
        for (size_t j = i; j < std::min(count, i + step); ++j) {
          for_rows += static_cast<double>(begin[static_cast<ptrdiff_t>(j)].rows);
        }
        add(begin[static_cast<ptrdiff_t>(i)].key, part_ns * for_rows / noted_rows);
      }
      continue;
    }
    // Too few are known: spread evenly over the accessed part of the range, or over all of it.
    uint64_t first = lo;
    uint64_t last = one.range.hi ? one.range.hi->head - 1 : ~uint64_t{0};
    if (seen_first_ <= seen_last_ && std::max(first, seen_first_) <= std::min(last, seen_last_)) {
      first = std::max(first, seen_first_);
      last = std::min(last, seen_last_);
    }
    const uint64_t width = last - first;
    const uint64_t keys =
        std::min<uint64_t>(kSpreadKeysMin, width == ~uint64_t{0} ? width : width + 1);
    for (uint64_t i = 0; i < keys; ++i) {
      add(first + width / keys * i, part_ns / static_cast<double>(keys));
    }
  }
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
  // The time of a kind is divided among its samples; without samples it is kept for the next call.
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
  // A sample has at least some weight: an access takes time, however coarse the clock.
  for (const auto& one : samples) {
    fresh.push_back({one.key, std::max<uint64_t>(weight[one.kind], 1), 256, stands_for[one.kind]});
  }
}

void LoadSampler::Advance(std::vector<WeightedKey> fresh, size_t entries_max, uint64_t now_ns,
                          uint64_t period_ns) {
  const bool first = sampled_ns_ == 0;
  bool ended = first;
  const uint64_t passed_ns = first ? 0 : now_ns - sampled_ns_;
  if (first) {
    faded_ns_ = now_ns;
  } else if (now_ns - faded_ns_ >= period_ns - period_ns / 4) {
    history_.Fade();
    window_ns_ /= 2;
    faded_ns_ = now_ns;
    ended = true;
    if (++quiet_periods_ == kQuietPeriodsMax) history_ = {};
  }
  if (!fresh.empty()) quiet_periods_ = 0;
  sampled_ns_ = std::max<uint64_t>(now_ns, 1);
  expected_.Add(fresh, entries_max);
  if (ended) expected_.EndPeriod();
  const bool shifted = history_.Add(std::move(fresh), entries_max);
  window_ns_ = shifted ? passed_ns : window_ns_ + passed_ns;
}

}  // namespace eris::balancer
