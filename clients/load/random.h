// Random numbers of a load: splitmix64, in which each number depends only on its index, so a loop
// over a batch has no dependency chain. One thread.
#ifndef ERIS_CLIENTS_LOAD_RANDOM_H_
#define ERIS_CLIENTS_LOAD_RANDOM_H_

#include <cstdint>

// On x86-64 a loop with this mark is compiled for AVX-512 too, and that version runs if the machine
// supports it: it multiplies eight 64-bit words at once. Sanitizers cannot follow the dispatch.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(ERIS_ASAN) && \
    !defined(ERIS_TSAN)
#define ERIS_LOAD_WIDE __attribute__((target_clones("arch=x86-64-v4", "default"), optimize("O3")))
#else
#define ERIS_LOAD_WIDE
#endif

namespace eris::load {

// A bijection on 64 bits (splitmix64's finalizer): distinct numbers stay distinct.
constexpr uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A random word as a number in [0, 1), in steps of 2^-53.
constexpr double ToUnit(uint64_t random) {
  // Signed: machines without AVX-512 convert those in one step.
  return static_cast<double>(static_cast<int64_t>(random >> 11)) * 0x1p-53;
}
// A random word as a number below `limit`, which is at most 2^62. Beyond 2^53 not all numbers
// occur.
constexpr uint64_t ToBelow(uint64_t random, double limit) {
  return static_cast<uint64_t>(static_cast<int64_t>(ToUnit(random) * limit));
}

// The purposes of a generator's random numbers: each has its own sequence, otherwise they would
// depend on each other.
enum class Draws : uint64_t { kKeys, kKinds, kArrivals };
// For generator `index` of a run, below 4096.
constexpr uint64_t SeedOf(uint64_t seed, uint32_t index, Draws draws) {
  return Mix(seed * 4096 + index) + static_cast<uint64_t>(draws);
}

class Random {
 public:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;

  // Different seeds give unrelated numbers.
  explicit Random(uint64_t seed) : state_(Mix(seed * kStep + 1)) {}

  uint64_t Next() { return Mix(state_ += kStep); }
  double Unit() { return ToUnit(Next()); }
  // Below `limit`, which is at least 1 and at most 2^53.
  uint64_t Below(uint64_t limit) { return ToBelow(Next(), static_cast<double>(limit)); }

  // The next `count` numbers are Mix(base + i * kStep) for i = 1 .. count; returns base.
  uint64_t Take(uint64_t count) {
    const uint64_t base = state_;
    state_ += count * kStep;
    return base;
  }

 private:
  uint64_t state_;
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_RANDOM_H_
