// Columns of pairs of rows, one of a block that probes a join table and one of the table's: where
// they come from, and how they are appended to an envelope. Pure functions on the caller's memory.
// Not from the papers.
#ifndef ERIS_STORAGE_QUERY_PAIR_COLUMNS_H_
#define ERIS_STORAGE_QUERY_PAIR_COLUMNS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "storage/query/rows/envelope_list.h"
#include "storage/query/rows/gather.h"
#include "storage/table/query/result_rows.h"
#include "storage/table/query/row_output.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

struct PairColumn {
  bool of_build = false;
  uint32_t column = 0;
};

// Pairs of rows: picks[i] of the block at `base`, and numbers[i] of the table's rows. `numbers` may
// be nullptr if no column is one of the table's.
struct PairRows {
  const SegmentView& view;
  uint32_t base;
  const EnvelopeList& build;
  const uint16_t* picks;
  const RowNumber* numbers;
  uint32_t count;
};

// Appends as many of the pairs as fit, and returns how many that are. Does not set out.rows. `out`
// may have further columns.
inline uint32_t AppendPairs(const PairRows& pairs, const std::vector<PairColumn>& columns,
                            ResultRows& out) {
  uint32_t fit = std::min(pairs.count, out.capacity - out.rows);
  for (size_t i = 0; i < columns.size(); ++i) {
    const PairColumn& from = columns[i];
    if (!IsByteString(out.columns[i].type)) continue;
    fit = from.of_build ? GatherThatFit(pairs.build, from.column, pairs.numbers, fit,
                                        out.columns[i], out.rows)
                        : StringsThatFit(pairs.view.columns[from.column], pairs.base, pairs.picks,
                                         fit, out.columns[i], out.rows);
  }
  for (size_t i = 0; i < columns.size() && fit > 0; ++i) {
    const PairColumn& from = columns[i];
    if (from.of_build) {
      GatherColumn(pairs.build, from.column, pairs.numbers, fit, out.columns[i], out.rows);
    } else {
      GatherPicks(pairs.view.columns[from.column], pairs.base, pairs.picks, fit, out.columns[i],
                  out.rows);
    }
  }
  return fit;
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_PAIR_COLUMNS_H_
