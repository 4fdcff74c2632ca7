#include "storage/table/rows/append_pieces.h"

#include <algorithm>

namespace eris::storage {

std::vector<uint64_t> AppendPieces(const TableLayout& layout, const RowBatch& batch) {
  uint64_t row_bytes = 0;
  std::vector<const uint32_t*> offsets;  // of the columns of strings
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    const ColumnType type = layout.column(i).type;
    const bool strings = IsByteString(type);
    row_bytes += strings ? sizeof(uint32_t) : ColumnValueBytes(type);
    if (strings) offsets.push_back(batch.columns[i].offsets);
  }
  std::vector<uint64_t> firsts{0};
  while (firsts.back() < batch.rows) {
    const uint64_t first = firsts.back();
    const auto fits = [&](uint64_t rows) {
      uint64_t bytes = rows * row_bytes;
      for (const uint32_t* ends : offsets) bytes += ends[first + rows] - ends[first];
      return bytes <= kAppendBytesMax;
    };
    uint64_t rows = std::min<uint64_t>(kAppendRowsMax, batch.rows - first);
    if (!fits(rows)) {
      // `high` rows do not fit; `low` rows do, or low is 1.
      uint64_t low = 1;
      while (rows - low > 1) {
        const uint64_t middle = (low + rows) / 2;
        (fits(middle) ? low : rows) = middle;
      }
      rows = low;
    }
    firsts.push_back(first + rows);
  }
  return firsts;
}

}  // namespace eris::storage
