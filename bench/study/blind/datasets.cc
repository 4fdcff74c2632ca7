#include "bench/study/blind/datasets.h"

#include <algorithm>
#include <cmath>

#include "bench/key_order.h"
#include "bench/routing/machine.h"

namespace eris::bench::study {
namespace {

// Streams of random numbers of one seed.
enum Stream : uint64_t { kKeys = 1, kValues = 2, kPrimaryValues = 3 };

uint64_t RandomAt(uint64_t seed, Stream stream, uint64_t i) {
  return Mix(Mix(Mix(seed) + stream) + i);
}
// In [0, 1).
double UnitOf(uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

uint64_t Scaled(double count, double scale) {
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(count * scale)));
}

}  // namespace

Distribution DistributionOf(const std::string& name) {
  if (name == "moving-cluster") return Distribution::kMovingCluster;
  if (name == "sequential") return Distribution::kSequential;
  if (name == "zipf") return Distribution::kZipf;
  Die("no data set " + name);
}

Sizes Sizes::OfGroups(double scale) { return {Scaled(100e6, scale), Scaled(1e6, scale)}; }
Sizes Sizes::OfJoin(double scale) { return {16 * Scaled(16e6, scale), Scaled(16e6, scale)}; }

Dataset::Dataset(Distribution distribution, Sizes sizes, uint64_t seed)
    : distribution_(distribution), sizes_(sizes), seed_(seed) {
  if (distribution != Distribution::kZipf) return;
  up_to_rank_.resize(sizes_.keys);
  double sum = 0;
  for (uint64_t rank = 0; rank < sizes_.keys; ++rank) {
    sum += std::pow(static_cast<double>(rank + 1), -kZipfExponent);
    up_to_rank_[rank] = sum;
  }
  for (double& one : up_to_rank_) one /= sum;
  guide_.resize(sizes_.keys + 1);
  uint32_t rank = 0;
  for (uint64_t step = 0; step <= sizes_.keys; ++step) {
    const double probability = static_cast<double>(step) / static_cast<double>(sizes_.keys);
    while (rank + 1 < sizes_.keys && up_to_rank_[rank] <= probability) ++rank;
    guide_[step] = rank;
  }
}

Record Dataset::PrimaryAt(uint64_t key) const {
  return {key, RandomAt(seed_, kPrimaryValues, key) >> 33};
}

uint64_t Dataset::ValueAt(uint64_t i) const { return RandomAt(seed_, kValues, i) >> 33; }

uint64_t Dataset::KeyAt(uint64_t i) const {
  const double unit = UnitOf(RandomAt(seed_, kKeys, i));
  switch (distribution_) {
    case Distribution::kSequential:
      return static_cast<uint64_t>(static_cast<__uint128_t>(i) * sizes_.keys / sizes_.records);
    case Distribution::kMovingCluster: {
      const uint64_t window = std::min(kWindowKeys, sizes_.keys);
      const auto begin = static_cast<uint64_t>(static_cast<__uint128_t>(i) *
                                               (sizes_.keys - window + 1) / sizes_.records);
      return begin + static_cast<uint64_t>(unit * static_cast<double>(window));
    }
    case Distribution::kZipf:
      return ZipfRank(unit);
  }
  return 0;
}

// The least rank, from 0, up to which the sum of the probabilities is above `probability`.
uint64_t Dataset::ZipfRank(double probability) const {
  const auto step = static_cast<uint64_t>(probability * static_cast<double>(sizes_.keys));
  const auto begin = up_to_rank_.begin() + guide_[step];
  const auto end = up_to_rank_.begin() + guide_[step + 1] + 1;
  const auto found = std::upper_bound(begin, end, probability);
  return std::min<uint64_t>(found - up_to_rank_.begin(), sizes_.keys - 1);
}

}  // namespace eris::bench::study
