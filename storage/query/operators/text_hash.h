// A hash of strings, eight bytes at a time through a full-width product. Pure functions.
#ifndef ERIS_STORAGE_QUERY_TEXT_HASH_H_
#define ERIS_STORAGE_QUERY_TEXT_HASH_H_

#include <cstdint>
#include <cstring>
#include <string_view>

#include "storage/table/kernels/exact_number.h"

namespace eris::storage {

inline uint64_t FoldProduct(uint64_t a, uint64_t b) {
  const Uint128 product = Uint128{a} * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t HashText(std::string_view text, uint64_t seed) {
  constexpr uint64_t kMultiplier = 0x9e37'79b9'7f4a'7c15;
  uint64_t hash = seed ^ (text.size() * 0xbf58'476d'1ce4'e5b9);
  uint64_t word = 0;
  for (; text.size() > sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    hash = FoldProduct(hash ^ word, kMultiplier);
  }
  word = 0;
  if (!text.empty()) std::memcpy(&word, text.data(), text.size());
  return FoldProduct(hash ^ word, kMultiplier);
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_TEXT_HASH_H_
