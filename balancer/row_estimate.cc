#include "balancer/row_estimate.h"

#include <algorithm>
#include <utility>

namespace eris::balancer {
namespace {

struct KeySpan {
  Position lo;
  Position hi;
  Position Width() const { return hi > lo ? hi - lo : 0; }
  KeySpan And(const KeySpan& other) const { return {std::max(lo, other.lo), std::min(hi, other.hi)}; }
};

}  // namespace

uint64_t RowEstimate::RowsIn(Position lo, Position hi) const {
  const auto& partitions = sample_.partitions;
  const KeySpan seen{sample_.seen_first, Position{sample_.seen_last} + 1};
  auto at = std::upper_bound(
      partitions.begin(), partitions.end(), lo,
      [](Position key, const PartitionSample& partition) { return key < partition.range.lo.head; });
  if (at != partitions.begin()) --at;
  uint64_t rows = 0;
  for (; at != partitions.end() && Position{at->range.lo.head} < hi; ++at) {
    const KeySpan whole{at->range.lo.head, at->range.hi ? Position{at->range.hi->head} : kEndOfKeys};
    const KeySpan spread = whole.And(seen).Width() > 0 ? whole.And(seen) : whole;
    // Widths of 65 bits by rows of 64 do not fit into 128: what is cut off here does not show.
    Position part = spread.And({lo, hi}).Width();
    Position width = spread.Width();
    for (; width >> 62 != 0; width >>= 1) part >>= 1;
    rows += static_cast<uint64_t>(at->size * part / width);
  }
  return rows;
}

}  // namespace eris::balancer
