// What rows take of memory, and where. Plain data.
#ifndef ERIS_STORAGE_ROW_BYTES_H_
#define ERIS_STORAGE_ROW_BYTES_H_

#include <cstdint>

namespace eris::storage {

// The size classes of their blocks.
struct RowBytes {
  uint64_t all = 0;
  uint64_t remote = 0;  // part of all: on other NumaNodes than their AEU's
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_ROW_BYTES_H_
