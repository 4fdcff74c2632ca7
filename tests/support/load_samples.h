// Samples of loads, made up.
#ifndef ERIS_TESTS_SUPPORT_LOAD_SAMPLES_H_
#define ERIS_TESTS_SUPPORT_LOAD_SAMPLES_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "balancer/load/imbalance.h"
#include "balancer/load/load_curve.h"
#include "balancer/load/load_sample.h"

namespace eris::test {

// Equal pieces of the range. Where there are more weights than keys, those of a key add up.
inline std::vector<balancer::SubRange> EvenSubRanges(const storage::Range& range,
                                                     const std::vector<uint64_t>& weights) {
  std::vector<balancer::SubRange> result;
  const balancer::Position lo = range.lo.head;
  const balancer::Position hi =
      range.hi ? balancer::Position{range.hi->head} : balancer::kEndOfKeys;
  for (size_t i = 0; i < weights.size(); ++i) {
    const balancer::Position begin = lo + ((hi - lo) * i + weights.size() - 1) / weights.size();
    if (begin == hi || (!result.empty() && balancer::Position{result.back().begin} == begin)) {
      result.back().weight += weights[i];
    } else {
      result.push_back({static_cast<uint64_t>(begin), weights[i]});
    }
  }
  return result;
}

// Sub-ranges of that width from the beginning on; behind them nobody accesses anything.
inline std::vector<balancer::SubRange> SubRangesOfWidth(const storage::Range& range, uint64_t width,
                                                        const std::vector<uint64_t>& weights) {
  std::vector<balancer::SubRange> result;
  balancer::Position begin = range.lo.head;
  const balancer::Position hi =
      range.hi ? balancer::Position{range.hi->head} : balancer::kEndOfKeys;
  for (size_t i = 0; i <= weights.size() && begin < hi; ++i, begin += width) {
    result.push_back({static_cast<uint64_t>(begin), i < weights.size() ? weights[i] : 0});
  }
  return result;
}

struct Part {
  uint64_t lo;
  std::vector<uint64_t> weights;
  uint64_t rows = 0;
};

// Partitions one after the other, each of another AEU; the last reaches up to `end`, or to the end
// of the key space.
inline balancer::LoadSample MakeSample(const std::vector<Part>& parts,
                                       std::optional<uint64_t> end) {
  balancer::LoadSample sample;
  for (size_t i = 0; i < parts.size(); ++i) {
    balancer::PartitionSample partition;
    partition.range.lo = storage::Key::FromU64(parts[i].lo);
    if (i + 1 < parts.size()) {
      partition.range.hi = storage::Key::FromU64(parts[i + 1].lo);
    } else if (end) {
      partition.range.hi = storage::Key::FromU64(*end);
    }
    partition.owner = AeuId{static_cast<uint32_t>(i)};
    partition.sub_ranges = EvenSubRanges(partition.range, parts[i].weights);
    partition.size = parts[i].rows;
    sample.partitions.push_back(std::move(partition));
  }
  return sample;
}

inline std::vector<uint64_t> Starts(const balancer::Partitioning& partitioning) {
  std::vector<uint64_t> result;
  for (const storage::Key& key : partitioning.starts) result.push_back(key.head);
  return result;
}

// What the AEUs would have to do, by the sample's own curve; by AeuId.
inline std::vector<double> LoadsUnder(const balancer::LoadSample& sample,
                                      const balancer::Partitioning& partitioning, size_t aeus = 0) {
  const balancer::LoadCurve curve(sample);
  std::vector<double> loads(aeus);
  for (size_t i = 0; i < partitioning.starts.size(); ++i) {
    const balancer::Position end = i + 1 < partitioning.starts.size()
                                       ? balancer::Position{partitioning.starts[i + 1].head}
                                       : curve.end();
    const size_t owner = partitioning.owners[i].value;
    if (owner >= loads.size()) loads.resize(owner + 1);
    loads[owner] +=
        static_cast<double>(curve.Below(end) - curve.Below(partitioning.starts[i].head));
  }
  return loads;
}

inline double MaxOverMean(const std::vector<double>& loads) {
  double sum = 0;
  for (const double load : loads) sum += load;
  return sum == 0 ? 1
                  : *std::max_element(loads.begin(), loads.end()) /
                        (sum / static_cast<double>(loads.size()));
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_LOAD_SAMPLES_H_
