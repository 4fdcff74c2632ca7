// The cumulative load of a data object along its keys: the load below a key, and the keys that
// divide it into equal parts. Within a sub-range the load counts as evenly spread. Integers only,
// so that a plan is the same on every machine. Immutable after construction; any thread. Paper:
// ERIS 3.3.1.
#ifndef ERIS_BALANCER_LOAD_CURVE_H_
#define ERIS_BALANCER_LOAD_CURVE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/load/load_sample.h"

namespace eris::balancer {

// A place between keys; 2^64 is the end of the key space.
__extension__ typedef unsigned __int128 Position;
inline constexpr Position kEndOfKeys = Position{1} << 64;

class LoadCurve {
 public:
  // A boundary may be anywhere in [first, last]: the keys between are not accessed.
  struct Boundary {
    Position first;
    Position last;
  };

  // REQUIRES: the sample is as load_sample.h describes it and has a partition.
  explicit LoadCurve(const LoadSample& sample);

  Position begin() const { return pieces_.front().begin; }
  Position end() const { return pieces_.back().end; }
  // The whole load, multiplied by a power of two so that it is below and near kTotalMax; 0 without
  // load.
  uint64_t total() const { return below_.back(); }
  // The load of keys below `position`, in the same scale. REQUIRES: begin() <= position <= end().
  uint64_t Below(Position position) const;

  // The boundaries that cut the load into parts proportional to shares[0], shares[1], ...: one
  // fewer than shares, ascending, not always strictly. The load of one key above the largest share
  // cannot be divided, so it is not counted, and the parts share the rest. Near hot keys, no part
  // exceeds its share more than necessary. REQUIRES: 1 to kPartsMax shares that sum up to 1 to
  // kTotalMax; total() > 0. O(pieces + shares log pieces).
  std::vector<Boundary> Divide(absl::Span<const uint64_t> shares) const;
  // Into equal parts.
  std::vector<Boundary> Divide(uint32_t parts) const;

  // With these two every product fits in 128 bits.
  static constexpr uint64_t kTotalMax = uint64_t{1} << 47;
  static constexpr uint32_t kPartsMax = 1u << 16;

 private:
  // Keys [begin, end), never empty, with evenly spread load.
  struct Piece {
    Position begin;
    Position end;
    uint64_t weight = 0;
  };
  void AddPartition(const PartitionSample& partition, std::vector<Position>& raw_weights);
  void Scale(const std::vector<Position>& raw_weights);
  std::vector<uint64_t> DivisibleWeights(uint64_t largest_share, uint64_t shares_sum) const;

  std::vector<Piece> pieces_;    // ascending, without gaps
  std::vector<uint64_t> below_;  // below_[i]: load of the pieces before i; one more than pieces
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_LOAD_CURVE_H_
