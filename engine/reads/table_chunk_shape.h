// How the columns of a scan's answer lie in a chunk's memory: arrays one behind the other, each
// aligned to a cache line; and how many chunks of which size a scan takes. Pure functions; any
// thread.
//
//   per column: values (strings: bytes) | validity, a bit per row | strings: offsets, rows + 1
//   then, of scans into other objects, a state per row
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
  uint32_t capacity = 0;      // rows
  uint32_t string_bytes = 0;  // of one column of strings; one of any length fits an empty chunk
  bool states = false;

  // As many rows as fit `bytes_max`, at most `rows_max` (0: no bound); where many columns are of
  // strings the chunk is larger. `states`: whether there is a state per row.
  static TableChunkShape Of(const Schema& schema, uint64_t rows_max, bool states, size_t bytes_max);
};

// What a scan takes of the pool of pieces (table_chunk_pool.h). The rule:
//
// - A scan takes at most a quarter of the pieces that are left, and one if there is one: a few
//   readers that are slow leave room for others. Some twenty that keep all their chunks do not.
// - Each of its parts, one per AEU, gets two chunks, so that the AEU fills one while the reader
//   looks at the other; one, where the reader wants no more rows than one chunk has, or two would
//   be smaller than kSmallChunkBytes.
// - A chunk has a piece, or with many parts the same share of one: the memory stays the same, and
//   no part waits for another's chunk.
// - But a chunk is never too small for 64 rows or, of each column of strings, for the longest one.
//   Where so many do not fit, some parts wait for a chunk; where one is larger than a piece, it
//   counts as several.
// - The reader of an aggregate's result needs two chunks, whatever parts there are.
struct TableChunkPlan {
  TableChunkShape shape;
  uint32_t chunks = 0;       // at least two
  uint32_t slabs = 0;        // what is taken of the pool, each for per_slab chunks
  uint32_t slabs_least = 0;  // with fewer the scan cannot run
  uint32_t per_slab = 0;
  size_t chunk_bytes = 0;  // from one of a slab to the next
  size_t slab_bytes = 0;

  struct Wanted {
    uint64_t limit = 0;  // rows; 0: all
    uint32_t parts = 0;
    bool aggregates = false;
    bool states = false;
  };
  static TableChunkPlan Of(const Schema& schema, const Wanted& wanted, uint32_t pieces_left);
};

// The columns in `memory`, which has shape.bytes, and the states, nullptr where there are none.
std::vector<storage::ResultColumn> ColumnsIn(std::byte* memory, const Schema& schema,
                                             const TableChunkShape& shape,
                                             storage::KeyState*& states);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_TABLE_CHUNK_SHAPE_H_
