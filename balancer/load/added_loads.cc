#include "balancer/load/added_loads.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "balancer/load/imbalance.h"
#include "balancer/load/load_curve.h"
#include "balancer/load/row_estimate.h"
#include "base/check.h"

namespace eris::balancer {
namespace {

Position PartitionEnd(const PartitionSample& partition) {
  return partition.range.hi ? Position{partition.range.hi->head} : kEndOfKeys;
}

// Keys [begin, end) with evenly spread load.
struct Piece {
  Position begin;
  Position end;
  uint64_t weight;

  // The load below `position`. Floors of one ascending function: what pieces of it have adds up.
  Position Below(Position position) const {
    Position part = std::clamp(position, begin, end) - begin;
    Position width = end - begin;
    // Widths of 65 bits times weights of 63 do not fit in 128: the lost precision is negligible.
    for (; width >> 62 != 0; width >>= 1) part >>= 1;
    return std::min(part, width) * weight / width;
  }
};

// A sample's load in another window. Pieces are in key order.
class Loads {
 public:
  Loads(const LoadSample& sample, uint64_t window_ns) : sample_(sample), window_ns_(window_ns) {
    for (const PartitionSample& partition : sample.partitions) {
      const auto& subs = partition.sub_ranges;
      for (size_t i = 0; i < subs.size(); ++i) {
        const Position end =
            i + 1 < subs.size() ? Position{subs[i + 1].begin} : PartitionEnd(partition);
        if (subs[i].weight > 0) pieces_.push_back({subs[i].begin, end, Scaled(subs[i].weight)});
      }
    }
  }

  uint64_t Scaled(uint64_t weight) const {
    if (sample_.window_ns == 0 || sample_.window_ns == window_ns_) return weight;
    return static_cast<uint64_t>(Position{weight} * window_ns_ / sample_.window_ns);
  }
  // The same as a factor.
  double Scale() const {
    if (sample_.window_ns == 0) return 1;
    return static_cast<double>(window_ns_) / static_cast<double>(sample_.window_ns);
  }
  // Adds the places in [lo, hi) where the load per key changes. Call it for ascending ranges.
  void AddCuts(Position lo, Position hi, std::vector<Position>& cuts) {
    while (first_ < pieces_.size() && pieces_[first_].end <= lo) ++first_;
    for (size_t i = first_; i < pieces_.size() && pieces_[i].begin < hi; ++i) {
      cuts.push_back(std::max(pieces_[i].begin, lo));
      if (pieces_[i].end < hi) cuts.push_back(pieces_[i].end);
    }
    at_ = first_;
  }
  // The load of [lo, hi), which no cut divides. Call it for ascending ranges, after AddCuts.
  Position In(Position lo, Position hi) {
    while (at_ < pieces_.size() && pieces_[at_].end <= lo) ++at_;
    if (at_ == pieces_.size() || pieces_[at_].begin >= hi) return 0;
    return pieces_[at_].Below(hi) - pieces_[at_].Below(lo);
  }

 private:
  const LoadSample& sample_;
  const uint64_t window_ns_;
  std::vector<Piece> pieces_{};
  size_t first_ = 0;
  size_t at_ = 0;
};

std::vector<SubRange> SubRangesOf(Position lo, Position hi, std::vector<Loads>& loads) {
  std::vector<Position> cuts;
  for (Loads& one : loads) one.AddCuts(lo, hi, cuts);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<SubRange> result;
  for (size_t i = 0; i < cuts.size(); ++i) {
    const Position end = i + 1 < cuts.size() ? cuts[i + 1] : hi;
    Position weight = 0;
    for (Loads& one : loads) weight += one.In(cuts[i], end);
    const Position most = std::numeric_limits<uint64_t>::max();
    result.push_back(
        {static_cast<uint64_t>(cuts[i]), static_cast<uint64_t>(std::min(weight, most))});
  }
  return result;
}

// As many accesses as scatter like those of all samples together: the squares of the scatters, each
// weighted by its load, add up.
double AddedAccesses(absl::Span<const LoadSample> samples, const std::vector<Loads>& loads) {
  double all = 0;
  double squared = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    double load = 0;
    for (const double one : PartitionLoads(samples[i])) load += one;
    load *= loads[i].Scale();
    all += load;
    if (samples[i].accesses > 0) squared += load * load / samples[i].accesses;
  }
  return squared > 0 ? all * all / squared : 0;
}

bool HasLoad(const LoadSample& sample) {
  const std::vector<double> loads = PartitionLoads(sample);
  return MovingLoad(sample) > 0 ||
         std::any_of(loads.begin(), loads.end(), [](double load) { return load > 0; });
}

std::vector<RowKey> AddedRowKeys(absl::Span<const LoadSample> samples) {
  std::vector<RowKey> all;
  for (const LoadSample& sample : samples) {
    all.insert(all.end(), sample.row_keys.begin(), sample.row_keys.end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  size_t used = 0;
  for (const RowKey& one : all) {
    if (used > 0 && all[used - 1].key == one.key) {
      all[used - 1].rows += one.rows;
    } else {
      all[used++] = one;
    }
  }
  all.resize(used);
  return all;
}

// The place in `partitions` of the one that has `key`.
size_t PlaceOf(const std::vector<PartitionSample>& partitions, uint64_t key) {
  const auto after = std::upper_bound(
      partitions.begin(), partitions.end(), key,
      [](uint64_t at, const PartitionSample& one) { return at < one.range.lo.head; });
  return static_cast<size_t>(after - partitions.begin()) - 1;
}

}  // namespace

LoadSample AddedLoads(absl::Span<const LoadSample> samples) {
  ERIS_CHECK(!samples.empty());
  LoadSample sum = samples.front();
  if (samples.size() == 1) return sum;
  for (const LoadSample& one : samples) sum.window_ns = std::max(sum.window_ns, one.window_ns);
  std::vector<Loads> loads;
  std::vector<RowEstimate> rows;
  for (const LoadSample& one : samples) {
    loads.emplace_back(one, sum.window_ns);
    rows.emplace_back(one);
  }
  for (PartitionSample& partition : sum.partitions) {
    const Position lo = partition.range.lo.head;
    partition.sub_ranges = SubRangesOf(lo, PartitionEnd(partition), loads);
    partition.moving_weight = partition.size = 0;
    for (const RowEstimate& one : rows) partition.size += one.RowsIn(lo, PartitionEnd(partition));
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    for (const PartitionSample& one : samples[i].partitions) {
      sum.partitions[PlaceOf(sum.partitions, one.range.lo.head)].moving_weight +=
          loads[i].Scaled(one.moving_weight);
    }
  }
  sum.accesses = AddedAccesses(samples, loads);
  sum.one_period = std::any_of(samples.begin(), samples.end(), [](const LoadSample& one) {
    return one.one_period && HasLoad(one);
  });
  sum.row_keys = AddedRowKeys(samples);
  for (const LoadSample& one : samples) {
    sum.seen_first = std::min(sum.seen_first, one.seen_first);
    sum.seen_last = std::max(sum.seen_last, one.seen_last);
  }
  return sum;
}

}  // namespace eris::balancer
