#include "balancer/load_curve.h"

#include <algorithm>

#include "base/check.h"

namespace eris::balancer {
namespace {

// Each round brings the measure of a hot key nearer to its limit; what is left after these does not
// show.
constexpr int kMeasureRoundsMax = 64;

}  // namespace

LoadCurve::LoadCurve(const LoadSample& sample) {
  ERIS_CHECK(!sample.partitions.empty());
  std::vector<Position> raw_weights;  // by piece
  for (const PartitionSample& partition : sample.partitions) AddPartition(partition, raw_weights);
  Scale(raw_weights);
}

void LoadCurve::AddPartition(const PartitionSample& partition, std::vector<Position>& raw_weights) {
  const Position lo = partition.range.lo.head;
  const Position hi = partition.range.hi ? Position{partition.range.hi->head} : kEndOfKeys;
  ERIS_CHECK(lo < hi);
  ERIS_CHECK(pieces_.empty() || pieces_.back().end == lo);
  const size_t count = partition.weights.size();
  const auto edge = [&](size_t i) {
    if (partition.sub_range_width)
      return std::min(lo + *partition.sub_range_width * Position{i}, hi);
    return lo + ((hi - lo) * i + count - 1) / count;
  };
  // More sub-ranges than keys: some hold no key. Should one have a weight, its neighbour takes it.
  Position homeless = 0;
  bool has_piece = false;
  for (size_t i = 0; i < count; ++i) {
    homeless += partition.weights[i];
    if (edge(i) == edge(i + 1)) continue;
    pieces_.push_back({edge(i), edge(i + 1)});
    raw_weights.push_back(homeless);
    homeless = 0;
    has_piece = true;
  }
  if (has_piece) {
    raw_weights.back() += homeless;
    homeless = 0;
  }
  const Position reached = has_piece ? pieces_.back().end : lo;
  if (reached < hi) {
    pieces_.push_back({reached, hi});
    raw_weights.push_back(homeless);
  }
}

void LoadCurve::Scale(const std::vector<Position>& raw_weights) {
  Position sum = 0;
  for (const Position weight : raw_weights) sum += weight;
  int left = 0;
  for (; sum != 0 && sum < kTotalMax / 2; sum <<= 1) ++left;
  for (; sum >= kTotalMax; sum >>= 1) --left;
  below_.push_back(0);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    pieces_[i].weight =
        static_cast<uint64_t>(left >= 0 ? raw_weights[i] << left : raw_weights[i] >> -left);
    below_.push_back(below_.back() + pieces_[i].weight);
  }
}

uint64_t LoadCurve::Below(Position position) const {
  ERIS_DCHECK(position >= begin() && position <= end());
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), position,
                       [](Position value, const Piece& piece) { return value < piece.begin; });
  const size_t i = static_cast<size_t>(after - pieces_.begin()) - 1;
  const Piece& piece = pieces_[i];
  return below_[i] +
         static_cast<uint64_t>(piece.weight * (position - piece.begin) / (piece.end - piece.begin));
}

std::vector<uint64_t> LoadCurve::DivisibleWeights(uint32_t parts) const {
  // A key counts for at most one equal part of what counts: each round lowers the measure.
  std::vector<uint64_t> weights(pieces_.size());
  uint64_t measure = total();
  for (int round = 0; round < kMeasureRoundsMax; ++round) {
    uint64_t sum = 0;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Position keys = pieces_[i].end - pieces_[i].begin;
      weights[i] = static_cast<uint64_t>(std::min<Position>(pieces_[i].weight, keys * measure));
      sum += weights[i];
    }
    const uint64_t lower = (sum + parts - 1) / parts;
    if (lower >= measure) break;
    measure = lower;
  }
  return weights;
}

std::vector<LoadCurve::Boundary> LoadCurve::Divide(uint32_t parts) const {
  ERIS_CHECK(parts >= 1 && parts <= kPartsMax);
  ERIS_CHECK(total() > 0);
  const std::vector<uint64_t> weights = DivisibleWeights(parts);
  Position sum = 0;
  for (const uint64_t weight : weights) sum += weight;

  std::vector<Boundary> boundaries;
  size_t i = 0;
  Position before = 0;  // weights before piece i, times `parts`
  for (uint32_t part = 1; part < parts; ++part) {
    const Position wanted = sum * part;  // times `parts`, too
    while (before + Position{weights[i]} * parts < wanted) before += Position{weights[i++]} * parts;
    const Piece& piece = pieces_[i];
    const Position weight = Position{weights[i]} * parts;
    // To the nearest key: a hot key then goes to the side on which it weighs less.
    const Position offset = ((wanted - before) * (piece.end - piece.begin) + weight / 2) / weight;
    Boundary boundary{piece.begin + offset, piece.begin + offset};
    for (size_t j = i; j > 0 && boundary.first == pieces_[j].begin && weights[j - 1] == 0; --j) {
      boundary.first = pieces_[j - 1].begin;
    }
    for (size_t j = i;
         j + 1 < pieces_.size() && boundary.last == pieces_[j].end && weights[j + 1] == 0; ++j) {
      boundary.last = pieces_[j + 1].end;
    }
    boundaries.push_back(boundary);
  }
  return boundaries;
}

}  // namespace eris::balancer
