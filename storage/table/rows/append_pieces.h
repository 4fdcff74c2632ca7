// Cuts an append of rows into pieces. Each is one step of an AEU, which serves other commands in
// between. Pure functions; any thread.
#ifndef ERIS_STORAGE_TABLE_APPEND_PIECES_H_
#define ERIS_STORAGE_TABLE_APPEND_PIECES_H_

#include <cstdint>
#include <vector>

#include "eris/batch.h"
#include "storage/table/rows/table_layout.h"

namespace eris::storage {

// Limits of one piece; a longer row is a piece by itself.
inline constexpr uint32_t kAppendRowsMax = 4096;
inline constexpr uint64_t kAppendBytesMax = uint64_t{1} << 20;  // values, strings and offsets

// The first row of each piece, then the number of rows. Throws std::bad_alloc. REQUIRES: a checked
// batch of all columns.
std::vector<uint64_t> AppendPieces(const TableLayout& layout, const RowBatch& batch);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_APPEND_PIECES_H_
