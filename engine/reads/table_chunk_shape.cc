#include "engine/reads/table_chunk_shape.h"

#include <algorithm>
#include <utility>

#include "base/cache_line.h"
#include "base/check.h"
#include "engine/core/table_chunk_pool.h"

namespace eris::engine {
namespace {

// Average string length up to which rows, not strings, fill a chunk.
constexpr size_t kStringBytesExpected = 24;
constexpr uint32_t kRowsLeast = 64;
// So that the reader can use one chunk while the next one is filled.
constexpr uint32_t kChunksLeast = 2;
// Handing over smaller ones costs more than having two of them per part gains.
constexpr size_t kSmallChunkBytes = 16 << 10;

size_t Aligned(size_t bytes) { return base::RoundUp(bytes, 64); }

size_t ReservedBytesOf(const Schema& schema, uint32_t rows, uint32_t string_bytes, bool states) {
  size_t bytes = states ? Aligned(rows) : 0;
  for (const ColumnSchema& column : schema.columns) {
    bytes += Aligned((size_t{rows} + 63) / 64 * sizeof(uint64_t));
    if (IsByteString(column.type)) {
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

TableChunkShape TableChunkShape::Of(const Schema& schema, uint64_t rows_max, bool states,
                                    size_t bytes_max) {
  // Search for the most rows that fit.
  uint32_t rows = kRowsLeast;
  for (uint32_t step = 1u << 16; step >= kRowsLeast; step /= 2) {
    const uint32_t more = rows + step;
    if (ReservedBytesOf(schema, more, StringBytes(more), states) <= bytes_max) rows = more;
  }
  if (rows_max > 0) rows = static_cast<uint32_t>(std::min<uint64_t>(rows, rows_max));
  TableChunkShape shape{
      .bytes = 0, .capacity = rows, .string_bytes = StringBytes(rows), .states = states};
  shape.bytes = ReservedBytesOf(schema, rows, shape.string_bytes, states);
  return shape;
}

TableChunkPlan TableChunkPlan::Of(const Schema& schema, const Wanted& wanted,
                                  uint32_t pieces_left) {
  const uint32_t parts = std::max(wanted.parts, 1u);
  const auto shape_of = [&](size_t bytes_max) {
    return TableChunkShape::Of(schema, wanted.limit, wanted.states, bytes_max);
  };
  TableChunkPlan plan;
  plan.shape = shape_of(kTableChunkBytes);
  const auto pieces = static_cast<uint32_t>(
      std::max<size_t>((plan.shape.bytes + kTableChunkBytes - 1) / kTableChunkBytes, 1));
  const uint32_t slabs_max = std::max(pieces_left / pieces / 4, 1u);
  const bool one_suffices = wanted.limit > 0 && wanted.limit <= plan.shape.capacity;
  plan.chunks =
      wanted.aggregates ? kChunksLeast : std::max(kChunksLeast, one_suffices ? parts : 2 * parts);
  if (pieces > 1) {
    plan.per_slab = 1;
    plan.slab_bytes = plan.chunk_bytes = plan.shape.bytes;
    plan.slabs_least = kChunksLeast;
    plan.chunks = plan.slabs =
        std::clamp(plan.chunks, kChunksLeast, std::max(kChunksLeast, slabs_max));
    return plan;
  }
  // Each chunk's part of the pieces, as a unit fraction of one.
  const auto share = [&] {
    return kTableChunkBytes / ((plan.chunks + slabs_max - 1) / slabs_max) / 64 * 64;
  };
  if (!wanted.aggregates && share() < std::min(plan.shape.bytes, kSmallChunkBytes)) {
    plan.chunks = std::max(kChunksLeast, parts);
  }
  if (share() < plan.shape.bytes) plan.shape = shape_of(share());
  plan.chunk_bytes = Aligned(plan.shape.bytes);
  plan.per_slab = std::min(static_cast<uint32_t>(kTableChunkBytes / plan.chunk_bytes), plan.chunks);
  plan.slabs = std::min((plan.chunks + plan.per_slab - 1) / plan.per_slab, slabs_max);
  plan.slabs_least = (kChunksLeast + plan.per_slab - 1) / plan.per_slab;
  plan.slabs = std::max(plan.slabs, plan.slabs_least);
  plan.chunks = std::min(plan.chunks, plan.slabs * plan.per_slab);
  plan.slab_bytes = plan.per_slab * plan.chunk_bytes;
  return plan;
}

std::vector<storage::ResultColumn> ColumnsIn(std::byte* memory, const Schema& schema,
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
    const bool strings = IsByteString(schema_column.type);
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
