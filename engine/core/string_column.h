// Converts byte strings as words (storage/byte_value.h) to a column of an answer. Pure function.
#ifndef ERIS_ENGINE_CORE_STRING_COLUMN_H_
#define ERIS_ENGINE_CORE_STRING_COLUMN_H_

#include <cstdint>
#include <cstring>
#include <span>

#include "absl/strings/string_view.h"
#include "eris/batch.h"
#include "storage/byte_value.h"

namespace eris::engine {

// A word of 0 is no string, and becomes an empty one. Throws std::bad_alloc.
inline ColumnBuffers StringColumn(std::span<const uint64_t> words) {
  ColumnBuffers column;
  column.offsets.resize((words.size() + 1) * sizeof(uint32_t));
  char* offset = column.offsets.data();
  uint32_t total = 0;
  for (const uint64_t& word : words) {
    std::memcpy(offset, &total, sizeof total);
    offset += sizeof total;
    if (word != 0) total += static_cast<uint32_t>(storage::BytesOf(word).size());
  }
  std::memcpy(offset, &total, sizeof total);
  column.values.reserve(total);
  for (const uint64_t& word : words) {
    if (word == 0) continue;
    const absl::string_view bytes = storage::BytesOf(word);
    column.values.append(bytes.data(), bytes.size());
  }
  return column;
}

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_STRING_COLUMN_H_
