#include "balancer/load/row_estimate.h"

#include <algorithm>
#include <utility>

namespace eris::balancer {
namespace {

// With fewer noted keys a partition's rows cannot be located.
constexpr ptrdiff_t kNotedMin = 32;

Position EndOf(const PartitionSample& partition) {
  return partition.range.hi ? Position{partition.range.hi->head} : kEndOfKeys;
}

}  // namespace

std::vector<SubRange> RowEstimate::RowsOf(const PartitionSample& partition) const {
  const uint64_t lo = partition.range.lo.head;
  const Position hi = EndOf(partition);
  const auto below = [](const RowKey& row, Position key) { return row.key < key; };
  const auto& noted = sample_.row_keys;
  const auto begin = std::lower_bound(noted.begin(), noted.end(), Position{lo}, below);
  const auto end = std::lower_bound(begin, noted.end(), hi, below);
  std::vector<SubRange> rows;
  Position all = 0;
  for (auto row = begin; row != end; ++row) all += row->rows;
  if (end - begin >= kNotedMin && TellsWhereRowsAre(static_cast<double>(all), partition.size)) {
    Position before = 0;
    // From each noted key to the next one; rounding errors are carried along.
    for (auto row = begin; row != end; ++row) {
      const auto given = static_cast<uint64_t>(partition.size * before / all);
      before += row->rows;
      rows.push_back({row->key, static_cast<uint64_t>(partition.size * before / all) - given});
    }
    // The last one gets the average width of the others.
    const uint64_t first = rows.front().begin;
    const Position last = rows.back().begin;
    const Position reach = last + (last - first) / (rows.size() - 1) + 1;
    if (reach < hi) rows.push_back({static_cast<uint64_t>(reach), 0});
    return rows;
  }
  const Position first = std::max(lo, sample_.seen_first);
  const Position last = std::min(hi, Position{sample_.seen_last} + 1);
  if (first < last) {
    rows.push_back({static_cast<uint64_t>(first), partition.size});
    if (last < hi) rows.push_back({static_cast<uint64_t>(last), 0});
  } else {
    rows.push_back({lo, partition.size});
  }
  return rows;
}

uint64_t RowEstimate::RowsIn(Position lo, Position hi) const {
  const auto& partitions = sample_.partitions;
  auto at = std::upper_bound(
      partitions.begin(), partitions.end(), lo,
      [](Position key, const PartitionSample& partition) { return key < partition.range.lo.head; });
  if (at != partitions.begin()) --at;
  uint64_t rows = 0;
  for (; at != partitions.end() && Position{at->range.lo.head} < hi; ++at) {
    if (lo <= at->range.lo.head && EndOf(*at) <= hi) {
      rows += at->size;
      continue;
    }
    const std::vector<SubRange> pieces = RowsOf(*at);
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Position begin = pieces[i].begin;
      const Position end = i + 1 < pieces.size() ? Position{pieces[i + 1].begin} : EndOf(*at);
      if (std::max(begin, lo) >= std::min(end, hi)) continue;
      // Widths of 65 bits times rows of 64 do not fit in 128: the lost precision is negligible.
      Position part = std::min(end, hi) - std::max(begin, lo);
      Position width = end - begin;
      for (; width >> 62 != 0; width >>= 1) part >>= 1;
      rows += static_cast<uint64_t>(pieces[i].weight * part / width);
    }
  }
  return rows;
}

}  // namespace eris::balancer
