#include "engine/table_chunk_shape.h"

#include <algorithm>
#include <utility>

#include "base/cache_line.h"
#include "base/check.h"
#include "engine/table_chunk_pool.h"

namespace eris::engine {
namespace {

// What an average string may have before strings, not rows, fill a chunk.
constexpr size_t kStringBytesExpected = 24;
constexpr uint32_t kRowsLeast = 64;

size_t Aligned(size_t bytes) { return base::RoundUp(bytes, 64); }

size_t BytesOf(const TableSchema& schema, uint32_t rows, uint32_t string_bytes, bool states) {
  size_t bytes = states ? Aligned(rows) : 0;
  for (const ColumnSchema& column : schema.columns) {
    bytes += Aligned((size_t{rows} + 63) / 64 * sizeof(uint64_t));
    if (column.type == ColumnType::kString) {
      bytes += Aligned(string_bytes) + Aligned((size_t{rows} + 1) * sizeof(uint32_t));
    } else {
      bytes += Aligned(size_t{rows} * ColumnValueBytes(column.type));
    }
  }
  return bytes;
}

uint32_t StringBytes(uint32_t rows) {
  return static_cast<uint32_t>(
      std::max<size_t>(base::RoundUp(kTableStringBytesMax, 64), rows * kStringBytesExpected));
}

}  // namespace

TableChunkShape TableChunkShape::Of(const TableSchema& schema, uint64_t rows_max, bool states) {
  // The most rows that fit.
  uint32_t rows = kRowsLeast;
  for (uint32_t step = 1u << 16; step >= kRowsLeast; step /= 2) {
    const uint32_t more = rows + step;
    if (BytesOf(schema, more, StringBytes(more), states) <= kTableChunkBytes) rows = more;
  }
  if (rows_max > 0) rows = static_cast<uint32_t>(std::min<uint64_t>(rows, rows_max));
  TableChunkShape shape{
      .bytes = 0, .capacity = rows, .string_bytes = StringBytes(rows), .states = states};
  shape.bytes = BytesOf(schema, rows, shape.string_bytes, states);
  return shape;
}

std::vector<storage::ResultColumn> ColumnsIn(std::byte* memory, const TableSchema& schema,
                                             const TableChunkShape& shape,
                                             storage::KeyState*& states) {
  std::vector<storage::ResultColumn> columns;
  columns.reserve(schema.columns.size());
  const std::byte* const begin = memory;
  const auto take = [&memory](size_t bytes) {
    return std::exchange(memory, memory + Aligned(bytes));
  };
  const size_t rows = shape.capacity;
  for (const ColumnSchema& schema_column : schema.columns) {
    storage::ResultColumn column;
    column.type = schema_column.type;
    const bool strings = schema_column.type == ColumnType::kString;
    column.values = take(strings ? shape.string_bytes : rows * ColumnValueBytes(column.type));
    column.validity = reinterpret_cast<uint64_t*>(take((rows + 63) / 64 * sizeof(uint64_t)));
    if (strings) {
      column.offsets = reinterpret_cast<uint32_t*>(take((rows + 1) * sizeof(uint32_t)));
      column.bytes_max = shape.string_bytes;
    }
    columns.push_back(column);
  }
  states = shape.states ? reinterpret_cast<storage::KeyState*>(take(rows)) : nullptr;
  ERIS_CHECK(static_cast<size_t>(memory - begin) == shape.bytes);
  return columns;
}

}  // namespace eris::engine
