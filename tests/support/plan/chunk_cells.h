// Cells out of an engine's chunks, and the oracle's tables as batches for an engine.
#ifndef ERIS_TESTS_SUPPORT_PLAN_CHUNK_CELLS_H_
#define ERIS_TESTS_SUPPORT_PLAN_CHUNK_CELLS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "eris/query.h"
#include "tests/support/objects.h"
#include "tests/support/plan/cell.h"
#include "tests/support/plan/plan_types.h"
#include "tests/support/table_rows.h"

namespace eris::test {

inline Cell CellAt(const ColumnView& view, const ColumnSchema& column, uint64_t row) {
  const CellType type{column.type, column.scale};
  if (view.validity != nullptr && (view.validity[row >> 3] >> (row & 7) & 1) == 0) {
    return NullCell(type);
  }
  if (column.type == ColumnType::kInt128) {
    const auto low = ReadAt<uint64_t>(view.values, 2 * row);
    const auto high = ReadAt<uint64_t>(view.values, 2 * row + 1);
    return NumberCell(type, static_cast<Int128>(Uint128{high} << 64 | low));
  }
  Cell cell = CellOf(ValueAt(view, column, row), type);
  cell.type = type;
  return cell;
}

inline void AppendCells(const Chunk& chunk, std::vector<Cells>& rows) {
  const auto& columns = chunk.schema().columns;
  for (uint64_t row = 0; row < chunk.rows(); ++row) {
    Cells& cells = rows.emplace_back();
    for (size_t i = 0; i < columns.size(); ++i) {
      cells.push_back(CellAt(chunk.column(i), columns[i], row));
    }
  }
}

// All rows of a scan, or the error with which it ends.
inline absl::StatusOr<std::vector<Cells>> ReadAllCells(Scan& scan) {
  std::vector<Cells> rows;
  const absl::Status end =
      ForEachChunk(scan, [&](const Chunk& chunk) { AppendCells(chunk, rows); });
  if (!end.ok()) return end;
  return rows;
}

inline Rows BatchOf(const PlanTable& table) {
  Rows batch(table.schema.columns);
  for (const Cells& cells : table.rows) {
    Row row;
    for (const Cell& cell : cells) row.push_back(ValueOf(cell));
    batch.Add(row);
  }
  return batch;
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_CHUNK_CELLS_H_
