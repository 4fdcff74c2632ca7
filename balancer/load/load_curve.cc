#include "balancer/load/load_curve.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace eris::balancer {
namespace {

// Each round brings the weight of a hot key nearer to its limit; after these the error is
// negligible.
constexpr int kMeasureRoundsMax = 64;

// The excess of parts over their shares is searched in steps of the largest share divided by this.
constexpr uint64_t kSteps = 64;

// Cuts a load into parts of bounded weight. Near hot keys, the boundaries nearest to the ideal ones
// may give half a hot key too much to a part, although others have room.
class Cutter {
 public:
  // Piece i is [borders[i], borders[i + 1]).
  Cutter(std::vector<Position> borders, absl::Span<const uint64_t> weights)
      : borders_(std::move(borders)), below_{0} {
    for (const uint64_t weight : weights) below_.push_back(below_.back() + weight);
  }
  // Returns `ideal`, ascending, changed so that no part exceeds its share more than necessary, or
  // nearly so.
  // REQUIRES: no key has more than the largest share.
  std::vector<Position> Cut(std::vector<Position> ideal, absl::Span<const uint64_t> shares,
                            uint64_t shares_sum) const {
    const uint64_t largest = *std::max_element(shares.begin(), shares.end());
    const auto caps = [&](uint64_t steps) {
      std::vector<uint64_t> result;
      for (const uint64_t share : shares) {
        const Position cap = Position{share} * kSteps + Position{largest} * steps;
        result.push_back(static_cast<uint64_t>(below_.back() * cap / shares_sum / kSteps));
      }
      return result;
    };
    uint64_t enough = kSteps;  // at this excess each part gets at least its share
    for (uint64_t low = 0; low < enough;) {
      const uint64_t middle = (low + enough) / 2;
      if (Suffice(caps(middle))) {
        enough = middle;
      } else {
        low = middle + 1;
      }
    }
    const std::vector<uint64_t> most = caps(enough + 1);
    // As early as the later parts allow, as late as the previous one allows.
    std::vector<Position> earliest(ideal.size());
    Position next = borders_.back();
    for (size_t i = ideal.size(); i-- > 0;) {
      const uint64_t below = Below(next);
      earliest[i] = next = First(below - std::min(below, most[i + 1]));
    }
    Position before = borders_.front();
    for (size_t i = 0; i < ideal.size(); ++i) {
      ideal[i] = std::min(std::max(ideal[i], earliest[i]), Last(Below(before) + most[i]));
      before = ideal[i];
    }
    return ideal;
  }

 private:
  bool Suffice(const std::vector<uint64_t>& caps) const {
    Position at = borders_.front();
    for (const uint64_t cap : caps) at = Last(Below(at) + cap);
    return at == borders_.back();
  }
  uint64_t Below(Position at) const {
    const auto after = std::upper_bound(borders_.begin(), borders_.end() - 1, at);
    const auto i = static_cast<size_t>(after - borders_.begin()) - 1;
    return below_[i] + static_cast<uint64_t>((below_[i + 1] - below_[i]) * (at - borders_[i]) /
                                             (borders_[i + 1] - borders_[i]));
  }
  // The last place with at most `weight` below it, and the first with at least that.
  Position Last(uint64_t weight) const {
    const auto after = std::upper_bound(below_.begin(), below_.end(), weight);
    if (after == below_.end()) return borders_.back();
    return Inside(static_cast<size_t>(after - below_.begin()) - 1, weight, 0);
  }
  Position First(uint64_t weight) const {
    const auto at = std::lower_bound(below_.begin(), below_.end(), weight);
    const auto i = static_cast<size_t>(at - below_.begin());
    return i == 0 ? borders_.front() : Inside(i - 1, weight, below_[i] - below_[i - 1] - 1);
  }
  Position Inside(size_t piece, uint64_t weight, uint64_t round) const {
    const uint64_t all = below_[piece + 1] - below_[piece];
    return borders_[piece] +
           ((weight - below_[piece]) * (borders_[piece + 1] - borders_[piece]) + round) / all;
  }

  std::vector<Position> borders_;
  std::vector<uint64_t> below_;  // one more than pieces
};

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
  Position reached = lo;
  for (size_t i = 0; i < partition.sub_ranges.size(); ++i) {
    const Position begin = partition.sub_ranges[i].begin;
    const bool last = i + 1 == partition.sub_ranges.size();
    const Position end = last ? hi : Position{partition.sub_ranges[i + 1].begin};
    ERIS_CHECK(begin >= reached && begin < end && end <= hi);
    if (reached < begin) {
      pieces_.push_back({reached, begin});
      raw_weights.push_back(0);
    }
    pieces_.push_back({begin, end});
    raw_weights.push_back(partition.sub_ranges[i].weight);
    reached = end;
  }
  if (reached < hi) {
    pieces_.push_back({reached, hi});
    raw_weights.push_back(0);
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

std::vector<uint64_t> LoadCurve::DivisibleWeights(uint64_t largest_share,
                                                  uint64_t shares_sum) const {
  // A key counts for at most the largest share of the counted load: each round lowers that limit.
  std::vector<uint64_t> weights(pieces_.size());
  uint64_t measure = total();
  for (int round = 0; round < kMeasureRoundsMax; ++round) {
    uint64_t sum = 0;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Position keys = pieces_[i].end - pieces_[i].begin;
      weights[i] = static_cast<uint64_t>(std::min<Position>(pieces_[i].weight, keys * measure));
      sum += weights[i];
    }
    const auto lower =
        static_cast<uint64_t>((Position{sum} * largest_share + shares_sum - 1) / shares_sum);
    if (lower >= measure) break;
    measure = lower;
  }
  return weights;
}

std::vector<LoadCurve::Boundary> LoadCurve::Divide(absl::Span<const uint64_t> shares) const {
  ERIS_CHECK(!shares.empty() && shares.size() <= kPartsMax);
  ERIS_CHECK(total() > 0);
  uint64_t shares_sum = 0;
  for (const uint64_t share : shares) shares_sum += share;
  ERIS_CHECK(shares_sum > 0 && shares_sum <= kTotalMax);
  const std::vector<uint64_t> weights =
      DivisibleWeights(*std::max_element(shares.begin(), shares.end()), shares_sum);
  Position sum = 0;
  for (const uint64_t weight : weights) sum += weight;

  std::vector<Position> ideal;
  size_t i = 0;
  Position before = 0;  // weights before piece i, times shares_sum
  Position wanted = 0;  // likewise
  for (size_t part = 0; part + 1 < shares.size(); ++part) {
    wanted += sum * shares[part];
    // A piece with a weight reaches it: the weights sum up to the last wanted one.
    while (weights[i] == 0 || before + Position{weights[i]} * shares_sum < wanted) {
      before += Position{weights[i++]} * shares_sum;
    }
    const Piece& piece = pieces_[i];
    Position weight = Position{weights[i]} * shares_sum;
    Position inside = wanted - before;
    // Scale down so that the product below fits; the lost precision is far below a key.
    for (; weight >> 63 != 0; weight >>= 1) inside >>= 1;
    // To the nearest key: a hot key goes to the side on which it has less weight.
    ideal.push_back(piece.begin + (inside * (piece.end - piece.begin) + weight / 2) / weight);
  }

  std::vector<Position> borders;
  for (const Piece& piece : pieces_) borders.push_back(piece.begin);
  borders.push_back(end());
  std::vector<Boundary> boundaries;
  size_t at = 0;  // index of the boundary's piece, or an earlier one
  for (const Position position :
       Cutter(borders, weights).Cut(std::move(ideal), shares, shares_sum)) {
    while (borders[at] < position) ++at;
    Boundary boundary{position, position};
    if (borders[at] == position) {
      for (size_t j = at; j > 0 && weights[j - 1] == 0; --j) boundary.first = borders[j - 1];
      for (size_t j = at; j < weights.size() && weights[j] == 0; ++j) {
        boundary.last = borders[j + 1];
      }
    }
    boundaries.push_back(boundary);
  }
  return boundaries;
}

std::vector<LoadCurve::Boundary> LoadCurve::Divide(uint32_t parts) const {
  return Divide(std::vector<uint64_t>(parts, 1));
}

}  // namespace eris::balancer
