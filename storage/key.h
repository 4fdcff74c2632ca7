// Keys inside the engine: order-preserving bytes, compared like memcmp. A u64 key is its eight
// bytes most significant first, so integers and bytes have the same order; two-part keys are two
// words.
#ifndef ERIS_STORAGE_KEY_H_
#define ERIS_STORAGE_KEY_H_

#include <compare>
#include <cstdint>
#include <optional>

#include "eris/types.h"

namespace eris::storage {

// A boundary: the first 8 bytes as a big-endian number in `head`, the next 8 in `tail` (0 for keys
// of 8 bytes).
struct Key {
  uint64_t head = 0;
  uint64_t tail = 0;
  friend constexpr auto operator<=>(const Key&, const Key&) = default;

  static constexpr Key FromU64(uint64_t key) { return {key, 0}; }
};

// [lo, hi); without hi, to the end of the key space.
struct Range {
  Key lo;
  std::optional<Key> hi;

  constexpr bool Contains(const Key& key) const { return key >= lo && (!hi || key < *hi); }
  // The fast path for 8-byte keys (tail 0 everywhere).
  constexpr bool ContainsU64(uint64_t key) const {
    return key >= lo.head && (!hi || key < hi->head);
  }
  constexpr bool Empty() const { return hi && *hi <= lo; }
  friend bool operator==(const Range&, const Range&) = default;

  static constexpr Range FromPublic(const KeyRange& range) {
    Range result{Key::FromU64(range.lo), std::nullopt};
    result.lo.tail = range.lo_second;
    if (range.hi) result.hi = Key{*range.hi, range.hi_second};
    return result;
  }
  KeyRange ToPublic() const {
    KeyRange result{.lo = lo.head, .hi = std::nullopt, .lo_second = lo.tail};
    if (hi) {
      result.hi = hi->head;
      result.hi_second = hi->tail;
    }
    return result;
  }
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_KEY_H_
