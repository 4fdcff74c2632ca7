// The keys and values of a load run: key and value are functions of a number, so that every answer
// can be checked, by any process and without a copy of the data. KeySet: any thread; KeyPicker:
// one.
#ifndef ERIS_BENCH_KEY_SET_H_
#define ERIS_BENCH_KEY_SET_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace eris::bench {

// A bijection on 64 bits (splitmix64's finalizer): distinct numbers stay distinct.
inline uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline uint64_t ValueOf(uint64_t key) { return Mix(key + 0x9e3779b97f4a7c15u); }

class KeySet {
 public:
  // Dense: 0 .. count-1. Sparse: spread over all 64 bits.
  KeySet(uint64_t count, bool sparse) : count_(count), sparse_(sparse) {}

  uint64_t count() const { return count_; }
  // Numbers from count() on give keys that are not in the set.
  uint64_t Key(uint64_t number) const { return sparse_ ? Mix(number + 1) : number; }

  // Bounds that give `partitions` partitions equal shares.
  std::vector<uint64_t> SplitPoints(uint32_t partitions) const {
    std::vector<uint64_t> points;
    for (uint32_t i = 1; i < partitions; ++i) {
      const double space = sparse_ ? std::ldexp(1.0, 64) : static_cast<double>(count_);
      const auto point = static_cast<uint64_t>(space * i / partitions);
      if (point > (points.empty() ? 0 : points.back())) points.push_back(point);
    }
    return points;
  }

 private:
  const uint64_t count_;
  const bool sparse_;
};

// What Zipf's distribution with parameter 0.99 needs for `count` numbers. Takes time O(count).
struct ZipfConstants {
  static constexpr double kTheta = 0.99;  // as YCSB has it
  explicit ZipfConstants(uint64_t count) {
    for (uint64_t i = 1; i <= count; ++i) zeta += std::pow(static_cast<double>(i), -kTheta);
    const double zeta_2 = 1 + std::pow(2.0, -kTheta);
    eta = (1 - std::pow(2.0 / static_cast<double>(count), 1 - kTheta)) / (1 - zeta_2 / zeta);
  }
  double zeta = 0;
  double eta = 0;
};

// Picks numbers below `count`: uniformly, or by Zipf (Gray et al., "Quickly generating
// billion-record synthetic databases", SIGMOD 1994).
class KeyPicker {
 public:
  KeyPicker(uint64_t count, std::optional<ZipfConstants> zipf, uint64_t seed)
      : count_(count), zipf_(zipf), random_(seed) {}

  uint64_t Next() {
    if (!zipf_) return Below(count_);
    constexpr double kTheta = ZipfConstants::kTheta;
    const double u = std::uniform_real_distribution<double>()(random_);
    const double uz = u * zipf_->zeta;
    if (uz < 1) return 0;
    if (uz < 1 + std::pow(0.5, kTheta)) return std::min<uint64_t>(1, count_ - 1);
    const double rank =
        static_cast<double>(count_) * std::pow(zipf_->eta * u - zipf_->eta + 1, 1 / (1 - kTheta));
    return std::min(static_cast<uint64_t>(rank), count_ - 1);
  }
  uint64_t Below(uint64_t limit) { return random_() % limit; }

 private:
  const uint64_t count_;
  const std::optional<ZipfConstants> zipf_;
  std::mt19937_64 random_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_KEY_SET_H_
