// The simulation's source of decisions: small, fast, the same on every machine (SplitMix64).
#ifndef ERIS_TESTS_SIM_RANDOM_H_
#define ERIS_TESTS_SIM_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace eris::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, bound); bound > 0. The bias is far below anything that a schedule could notice.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }
  // True once in `n` times.
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  template <class T>
  const T& Of(std::span<const T> choices) {
    return choices[Below(choices.size())];
  }
  template <class T, size_t n>
  const T& Of(const T (&choices)[n]) {
    return choices[Below(n)];
  }

 private:
  uint64_t state_;
};

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_RANDOM_H_
