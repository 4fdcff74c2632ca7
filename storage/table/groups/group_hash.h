// Mixes words to hashes, for groups. Not from the paper.
#ifndef ERIS_STORAGE_TABLE_GROUP_HASH_H_
#define ERIS_STORAGE_TABLE_GROUP_HASH_H_

#include <cstdint>

#include "storage/table/kernels/exact_number.h"

namespace eris::storage {

inline uint64_t MixForGroups(uint64_t hash, uint64_t word) {
  const Uint128 product = Uint128{(hash ^ word) * 0x9e37'79b9'7f4a'7c15} * 0xd6e8'feb8'6659'fd93;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_HASH_H_
