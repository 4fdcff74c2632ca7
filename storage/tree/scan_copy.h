// Copies rows into columns: the work of most scans, inline for the scanner (a call per run of about
// twenty rows would be measurable). Pure functions over plain memory.
#ifndef ERIS_STORAGE_TREE_SCAN_COPY_H_
#define ERIS_STORAGE_TREE_SCAN_COPY_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "storage/tree/scan_kernels.h"

namespace eris::storage::internal {

// The bits of those of a page's 64 rows that are in the piece.
inline uint64_t BitsOf(const ScanPiece& piece, unsigned word) {
  uint64_t bits = piece.page->bitmap[word];
  if (word == piece.first >> 6) bits &= ~uint64_t{0} << (piece.first & 63);
  if (word == piece.last >> 6) bits &= ~uint64_t{0} >> (63 - (piece.last & 63));
  return bits;
}

// Calls each(first byte, rows) for stretches of rows without a gap, within one word.
template <class Each>
void ForStretches(const ScanPiece& piece, Each each) {
  for (unsigned word = piece.first >> 6; word <= piece.last >> 6; ++word) {
    for (uint64_t bits = BitsOf(piece, word); bits != 0;) {
      const auto skip = static_cast<unsigned>(std::countr_zero(bits));
      const auto rows = static_cast<unsigned>(std::countr_one(bits >> skip));
      each(word * 64 + skip, rows);
      bits = skip + rows == 64 ? 0 : bits & ~uint64_t{0} << (skip + rows);
    }
  }
}

// Calls each(byte) for the rows of a page in the direction, until it returns false.
template <bool kBackward, class Each>
void ForBytes(const ScanPiece& piece, Each each) {
  const unsigned low = piece.first >> 6;
  const unsigned high = piece.last >> 6;
  for (unsigned i = low; i <= high; ++i) {
    const unsigned word = kBackward ? high - (i - low) : i;
    for (uint64_t bits = BitsOf(piece, word); bits != 0;) {
      const auto bit =
          static_cast<unsigned>(kBackward ? 63 - std::countl_zero(bits) : std::countr_zero(bits));
      bits ^= uint64_t{1} << bit;
      if (!each(word * 64 + bit)) return;
    }
  }
}

// Copies rows to columns, as many as are asked for.
template <bool kKeysOnly>
void CopyForward(const Pair* pairs, uint32_t count, uint64_t* keys, uint64_t* values) {
  uint32_t i = 0;
#ifdef __SSE2__
  for (; i + 2 <= count; i += 2) {
    const __m128i first = _mm_load_si128(reinterpret_cast<const __m128i*>(pairs + i));
    const __m128i second = _mm_load_si128(reinterpret_cast<const __m128i*>(pairs + i + 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(keys + i), _mm_unpacklo_epi64(first, second));
    if constexpr (!kKeysOnly) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(values + i), _mm_unpackhi_epi64(first, second));
    }
  }
#endif
  for (; i < count; ++i) {
    keys[i] = pairs[i].key;
    if constexpr (!kKeysOnly) values[i] = pairs[i].value;
  }
}

// Copies the last `count` of the pairs before `end`, the last one first. Reads upwards, because
// blocks are prefetched so and the processor's own prefetching expects it; writes downwards.
template <bool kKeysOnly>
void CopyBackward(const Pair* end, uint32_t count, uint64_t* keys, uint64_t* values) {
  const Pair* const from = end - count;
  uint64_t* const keys_end = keys + count;
  uint64_t* const values_end = kKeysOnly ? nullptr : values + count;
  uint32_t i = 0;
#ifdef __SSE2__
  for (; i + 2 <= count; i += 2) {
    const __m128i first = _mm_load_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m128i second = _mm_load_si128(reinterpret_cast<const __m128i*>(from + i + 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(keys_end - i - 2),
                     _mm_unpacklo_epi64(second, first));
    if constexpr (!kKeysOnly) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(values_end - i - 2),
                       _mm_unpackhi_epi64(second, first));
    }
  }
#endif
  for (; i < count; ++i) {
    *(keys_end - i - 1) = from[i].key;
    if constexpr (!kKeysOnly) *(values_end - i - 1) = from[i].value;
  }
}

template <bool kBackward, bool kKeysOnly>
uint32_t CopyPage(const ScanPiece& piece, uint64_t* keys, uint64_t* values, uint32_t room) {
  const TreePage* const page = piece.page;
  const uint64_t prefix = page->header.prefix;
  uint32_t rows = 0;
  if (piece.rows <= room) {
    ForStretches(piece, [&](unsigned byte, unsigned count) {
      if constexpr (kBackward) {
        uint64_t* const keys_end = keys + (piece.rows - rows);
        for (unsigned i = 0; i < count; ++i) *(keys_end - i - 1) = prefix | (byte + i);
        if constexpr (!kKeysOnly) {
          uint64_t* const values_end = values + (piece.rows - rows);
          for (unsigned i = 0; i < count; ++i) *(values_end - i - 1) = page->slots[byte + i];
        }
      } else {
        for (unsigned i = 0; i < count; ++i) keys[rows + i] = prefix | (byte + i);
        if constexpr (!kKeysOnly) {
          for (unsigned i = 0; i < count; ++i) values[rows + i] = page->slots[byte + i];
        }
      }
      rows += count;
    });
    return rows;
  }
  ForBytes<kBackward>(piece, [&](unsigned byte) {
    keys[rows] = prefix | byte;
    if constexpr (!kKeysOnly) values[rows] = page->slots[byte];
    return ++rows < room;
  });
  return rows;
}

template <bool kBackward, bool kKeysOnly>
uint32_t TakeAll(const ScanPiece& piece, const ScanQuery&, uint64_t* keys, uint64_t* values,
                 uint32_t room) {
  if (piece.page != nullptr) return CopyPage<kBackward, kKeysOnly>(piece, keys, values, room);
  const uint32_t rows = std::min(piece.rows, room);
  if constexpr (kBackward) {
    CopyBackward<kKeysOnly>(piece.pairs + piece.rows, rows, keys, values);
  } else {
    CopyForward<kKeysOnly>(piece.pairs, rows, keys, values);
  }
  return rows;
}

}  // namespace eris::storage::internal

#endif  // ERIS_STORAGE_TREE_SCAN_COPY_H_
