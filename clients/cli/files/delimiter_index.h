// Where the fields of delimited text end: the first of the two passes over a file that is imported
// into a table. Sixteen bytes at a time. Pure; any thread.
#ifndef ERIS_CLIENTS_CLI_FILES_DELIMITER_INDEX_H_
#define ERIS_CLIENTS_CLI_FILES_DELIMITER_INDEX_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace eris::cli {

// Bytes behind the text that IndexDelimiters reads, whatever they are.
inline constexpr size_t kIndexPadBytes = 64;

namespace internal {

// Bit i: block[i] is one of the three. Of 64 bytes.
inline uint64_t MatchBlock(const char* block, char a, char b, char c) {
#if defined(__SSE2__)
  const __m128i as = _mm_set1_epi8(a), bs = _mm_set1_epi8(b), cs = _mm_set1_epi8(c);
  uint64_t mask = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * i));
    const __m128i match = _mm_or_si128(
        _mm_cmpeq_epi8(text, as), _mm_or_si128(_mm_cmpeq_epi8(text, bs), _mm_cmpeq_epi8(text, cs)));
    mask |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(match))) << (16 * i);
  }
  return mask;
#else
  uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) {
    mask |= static_cast<uint64_t>(block[i] == a || block[i] == b || block[i] == c) << i;
  }
  return mask;
#endif
}

}  // namespace internal

// Writes the places in text[from .. to) of `delimiter`, line ends and, where `quotes`, double
// quotes, ascending. Returns how many. Shapes: `places` has room for to - from + 8.
// REQUIRES: kIndexPadBytes readable bytes behind text[to].
inline size_t IndexDelimiters(const char* text, size_t from, size_t to, char delimiter, bool quotes,
                              uint32_t* places) {
  const char quote = quotes ? '"' : '\n';
  uint32_t* out = places;
  for (size_t at = from; at < to; at += 64) {
    uint64_t mask = internal::MatchBlock(text + at, delimiter, '\n', quote);
    if (to - at < 64) mask &= (uint64_t{1} << (to - at)) - 1;
    const auto base = static_cast<uint32_t>(at);
    uint32_t* const end = out + std::popcount(mask);
    // Four at a time, whether there are so many: what is too much is written over.
    while (mask != 0) {
      for (int i = 0; i < 4; ++i) {
        out[i] = base + static_cast<uint32_t>(std::countr_zero(mask));
        mask &= mask - 1;
      }
      out += 4;
    }
    out = end;
  }
  return static_cast<size_t>(out - places);
}

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_DELIMITER_INDEX_H_
