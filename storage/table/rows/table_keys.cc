#include "storage/table/rows/table_keys.h"

#include <cstring>

#include "eris/key_encoding.h"

namespace eris::storage {
namespace {

struct EncodeInt32 {
  using Value = int32_t;
  static uint64_t Encode(int32_t value) { return KeyFromDate(value); }
};
struct EncodeInt64 {
  using Value = int64_t;
  static uint64_t Encode(int64_t value) { return KeyFromInt64(value); }
};
struct EncodeUint64 {
  using Value = uint64_t;
  static uint64_t Encode(uint64_t value) { return value; }
};
struct EncodeFloat64 {
  using Value = double;
  static uint64_t Encode(double value) { return KeyFromFloat64(value); }
};

template <class Function>
void WithEncoder(ColumnType type, Function function) {
  switch (type) {
    case ColumnType::kInt32:
    case ColumnType::kDate:
      return function(EncodeInt32());
    case ColumnType::kInt64:
    case ColumnType::kDecimal:
      return function(EncodeInt64());
    case ColumnType::kUint64:
      return function(EncodeUint64());
    case ColumnType::kFloat64:
      return function(EncodeFloat64());
    case ColumnType::kString:
    case ColumnType::kInt128:
      return;  // no key: TableLayout::Create
  }
}

// The position of a key column's bytes in the two words: `before` bytes after the beginning.
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

// Column by column, in loops that vectorize: a column inside one word does not touch the other.
template <class Encoder>
void PackColumn(const void* values, uint64_t rows, uint32_t before, uint64_t* heads,
                uint64_t* tails) {
  const auto* const in = static_cast<const typename Encoder::Value*>(values);
  const Place place(before, sizeof(typename Encoder::Value));
  if (before == 0) {
    for (uint64_t i = 0; i < rows; ++i) heads[i] = place.InHead(Encoder::Encode(in[i]));
  } else if (before < 8) {
    for (uint64_t i = 0; i < rows; ++i) heads[i] |= place.InHead(Encoder::Encode(in[i]));
  }
  if (place.end <= 8) return;
  if (before <= 8) {
    for (uint64_t i = 0; i < rows; ++i) tails[i] = place.InTail(Encoder::Encode(in[i]));
  } else {
    for (uint64_t i = 0; i < rows; ++i) tails[i] |= place.InTail(Encoder::Encode(in[i]));
  }
}

}  // namespace

void TableLayout::PackKeys(const RowBatch& batch, bool keys_only, uint64_t* heads,
                           uint64_t* tails) const {
  uint32_t before = 0;
  for (size_t i = 0; i < schema_.key.size(); ++i) {
    const ColumnType type = schema_.columns[schema_.key[i]].type;
    const void* const values = batch.columns[keys_only ? i : schema_.key[i]].values;
    WithEncoder(type, [&](auto encoder) {
      PackColumn<decltype(encoder)>(values, batch.rows, before, heads, tails);
    });
    before += ColumnValueBytes(type);
  }
}

Key KeyOfRow(const TableLayout& layout, const ColumnSource* columns, uint32_t row) {
  Key key;
  uint32_t before = 0;
  for (const uint32_t column : layout.schema().key) {
    const ColumnType type = layout.column(column).type;
    WithEncoder(type, [&](auto encoder) {
      using Encoder = decltype(encoder);
      const uint64_t value = Encoder::Encode(columns[column].At<typename Encoder::Value>(row));
      const Place place(before, sizeof(typename Encoder::Value));
      if (before < 8) key.head |= place.InHead(value);
      key.tail |= place.InTail(value);
    });
    before += ColumnValueBytes(type);
  }
  return key;
}

}  // namespace eris::storage
