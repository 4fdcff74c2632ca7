#include "routing/ranges/split_kernels.h"

#include <algorithm>

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns of undefined registers in its own header.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <bit>
#endif

namespace eris::routing {

namespace {

void CountScalar(std::span<const uint64_t> keys, std::span<const uint64_t> starts,
                 uint8_t* range_of, std::span<uint32_t> counts) {
  std::fill(counts.begin(), counts.end(), 0);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), keys[i]);
    const auto range = static_cast<uint8_t>(after - starts.begin() - 1);
    if (range_of != nullptr) range_of[i] = range;
    ++counts[range];
  }
}

template <bool kValues, bool kPositions>
void Scatter(const KeyColumns& from, const uint8_t* range_of, KeyColumnsOut* const* to) {
  for (size_t i = 0; i < from.count; ++i) {
    KeyColumnsOut& out = *to[range_of[i]];
    const size_t at = out.count++;
    out.keys[at] = from.keys[i];
    if constexpr (kValues) out.values[at] = from.values[i];
    out.positions[at] =
        kPositions ? from.positions[i] : from.first_position + static_cast<uint32_t>(i);
  }
}

void GatherScalar(const KeyColumns& from, uint64_t first, uint64_t last, const KeyColumnsOut& to) {
  size_t out = 0;
  for (size_t i = 0; i < from.count; ++i) {
    if (from.keys[i] < first || from.keys[i] > last) continue;
    to.keys[out] = from.keys[i];
    if (from.values != nullptr) to.values[out] = from.values[i];
    to.positions[out] = from.positions != nullptr ? from.positions[i]
                                                  : from.first_position + static_cast<uint32_t>(i);
    ++out;
  }
}

#if defined(__x86_64__)

[[gnu::target("avx512f")]] bool AllInsideAvx512(std::span<const uint64_t> keys, uint64_t first,
                                                uint64_t last) {
  const __m512i low = _mm512_set1_epi64(static_cast<int64_t>(first));
  const __m512i width = _mm512_set1_epi64(static_cast<int64_t>(last - first));
  const size_t n = keys.size();
  uint32_t outside = 0;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m512i offset = _mm512_sub_epi64(_mm512_loadu_si512(keys.data() + i), low);
    outside |= _mm512_cmpgt_epu64_mask(offset, width);
  }
  const auto there = static_cast<__mmask8>((1u << (n - i)) - 1);
  const __m512i offset = _mm512_sub_epi64(_mm512_maskz_loadu_epi64(there, keys.data() + i), low);
  return (outside | _mm512_mask_cmpgt_epu64_mask(there, offset, width)) == 0;
}

// Only counts: one pass over the keys for each start, in registers.
[[gnu::target("avx512f,popcnt")]] void CountAvx512(std::span<const uint64_t> keys,
                                                   std::span<const uint64_t> starts,
                                                   std::span<uint32_t> counts) {
  const size_t n = keys.size();
  counts[0] = static_cast<uint32_t>(n);
  for (size_t range = 1; range < starts.size(); ++range) {
    const __m512i start = _mm512_set1_epi64(static_cast<int64_t>(starts[range]));
    size_t above = 0;
    for (size_t i = 0; i < n; i += 8) {
      const auto there = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
      above += std::popcount(uint32_t{_mm512_mask_cmpge_epu64_mask(
          there, _mm512_maskz_loadu_epi64(there, keys.data() + i), start)});
    }
    counts[range] = static_cast<uint32_t>(above);
  }
  for (size_t range = 0; range + 1 < starts.size(); ++range) counts[range] -= counts[range + 1];
}

[[gnu::target("avx512f,popcnt")]] void CountAvx512(std::span<const uint64_t> keys,
                                                   std::span<const uint64_t> starts,
                                                   uint8_t* range_of, std::span<uint32_t> counts) {
  // First counts the keys at or above each start; the difference of neighbours is the number
  // between them.
  const size_t n = keys.size();
  const size_t ranges = starts.size();
  std::fill(counts.begin(), counts.end(), 0);
  counts[0] = static_cast<uint32_t>(n);
  const __m512i one = _mm512_set1_epi64(1);
  for (size_t i = 0; i < n; i += 8) {
    const auto there = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
    const __m512i key = _mm512_maskz_loadu_epi64(there, keys.data() + i);
    __m512i range = _mm512_setzero_si512();
    for (size_t j = 1; j < ranges; ++j) {
      const __mmask8 above = _mm512_mask_cmpge_epu64_mask(
          there, key, _mm512_set1_epi64(static_cast<int64_t>(starts[j])));
      range = _mm512_mask_add_epi64(range, above, range, one);
      counts[j] += static_cast<uint32_t>(std::popcount(uint32_t{above}));
    }
    _mm_storel_epi64(reinterpret_cast<__m128i*>(range_of + i), _mm512_cvtepi64_epi8(range));
  }
  for (size_t j = 0; j + 1 < ranges; ++j) counts[j] -= counts[j + 1];
}

template <bool kValues, bool kPositions>
[[gnu::target("avx512f,avx512vl,popcnt")]] void Gather(const KeyColumns& from, uint64_t first,
                                                       uint64_t last, const KeyColumnsOut& to) {
  const __m512i low = _mm512_set1_epi64(static_cast<int64_t>(first));
  const __m512i high = _mm512_set1_epi64(static_cast<int64_t>(last));
  __m256i numbers = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(from.first_position)),
                                     _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  size_t out = 0;
  for (size_t i = 0; i < from.count; i += 8) {
    const size_t left = from.count - i;
    const auto there = static_cast<__mmask8>(left >= 8 ? 0xff : (1u << left) - 1);
    const __m512i keys = _mm512_maskz_loadu_epi64(there, from.keys + i);
    const __mmask8 inside =
        _mm512_mask_cmple_epu64_mask(_mm512_mask_cmpge_epu64_mask(there, keys, low), keys, high);
    const auto count = static_cast<size_t>(std::popcount(uint32_t{inside}));
    const __m512i keys_out = _mm512_maskz_compress_epi64(inside, keys);
    const __m256i positions =
        kPositions ? _mm256_maskz_loadu_epi32(there, from.positions + i) : numbers;
    const __m256i positions_out = _mm256_maskz_compress_epi32(inside, positions);
    __m512i values_out{};
    if constexpr (kValues) {
      values_out =
          _mm512_maskz_compress_epi64(inside, _mm512_maskz_loadu_epi64(there, from.values + i));
    }
    if (out + 8 <= to.count) {
      // Whole vectors: surplus elements are overwritten by the next one.
      _mm512_storeu_si512(to.keys + out, keys_out);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.positions + out), positions_out);
      if constexpr (kValues) _mm512_storeu_si512(to.values + out, values_out);
    } else {
      const auto some = static_cast<__mmask8>((1u << count) - 1);
      _mm512_mask_storeu_epi64(to.keys + out, some, keys_out);
      _mm256_mask_storeu_epi32(to.positions + out, some, positions_out);
      if constexpr (kValues) _mm512_mask_storeu_epi64(to.values + out, some, values_out);
    }
    out += count;
    numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8));
  }
}

void GatherAvx512(const KeyColumns& from, uint64_t first, uint64_t last, const KeyColumnsOut& to) {
  if (from.values != nullptr) {
    from.positions != nullptr ? Gather<true, true>(from, first, last, to)
                              : Gather<true, false>(from, first, last, to);
  } else {
    from.positions != nullptr ? Gather<false, true>(from, first, last, to)
                              : Gather<false, false>(from, first, last, to);
  }
}

#endif

}  // namespace

bool SplitsByVector() {
#if defined(__x86_64__)
  static const bool can = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
  return can;
#else
  return false;
#endif
}

bool AllInside(std::span<const uint64_t> keys, uint64_t first, uint64_t last) {
#if defined(__x86_64__)
  if (SplitsByVector()) return AllInsideAvx512(keys, first, last);
#endif
  bool inside = true;  // branch-free
  for (const uint64_t key : keys) inside &= key - first <= last - first;
  return inside;
}

void CountByRange(std::span<const uint64_t> keys, std::span<const uint64_t> starts,
                  uint8_t* range_of, std::span<uint32_t> counts) {
#if defined(__x86_64__)
  if (SplitsByVector()) {
    return range_of == nullptr ? CountAvx512(keys, starts, counts)
                               : CountAvx512(keys, starts, range_of, counts);
  }
#endif
  CountScalar(keys, starts, range_of, counts);
}

void GatherRange(const KeyColumns& from, uint64_t first, uint64_t last, const KeyColumnsOut& to) {
#if defined(__x86_64__)
  if (SplitsByVector()) return GatherAvx512(from, first, last, to);
#endif
  GatherScalar(from, first, last, to);
}

void ScatterByRange(const KeyColumns& from, const uint8_t* range_of, KeyColumnsOut* const* to) {
  if (from.values != nullptr) {
    from.positions != nullptr ? Scatter<true, true>(from, range_of, to)
                              : Scatter<true, false>(from, range_of, to);
  } else {
    from.positions != nullptr ? Scatter<false, true>(from, range_of, to)
                              : Scatter<false, false>(from, range_of, to);
  }
}

}  // namespace eris::routing
