#include "balancer/load/hot_ranges.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

#include "balancer/load/imbalance.h"

namespace eris::balancer {
namespace {

// A piece is closed at this part of the object's load. A sub-range with more is a piece by itself:
// it may be a single hot key.
constexpr double kPieces = 64;
// A piece of this many sub-ranges does not grow over a gap that is this many times as wide.
constexpr size_t kCloseSubRangesMin = 4;
constexpr double kGapWidths = 16;
// Neighbouring pieces are one range if their loads per key differ by at most this factor.
constexpr double kAlike = 4;

// [begin, end) as numbers that can have the end of the key space.
struct Piece {
  double begin = 0;
  double end = 0;
  uint64_t lo = 0;
  std::optional<uint64_t> hi{};
  double weight = 0;
  size_t sub_ranges = 0;

  double width() const { return std::max(1.0, end - begin); }
  double density() const { return weight / width(); }
  void Append(const Piece& next) {
    end = next.end;
    hi = next.hi;
    weight += next.weight;
    sub_ranges += next.sub_ranges;
  }
};

constexpr double kEndOfAllKeys = 0x1p64;

Piece PieceOf(const PartitionSample& partition, size_t i) {
  const SubRange& one = partition.sub_ranges[i];
  Piece piece{.begin = static_cast<double>(one.begin),
              .end = kEndOfAllKeys,
              .lo = one.begin,
              .weight = static_cast<double>(one.weight),
              .sub_ranges = 1};
  if (i + 1 < partition.sub_ranges.size()) {
    piece.hi = partition.sub_ranges[i + 1].begin;
  } else if (partition.range.hi) {
    piece.hi = partition.range.hi->head;
  }
  if (piece.hi) piece.end = static_cast<double>(*piece.hi);
  return piece;
}

bool Far(const Piece& before, const Piece& next) {
  return before.sub_ranges >= kCloseSubRangesMin &&
         next.begin - before.end > kGapWidths * before.width();
}

// In key order.
std::vector<Piece> CutPieces(const PartitionSample& partition, double unit) {
  std::vector<Piece> pieces;
  bool open = false;
  for (size_t i = 0; i < partition.sub_ranges.size(); ++i) {
    if (partition.sub_ranges[i].weight == 0) continue;
    const Piece next = PieceOf(partition, i);
    if (open && next.weight < unit && !Far(pieces.back(), next)) {
      pieces.back().Append(next);
    } else {
      pieces.push_back(next);
    }
    open = pieces.back().weight < unit;
  }
  return pieces;
}

bool Alike(const Piece& a, const Piece& b) {
  return !Far(a, b) && a.density() <= kAlike * b.density() && b.density() <= kAlike * a.density();
}

}  // namespace

std::vector<HotRange> HottestRanges(const LoadSample& sample, size_t count_max) {
  std::vector<HotRange> ranges;
  if (sample.window_ns == 0) return ranges;
  const std::vector<double> loads = PartitionLoads(sample);
  const double all = std::accumulate(loads.begin(), loads.end(), 0.0);
  const auto window_ns = static_cast<double>(sample.window_ns);
  for (const PartitionSample& partition : sample.partitions) {
    std::vector<Piece> merged;
    for (const Piece& piece : CutPieces(partition, all / kPieces)) {
      if (!merged.empty() && Alike(merged.back(), piece)) {
        merged.back().Append(piece);
      } else {
        merged.push_back(piece);
      }
    }
    for (const Piece& piece : merged) {
      ranges.push_back({.range = {.lo = piece.lo, .hi = piece.hi},
                        .owner = partition.owner,
                        .load = piece.weight / window_ns});
    }
  }
  const size_t count = std::min(count_max, ranges.size());
  std::partial_sort(ranges.begin(), ranges.begin() + static_cast<ptrdiff_t>(count), ranges.end(),
                    [](const HotRange& a, const HotRange& b) { return a.load > b.load; });
  ranges.resize(count);
  return ranges;
}

}  // namespace eris::balancer
