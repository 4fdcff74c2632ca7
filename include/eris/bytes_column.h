// A column of byte strings, as look-ups of objects of ColumnType::kString answer it. Arrow's layout
// of a binary column. No thread of its own.
#ifndef ERIS_BYTES_COLUMN_H_
#define ERIS_BYTES_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace eris {

// Byte strings, one behind the other: string i is data[offsets[i] .. offsets[i + 1]).
struct BytesColumn {
  std::vector<uint32_t> offsets{};  // one more than strings
  std::string data{};

  size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  absl::string_view operator[](size_t i) const {
    return {data.data() + offsets[i], offsets[i + 1] - offsets[i]};
  }
};

}  // namespace eris

#endif  // ERIS_BYTES_COLUMN_H_
