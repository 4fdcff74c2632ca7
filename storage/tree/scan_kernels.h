// Adjacent rows that a scanner finds, and what is done with them: copied into columns, filtered by
// value, or aggregated. Pure functions over plain memory, no thread, no latch.
// Paper: ERIS 3.1 (scans).
#ifndef ERIS_STORAGE_TREE_SCAN_KERNELS_H_
#define ERIS_STORAGE_TREE_SCAN_KERNELS_H_

#include <cstdint>

#include "eris/types.h"
#include "storage/scan.h"
#include "storage/tree/tree_node.h"
#include "storage/tree/tree_run.h"

namespace eris::storage {

// Adjacent rows of a sorted run, or of a page. Valid until the tree changes.
struct ScanPiece {
  uint32_t rows = 0;
  const Pair* pairs = nullptr;  // for a run: `rows` of them, ascending
  // For a page: the rows from byte `first` to byte `last`; both exist.
  const TreePage* page = nullptr;
  unsigned first = 0;
  unsigned last = 0;

  // REQUIRES: rows > 0.
  uint64_t FirstKey() const { return page ? page->header.prefix | first : pairs[0].key; }
  uint64_t LastKey() const { return page ? page->header.prefix | last : pairs[rows - 1].key; }
};

// Copies the rows of `piece` that the query's filter keeps, in its direction, until `room` rows are
// copied; a query of keys only does not touch `values`. Returns the number of copied rows: less
// than `room` means that the whole piece has been read.
using TakeFunction = uint32_t (*)(const ScanPiece& piece, const ScanQuery& query, uint64_t* keys,
                                  uint64_t* values, uint32_t room);
// The function for a query. Selected once per slice.
TakeFunction TakeFunctionFor(const ScanQuery& query);

// Adds the rows that the filter keeps. REQUIRES: the pieces come with ascending keys.
void AddPiece(const ScanPiece& piece, const ScanQuery& query, RangeAggregate& out);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_SCAN_KERNELS_H_
