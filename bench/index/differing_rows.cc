#include <cstddef>
#include <cstdint>

#include "bench/index/probes.h"

namespace eris::bench {
namespace {

[[gnu::always_inline]] inline uint64_t Plain(const uint64_t* keys, const uint64_t* values,
                                             size_t rows) {
  uint64_t differing = 0;
  for (size_t i = 0; i < rows; ++i) differing |= Differing(keys[i], values[i]);
  return differing;
}
[[gnu::target("avx2")]] uint64_t Avx2(const uint64_t* keys, const uint64_t* values, size_t rows) {
  return Plain(keys, values, rows);
}

}  // namespace

uint64_t DifferingRows(const uint64_t* keys, const uint64_t* values, size_t rows) {
  static const bool avx2 = __builtin_cpu_supports("avx2");
  return avx2 ? Avx2(keys, values, rows) : Plain(keys, values, rows);
}

}  // namespace eris::bench
