#include "storage/table/rows/table_keys.h"

#include <type_traits>

#include "eris/key_encoding.h"

namespace eris::storage {
namespace {

// The place of a key column's bytes in the two words: behind the first `before` bytes.
//
//   |      head      |      tail      |
//   | before |  width  |
struct Place {
  Place(uint32_t before, uint32_t width) : end(before + width) {}
  const uint32_t end;
  uint64_t InHead(uint64_t value) const {
    return end <= 8 ? value << (64 - 8 * end) : value >> (8 * (end - 8));
  }
  uint64_t InTail(uint64_t value) const { return end <= 8 ? 0 : value << (128 - 8 * end); }
};

// Column by column, in loops that vectorize. A column within one word does not touch the other
// word.
template <class T>
void PackColumn(const void* values, uint64_t rows, uint32_t before, uint64_t* heads,
                uint64_t* tails) {
  const auto* const in = static_cast<const T*>(values);
  const Place place(before, sizeof(T));
  if (before == 0) {
    for (uint64_t i = 0; i < rows; ++i) heads[i] = place.InHead(EncodeKey(in[i]));
  } else if (before < 8) {
    for (uint64_t i = 0; i < rows; ++i) heads[i] |= place.InHead(EncodeKey(in[i]));
  }
  if (place.end <= 8) return;
  if (before <= 8) {
    for (uint64_t i = 0; i < rows; ++i) tails[i] = place.InTail(EncodeKey(in[i]));
  } else {
    for (uint64_t i = 0; i < rows; ++i) tails[i] |= place.InTail(EncodeKey(in[i]));
  }
}

}  // namespace

void TableLayout::PackKeys(const RowBatch& batch, bool keys_only, uint64_t* heads,
                           uint64_t* tails) const {
  uint32_t before = 0;
  for (size_t i = 0; i < schema_.key.size(); ++i) {
    const ColumnType type = schema_.columns[schema_.key[i]].type;
    const void* const values = batch.columns[keys_only ? i : schema_.key[i]].values;
    VisitColumnType(type, [&]<class T>(ColumnTraits<T>) {
      // Others are no keys: TableLayout::Create.
      if constexpr (std::is_arithmetic_v<T>) {
        PackColumn<T>(values, batch.rows, before, heads, tails);
      }
    });
    before += ColumnValueBytes(type);
  }
}

Key KeyOfRow(const TableLayout& layout, const ColumnSource* columns, uint32_t row) {
  Key key;
  uint32_t before = 0;
  for (const uint32_t column : layout.schema().key) {
    const ColumnType type = layout.column(column).type;
    VisitColumnType(type, [&]<class T>(ColumnTraits<T>) {
      if constexpr (std::is_arithmetic_v<T>) {
        const uint64_t value = EncodeKey(columns[column].At<T>(row));
        const Place place(before, sizeof(T));
        if (before < 8) key.head |= place.InHead(value);
        key.tail |= place.InTail(value);
      }
    });
    before += ColumnValueBytes(type);
  }
  return key;
}

}  // namespace eris::storage
