// The reply columns of a batch of lookups in a table: an array for each requested column, written
// by several AEUs at the positions of their own keys. Owned by the request.
#ifndef ERIS_STORAGE_TABLE_OUTPUT_COLUMNS_H_
#define ERIS_STORAGE_TABLE_OUTPUT_COLUMNS_H_

#include <cstdint>
#include <span>

namespace eris::storage {

struct OutputColumn {
  uint32_t column = 0;  // index in the table
  // One value per key. For strings a u64 word each (byte_value.h), whose record is in the batch
  // part's bytes_out.
  void* values = nullptr;
  uint8_t* valid = nullptr;  // a byte per key: 1 where the value is not null
};

struct OutputColumns {
  std::span<const OutputColumn> columns{};
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_OUTPUT_COLUMNS_H_
