// How the columns of a scan's answer lie in a chunk's memory: arrays one behind the other, each
// aligned to a cache line; and how many chunks a scan takes, and of which size. Pure functions; any
// thread.
//
//   per column: values (strings: bytes) | validity, a bit per row | strings: offsets, rows + 1
//   then, for scans into other objects, a state per row
#ifndef ERIS_ENGINE_READS_TABLE_CHUNK_SHAPE_H_
#define ERIS_ENGINE_READS_TABLE_CHUNK_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "eris/schema.h"
#include "storage/batch.h"
#include "storage/table/query/result_rows.h"

namespace eris::engine {

struct TableChunkShape {
  size_t bytes = 0;
  uint32_t capacity = 0;  // rows
  // of one column of strings; a string of any length fits an empty chunk
  uint32_t string_bytes = 0;
  bool states = false;

  // As many rows as fit in `bytes_max`, at most `rows_max` (0: no limit); with many columns of
  // strings the chunk is larger. `states`: whether there is a state per row.
  static TableChunkShape Of(const Schema& schema, uint64_t rows_max, bool states, size_t bytes_max);
};

// How much a scan takes of the pool of pieces (table_chunk_pool.h). The rules:
//
// - A scan takes at most a quarter of the available pieces, and one if there is one: a few slow
//   readers leave room for others, but about twenty that keep all their chunks do not.
// - Each of its parts, one per AEU, gets two chunks, so that the AEU fills one while the reader
//   uses the other. It gets one if the reader wants no more rows than one chunk has, or if two
//   would be smaller than kSmallChunkBytes.
// - A chunk is a piece or, with many parts, an equal share of one: the memory stays the same, and
//   no part waits for another's chunk.
// - But a chunk has room for at least 64 rows and, for each column of strings, for the longest
//   string. If there are then too few, some parts wait for a chunk; a chunk larger than a piece
//   counts as several.
// - The reader of an aggregate's result needs two chunks, whatever the number of parts.
struct TableChunkPlan {
  TableChunkShape shape;
  uint32_t chunks = 0;       // at least two
  uint32_t slabs = 0;        // blocks taken from the pool, each for per_slab chunks
  uint32_t slabs_least = 0;  // with fewer the scan cannot run
  uint32_t per_slab = 0;
  size_t chunk_bytes = 0;  // distance between chunks in a slab
  size_t slab_bytes = 0;

  struct Wanted {
    uint64_t limit = 0;  // rows; 0: all
    uint32_t parts = 0;
    bool aggregates = false;
    bool states = false;
  };
  static TableChunkPlan Of(const Schema& schema, const Wanted& wanted, uint32_t pieces_left);
};

// The columns in `memory`, which has shape.bytes, and the states, nullptr if there are none.
std::vector<storage::ResultColumn> ColumnsIn(std::byte* memory, const Schema& schema,
                                             const TableChunkShape& shape,
                                             storage::KeyState*& states);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_TABLE_CHUNK_SHAPE_H_
