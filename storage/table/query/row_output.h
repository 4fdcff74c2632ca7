// Appends values to result columns. Pure functions on the reader's memory; no allocation.
#ifndef ERIS_STORAGE_TABLE_ROW_OUTPUT_H_
#define ERIS_STORAGE_TABLE_ROW_OUTPUT_H_

#include <cstdint>
#include <string_view>

#include "storage/table/query/block_values.h"
#include "storage/table/query/result_rows.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// How many of the rows picks[0 .. count) of the block at `base` fit with their strings after the
// first `rows` rows of `out`.
uint32_t StringsThatFit(const SegmentColumn& from, uint32_t base, const uint16_t* picks,
                        uint32_t count, const ResultColumn& out, uint32_t rows);
// The same of the first `count` values of a picked vector.
uint32_t StringsThatFit(const BlockVector& from, uint32_t count, const ResultColumn& out,
                        uint32_t rows);
// Appends a segment's column at those rows, which are ascending, and for which there must be room.
void AppendColumn(const SegmentColumn& from, uint32_t base, const uint16_t* picks, uint32_t count,
                  ResultColumn& out, uint32_t rows);
// Appends the first `count` values of a picked vector.
void AppendVector(const BlockVector& from, uint32_t count, ResultColumn& out, uint32_t rows);

// Sets row `row` of a fixed-width column; `bytes` has the width of its type.
void PutValue(const void* bytes, bool valid, ResultColumn& out, uint32_t row);
// False: no room.
bool PutString(std::string_view text, bool valid, ResultColumn& out, uint32_t row);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_ROW_OUTPUT_H_
