// Collects rows into result columns: rows of a list by number, as a join or a sort names them, rows
// of a block that a join has paired with several others, and rows that follow each other. A column
// at a time; rows at random places are prefetched. Pure functions on the caller's memory; no
// allocation, any thread. Not from the paper.
#ifndef ERIS_STORAGE_QUERY_GATHER_H_
#define ERIS_STORAGE_QUERY_GATHER_H_

#include <cstdint>
#include <span>

#include "storage/query/rows/envelope_list.h"
#include "storage/table/query/result_rows.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// How many of numbers[0 .. count) fit with the strings of a list's column after the first `rows`
// rows of `out`; all of them if it is no column of strings.
uint32_t GatherThatFit(const EnvelopeList& from, uint32_t column, const RowNumber* numbers,
                       uint32_t count, const ResultColumn& out, uint32_t rows);
// Appends a list's column at those rows, in any order, with repetitions, behind the first `rows`
// rows of `out`. kNoRow: a null. REQUIRES: there is room for them.
void GatherColumn(const EnvelopeList& from, uint32_t column, const RowNumber* numbers,
                  uint32_t count, ResultColumn& out, uint32_t rows);

// Appends all columns of the list, to as many columns of `out`, for as many of the numbers as fit.
// Returns how many that are.
uint32_t GatherRows(const EnvelopeList& from, const RowNumber* numbers, uint32_t count,
                    ResultRows& out);

// As AppendColumn (row_output.h), for picks in any order, with repetitions. `base` is a multiple of
// 64. StringsThatFit takes such picks, too.
void GatherPicks(const SegmentColumn& from, uint32_t base, const uint16_t* picks, uint32_t count,
                 ResultColumn& out, uint32_t rows);

// Appends rows [first, first + count) of `from`, one column of it to each of `out`, or as many of
// them as fit. Returns how many that are. Strings of `from` have no dictionary.
uint32_t AppendRange(std::span<const SegmentColumn> from, uint32_t first, uint32_t count,
                     ResultRows& out);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_GATHER_H_
