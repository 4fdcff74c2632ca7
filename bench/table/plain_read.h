// The machine's limit: one pass over an array with only a load per vector.
#ifndef ERIS_BENCH_TABLE_PLAIN_READ_H_
#define ERIS_BENCH_TABLE_PLAIN_READ_H_

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns of undefined registers in its own header.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#endif

namespace eris::bench {

// For a number of `words` that is a multiple of 64. The exclusive or keeps the loads alive.
inline uint64_t PlainReadScalar(const uint64_t* words, size_t count) {
  uint64_t all = 0;
  for (size_t i = 0; i < count; ++i) all ^= words[i];
  return all;
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] inline uint64_t PlainReadAvx512(const uint64_t* words, size_t count) {
  __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
  for (size_t i = 0; i < count; i += 64) {
    const auto* const at = reinterpret_cast<const char*>(words + i);
    for (int line = 0; line < 8; ++line) __builtin_prefetch(at + 2048 + 64 * line);
    a = _mm512_xor_si512(a, _mm512_load_si512(at));
    b = _mm512_xor_si512(b, _mm512_load_si512(at + 64));
    c = _mm512_xor_si512(c, _mm512_load_si512(at + 128));
    d = _mm512_xor_si512(d, _mm512_load_si512(at + 192));
    a = _mm512_xor_si512(a, _mm512_load_si512(at + 256));
    b = _mm512_xor_si512(b, _mm512_load_si512(at + 320));
    c = _mm512_xor_si512(c, _mm512_load_si512(at + 384));
    d = _mm512_xor_si512(d, _mm512_load_si512(at + 448));
  }
  alignas(64) uint64_t lanes[8];
  _mm512_store_si512(lanes, _mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d)));
  uint64_t all = 0;
  for (const uint64_t lane : lanes) all ^= lane;
  return all;
}
#endif

inline uint64_t PlainRead(const uint64_t* words, size_t count) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return PlainReadAvx512(words, count);
#endif
  return PlainReadScalar(words, count);
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_TABLE_PLAIN_READ_H_
