// Appends values to result columns. Pure functions on the reader's memory; no allocation.
#ifndef ERIS_STORAGE_TABLE_ROW_OUTPUT_H_
#define ERIS_STORAGE_TABLE_ROW_OUTPUT_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "storage/table/query/block_values.h"
#include "storage/table/query/result_rows.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// Says which of the rows [first, first + count) of `out` are no nulls: the i-th one if valid(i).
template <class Valid>
void PutValidity(uint32_t count, ResultColumn& out, uint32_t first, Valid valid) {
  for (uint32_t i = 0; i < count;) {
    const uint32_t shift = (first + i) % 64;
    const uint32_t in_word = std::min(64 - shift, count - i);
    const uint64_t mask = in_word == 64 ? ~uint64_t{0} : (uint64_t{1} << in_word) - 1;
    uint64_t bits = 0;
    for (uint32_t bit = 0; bit < in_word; ++bit) bits |= uint64_t{valid(i + bit)} << bit;
    uint64_t& word = out.validity[(first + i) / 64];
    word = (word & ~(mask << shift)) | bits << shift;
    out.any_null |= bits != mask;
    i += in_word;
  }
}
// The same where none of the rows is null.
void PutAllValid(uint32_t count, ResultColumn& out, uint32_t first);
// The same where they are the rows picks[0 .. count) of the block at `base`, in any order.
void PutPickedValid(const SegmentColumn& from, uint32_t base, const uint16_t* picks, uint32_t count,
                    ResultColumn& out, uint32_t first);

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
