// Keys of the benchmarks: distinct without a table, in any order without a shuffle.
#ifndef ERIS_BENCH_KEY_ORDER_H_
#define ERIS_BENCH_KEY_ORDER_H_

#include <cstdint>

namespace eris::bench {

// A bijection of 64-bit numbers that looks random (splitmix64's finalizer).
constexpr uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The i-th of `keys` keys: 0 .. keys-1 (dense), or spread over all 64 bits (sparse).
constexpr uint64_t KeyAt(uint64_t i, bool sparse) { return sparse ? Mix(i) : i; }

// The i-th step of a random walk over 0 .. count-1, with repetitions. `count` is at most 2^32.
constexpr uint64_t WalkAt(uint64_t i, uint64_t count) { return ((Mix(~i) >> 32) * count) >> 32; }

// The i-th of a permutation of 0 .. count-1. `count` is a power of two.
constexpr uint64_t PermutedAt(uint64_t i, uint64_t count) {
  const uint64_t mask = count - 1;
  i = (i * 0x9e3779b97f4a7c15) & mask;  // odd: a bijection of the low bits
  i ^= i >> 9;                          // and so is this
  return (i * 0xbf58476d1ce4e5b9) & mask;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_KEY_ORDER_H_
