// Zipf's law with parameter 0.99, as in YCSB: rank 0 is the most frequent. After Gray et al.,
// "Quickly generating billion-record synthetic databases" (SIGMOD 1994). Immutable.
#ifndef ERIS_CLIENTS_LOAD_ZIPF_H_
#define ERIS_CLIENTS_LOAD_ZIPF_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "clients/load/random.h"

namespace eris::load {

class Zipf {
 public:
  static constexpr double kTheta = 0.99;

  // Ranks below `count`, which is at least 1 and at most 2^52.
  explicit Zipf(uint64_t count)
      : count_(static_cast<double>(count)),
        last_(count_ - 1),
        one_(std::min(1.0, last_)),
        zeta_(Zeta(count)),
        second_(1 + std::pow(2.0, -kTheta)),
        // For one and two keys the two comparisons determine every rank.
        eta_(count <= 2 ? 0 : (1 - std::pow(2 / count_, 1 - kTheta)) / (1 - second_ / zeta_)) {}

  // The sum of i^-kTheta for i = 1 .. count: rank 0 has a share of 1 / zeta.
  double zeta() const { return zeta_; }

  // The rank of a random word. No branch, so that loops over it vectorize.
  uint64_t Rank(uint64_t random) const {
    const double u = ToUnit(random);
    const double x = eta_ * u - eta_ + 1;
    // The law's exponent, 1 / (1 - kTheta), is 100.
    const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4, x16 = x8 * x8, x32 = x16 * x16;
    const double power = x4 * x32 * (x32 * x32);
    double rank = count_ * power;
    rank = rank < last_ ? rank : last_;
    const double uz = u * zeta_;
    rank = uz < second_ ? one_ : rank;
    rank = uz < 1 ? 0 : rank;
    return static_cast<uint64_t>(static_cast<int64_t>(rank));
  }

 private:
  // After this many terms the sum continues as an integral (Euler-Maclaurin): the error is below
  // 1e-11, and a billion keys take no more time than a million.
  static constexpr uint64_t kTermsMax = 1'000'000;

  static double Zeta(uint64_t count) {
    double sum = 0;
    const uint64_t terms = std::min(count, kTermsMax);
    for (uint64_t i = 1; i <= terms; ++i) sum += std::pow(static_cast<double>(i), -kTheta);
    if (terms == count) return sum;
    const auto from = static_cast<double>(terms), to = static_cast<double>(count);
    constexpr double kRest = 1 - kTheta;
    return sum + (std::pow(to, kRest) - std::pow(from, kRest)) / kRest +
           (std::pow(to, -kTheta) - std::pow(from, -kTheta)) / 2;
  }

  double count_, last_, one_;  // count, count - 1, and rank 1 (or the last rank), as doubles
  double zeta_, second_, eta_;
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_ZIPF_H_
