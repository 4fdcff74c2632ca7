// How many groups one run may have. Beyond a limit it ends with OutOfRange. Plain data.
#ifndef ERIS_STORAGE_TABLE_GROUP_LIMITS_H_
#define ERIS_STORAGE_TABLE_GROUP_LIMITS_H_

#include <cstdint>

#include "eris/query.h"

namespace eris::storage {

struct GroupLimits {
  uint64_t groups = kGroupsMax;
  uint64_t text_bytes = uint64_t{64} << 20;  // of all strings among the keys
  uint64_t cell_bytes = uint64_t{64} << 20;  // of the aggregates of all groups
};
// What memory allows, and a number of 32 bits counts.
inline constexpr GroupLimits kNoGroupLimits{uint64_t{1} << 31, uint64_t{1} << 31, ~uint64_t{0}};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_LIMITS_H_
