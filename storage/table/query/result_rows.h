// The output rows of a scan: columns in Arrow's layout in memory of a fixed size, which the reader
// of the scan owns.
#ifndef ERIS_STORAGE_TABLE_RESULT_ROWS_H_
#define ERIS_STORAGE_TABLE_RESULT_ROWS_H_

#include <cstdint>
#include <span>

#include "eris/schema.h"

namespace eris::storage {

struct ResultColumn {
  ColumnType type = ColumnType::kInt64;
  void* values = nullptr;        // room for `capacity` values; for strings bytes_max bytes
  uint64_t* validity = nullptr;  // room for `capacity` bits; written even if no row is null
  uint32_t* offsets = nullptr;   // for strings: capacity + 1; offsets[0] is 0
  uint32_t bytes_max = 0;        // for strings
  bool any_null = false;         // set by the writer
};

struct ResultRows {
  std::span<ResultColumn> columns{};
  uint32_t capacity = 0;
  uint32_t rows = 0;  // filled
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_RESULT_ROWS_H_
