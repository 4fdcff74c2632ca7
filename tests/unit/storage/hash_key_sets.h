// Key sets that are hard on a hash: those of the tree tests, and what weak hashes fold together.
#ifndef ERIS_TESTS_UNIT_STORAGE_HASH_KEY_SETS_H_
#define ERIS_TESTS_UNIT_STORAGE_HASH_KEY_SETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {

enum class HashKeys {
  kDense,
  kSparse,
  kClustered,
  kOneByte,
  kExtremes,
  kMixed,
  kStride8,
  kStride2To20,
  kStride2To32,
  kStride2To44,
  kHighBits,
  kSameLow32,
  kTwoBits,
};

inline constexpr HashKeys kAllHashKeys[] = {
    HashKeys::kDense,       HashKeys::kSparse,      HashKeys::kClustered, HashKeys::kOneByte,
    HashKeys::kExtremes,    HashKeys::kMixed,       HashKeys::kStride8,   HashKeys::kStride2To20,
    HashKeys::kStride2To32, HashKeys::kStride2To44, HashKeys::kHighBits,  HashKeys::kSameLow32,
    HashKeys::kTwoBits};

inline std::string HashKeysName(HashKeys keys) {
  constexpr const char* kNames[] = {
      "Dense",       "Sparse",      "Clustered",   "OneByte",  "Extremes",  "Mixed",  "Stride8",
      "Stride2To20", "Stride2To32", "Stride2To44", "HighBits", "SameLow32", "TwoBits"};
  return kNames[static_cast<int>(keys)];
}

// About `count` keys, 0 and the largest among them; may repeat.
inline std::vector<uint64_t> HashKeyPool(HashKeys kind, size_t count, Random& random) {
  std::vector<uint64_t> keys = {0, kKeyMax};
  const auto strided = [&](unsigned shift) {
    for (uint64_t i = 0; i < count; ++i) keys.push_back(i << shift);
  };
  const auto append = [&](Keys tree_keys) {
    const std::vector<uint64_t> more = KeyPool(tree_keys, count, random);
    keys.insert(keys.end(), more.begin(), more.end());
  };
  switch (kind) {
    case HashKeys::kDense:
      append(Keys::kDense);
      break;
    case HashKeys::kSparse:
      append(Keys::kSparse);
      break;
    case HashKeys::kClustered:
      append(Keys::kClustered);
      break;
    case HashKeys::kOneByte:
      append(Keys::kOneByte);
      break;
    case HashKeys::kExtremes:
      append(Keys::kExtremes);
      append(Keys::kZerosAndOnes);
      break;
    case HashKeys::kMixed:
      append(Keys::kMixed);
      break;
    case HashKeys::kStride8:
      strided(3);
      break;
    case HashKeys::kStride2To20:
      strided(20);
      break;
    case HashKeys::kStride2To32:
      strided(32);
      break;
    case HashKeys::kStride2To44:
      strided(44);
      break;
    case HashKeys::kHighBits:  // a counter, most significant bit first
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t key = 0;
        for (unsigned bit = 0; bit < 32; ++bit) key |= ((i >> bit) & 1) << (63 - bit);
        keys.push_back(key);
      }
      break;
    case HashKeys::kSameLow32: {
      const uint64_t low = random() & 0xffffffff;
      for (uint64_t i = 0; i < count; ++i) keys.push_back((random() << 32) | low);
      break;
    }
    case HashKeys::kTwoBits:
      while (keys.size() < count) {
        const uint64_t base = random();
        for (unsigned i = 0; i < 64; ++i) {
          for (unsigned j = 0; j <= i; ++j) {
            keys.push_back(base ^ (uint64_t{1} << i) ^ (uint64_t{1} << j));
          }
        }
      }
      break;
  }
  return keys;
}

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_STORAGE_HASH_KEY_SETS_H_
