// The columns of a batch, copied. No thread of its own.
#ifndef ERIS_ENGINE_SESSIONS_ROW_COPIES_H_
#define ERIS_ENGINE_SESSIONS_ROW_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "eris/batch.h"
#include "storage/table/rows/table_layout.h"

namespace eris::engine {

class RowCopies {
 public:
  // `batch` has been checked (TableLayout::Check). Throws std::bad_alloc.
  RowCopies(const storage::TableLayout& layout, const RowBatch& batch, bool keys_only)
      : rows_(batch.rows) {
    columns_.reserve(batch.columns.size());
    for (size_t i = 0; i < batch.columns.size(); ++i) {
      const uint32_t column = keys_only ? layout.schema().key[i] : static_cast<uint32_t>(i);
      columns_.push_back(Copy(batch.columns[i], ColumnValueBytes(layout.column(column).type)));
    }
  }
  RowBatch batch() const { return {rows_, columns_}; }

 private:
  // `width`: 0 for strings, whose offsets then begin at 0.
  ColumnView Copy(const ColumnView& from, size_t width) {
    ColumnView to;
    const auto* values = static_cast<const char*>(from.values);
    if (width > 0) {
      to.values = Copy(values, rows_ * width);
    } else {
      const uint32_t first = from.offsets[0];
      const size_t bytes = from.offsets[rows_] - first;
      to.values = Copy(bytes == 0 ? nullptr : values + first, bytes);
      auto* const offsets = static_cast<uint32_t*>(Room((rows_ + 1) * sizeof(uint32_t)));
      for (size_t row = 0; row <= rows_; ++row) offsets[row] = from.offsets[row] - first;
      to.offsets = offsets;
    }
    if (from.validity != nullptr) {
      to.validity = static_cast<const uint8_t*>(Copy(from.validity, (rows_ + 7) / 8));
    }
    return to;
  }
  const void* Copy(const void* from, size_t bytes) {
    void* const to = Room(bytes);
    if (bytes > 0) std::memcpy(to, from, bytes);
    return to;
  }
  void* Room(size_t bytes) {
    // Not initialised before it is written. Held before the list may throw.
    std::unique_ptr<uint64_t[]> room(new uint64_t[bytes / sizeof(uint64_t) + 1]);
    buffers_.push_back(std::move(room));
    return buffers_.back().get();
  }

  const uint64_t rows_;
  std::vector<ColumnView> columns_;
  std::vector<std::unique_ptr<uint64_t[]>> buffers_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_SESSIONS_ROW_COPIES_H_
