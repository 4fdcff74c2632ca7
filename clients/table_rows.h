// Rows of a table that their holder owns, in Arrow's layout: what clients send, and what scans
// bring. One thread at a time.
#ifndef ERIS_CLIENTS_TABLE_ROWS_H_
#define ERIS_CLIENTS_TABLE_ROWS_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/string_view.h"
#include "eris/schema.h"

namespace eris::client {

struct OwnedRows {
  uint64_t rows = 0;
  std::vector<ColumnBuffers> columns{};

  // REQUIRES, of all: column and row are there, and T is the type's.
  bool IsNull(size_t column, uint64_t row) const {
    const std::string& validity = columns[column].validity;
    return !validity.empty() && (static_cast<uint8_t>(validity[row >> 3]) >> (row & 7) & 1) == 0;
  }
  template <class T>
  T Get(size_t column, uint64_t row) const {
    T value;
    std::memcpy(&value, columns[column].values.data() + row * sizeof(T), sizeof(T));
    return value;
  }
  absl::string_view GetString(size_t column, uint64_t row) const {
    uint32_t ends[2];
    std::memcpy(ends, columns[column].offsets.data() + row * sizeof(uint32_t), sizeof(ends));
    return absl::string_view(columns[column].values).substr(ends[0], ends[1] - ends[0]);
  }
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_TABLE_ROWS_H_
