// How the columns of a scan's answer lie in a chunk's memory: arrays one behind the other, each
// aligned to a cache line. Pure functions; any thread.
//
//   per column: values (strings: bytes) | validity, a bit per row | strings: offsets, rows + 1
//   then, of scans into other objects, a state per row
#ifndef ERIS_ENGINE_TABLE_CHUNK_SHAPE_H_
#define ERIS_ENGINE_TABLE_CHUNK_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "eris/table.h"
#include "storage/batch.h"
#include "storage/table/result_rows.h"

namespace eris::engine {

struct TableChunkShape {
  size_t bytes = 0;
  uint32_t capacity = 0;      // rows
  uint32_t string_bytes = 0;  // of one column of strings; one of any length fits an empty chunk
  bool states = false;

  // As many rows as fit kTableChunkBytes, at most `rows_max` (0: no bound); where many columns are
  // of strings the chunk is larger. `states`: whether there is a state per row.
  static TableChunkShape Of(const TableSchema& schema, uint64_t rows_max, bool states);
};

// The columns in `memory`, which has shape.bytes, and the states, nullptr where there are none.
std::vector<storage::ResultColumn> ColumnsIn(std::byte* memory, const TableSchema& schema,
                                             const TableChunkShape& shape,
                                             storage::KeyState*& states);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_TABLE_CHUNK_SHAPE_H_
