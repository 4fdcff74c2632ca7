// Keys, values, and probes of two distributions for the index benchmark. All of it is made before
// measuring.
#ifndef ERIS_BENCH_INDEX_PROBES_H_
#define ERIS_BENCH_INDEX_PROBES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/key_order.h"

namespace eris::bench {

// Keys of one measured block, which is also the largest batch.
inline constexpr size_t kBlockKeys = 65536;

// 0 .. count-1 (dense), or spread over all 64 bits (sparse).
struct KeySpace {
  uint64_t count = 0;  // a power of two
  bool sparse = false;

  uint64_t KeyOfRank(uint64_t rank) const { return KeyAt(rank, sparse); }
  // The i-th key in the random order of insertion.
  uint64_t Shuffled(uint64_t i) const { return KeyOfRank(PermutedAt(i, count)); }
  std::vector<uint64_t> Sorted() const {
    std::vector<uint64_t> keys(count);
    for (uint64_t i = 0; i < count; ++i) keys[i] = KeyOfRank(i);
    if (sparse) std::sort(keys.begin(), keys.end());
    return keys;
  }
};

// A value is derived from its key, so that a wrong one is detected; the upper byte identifies the
// write.
inline constexpr int kVersionShift = 56;
constexpr uint64_t ValueOf(uint64_t key, uint64_t version = 0) {
  constexpr uint64_t kRest = (uint64_t{1} << kVersionShift) - 1;
  return ((key ^ 0x5555555555555555) & kRest) | version << kVersionShift;
}
// Bits in which a value differs from any version of the key's value. Results are or-ed.
constexpr uint64_t Differing(uint64_t key, uint64_t value) {
  return (ValueOf(key) ^ value) << (64 - kVersionShift);
}
// The same for `rows` rows.
uint64_t DifferingRows(const uint64_t* keys, const uint64_t* values, size_t rows);

// Ranks 0 .. n-1, the first the most frequent: after Gray et al., "Quickly generating
// billion-record synthetic databases". Beyond the first ranks the sum is an integral.
class Zipf {
 public:
  static constexpr double kTheta = 0.99;

  explicit Zipf(uint64_t count)
      : count_(static_cast<double>(count)),
        sum_(SumTo(count)),
        eta_((1 - std::pow(2 / count_, 1 - kTheta)) / (1 - SumTo(2) / sum_)) {}
  uint64_t RankAt(uint64_t random) const {
    const double u = static_cast<double>(random >> 11) * 0x1p-53;
    if (u * sum_ < 1) return 0;
    if (u * sum_ < SumTo(2)) return 1;
    const double rank = count_ * std::pow(eta_ * u - eta_ + 1, 1 / (1 - kTheta));
    return static_cast<uint64_t>(std::min(rank, count_ - 1));
  }

 private:
  static double SumTo(uint64_t count) {
    const uint64_t exact = std::min<uint64_t>(count, 1000);
    double sum = 0;
    for (uint64_t i = 1; i <= exact; ++i) sum += std::pow(static_cast<double>(i), -kTheta);
    const auto power = [](uint64_t i) { return std::pow(static_cast<double>(i), 1 - kTheta); };
    return sum + (power(count) - power(exact)) / (1 - kTheta);
  }

  const double count_;
  const double sum_;
  const double eta_;
};

// Existing keys, in random order with repetitions, in blocks; more than a cache holds, unless there
// are few keys. Endless: starts over after the last.
class Probes {
 public:
  Probes(const KeySpace& space, bool zipf, uint64_t seed)
      : keys_(std::clamp<size_t>(16 * space.count, kBlockKeys, kProbesMax)) {
    const Zipf distribution(space.count);
    for (uint64_t i = 0; i < keys_.size(); ++i) {
      const uint64_t random = Mix(Mix(seed) + i);
      const uint64_t rank =
          zipf ? PermutedAt(distribution.RankAt(random), space.count) : random & (space.count - 1);
      keys_[i] = space.KeyOfRank(rank);
    }
  }
  const uint64_t* NextBlock() {
    const uint64_t* const block = &keys_[next_];
    next_ = (next_ + kBlockKeys) % keys_.size();
    return block;
  }

 private:
  // Both are powers of two, like the number of keys: whole blocks.
  static constexpr size_t kProbesMax = 8 << 20;
  static_assert(kProbesMax % kBlockKeys == 0);
  std::vector<uint64_t> keys_;
  size_t next_ = 0;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_INDEX_PROBES_H_
