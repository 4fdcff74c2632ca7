// The rows that a scanner finds lying together, and what is done with them: copied into columns,
// filtered by value on the way, or added up. Pure functions over plain memory, no thread, no latch.
// Paper: ERIS 3.1 (scans).
#ifndef ERIS_STORAGE_TREE_SCAN_KERNELS_H_
#define ERIS_STORAGE_TREE_SCAN_KERNELS_H_

#include <cstdint>

#include "eris/types.h"
#include "storage/scan.h"
#include "storage/tree/tree_node.h"
#include "storage/tree/tree_run.h"

namespace eris::storage {

// Adjacent rows of a sorted run, or of a page. Good until the tree changes.
struct ScanPiece {
  uint32_t rows = 0;
  const Pair* pairs = nullptr;  // of a run: `rows` of them, ascending
  // Of a page: the rows from byte `first` to byte `last`; both are there.
  const TreePage* page = nullptr;
  unsigned first = 0;
  unsigned last = 0;

  // REQUIRES: rows > 0.
  uint64_t FirstKey() const { return page ? page->header.prefix | first : pairs[0].key; }
  uint64_t LastKey() const { return page ? page->header.prefix | last : pairs[rows - 1].key; }
};

// Copies rows of `piece` in the direction of the query, those that its filter keeps, until `room`
// rows are copied; `values` is not touched by a query of keys only. Returns how many were copied:
// less than `room` means that the whole piece has been looked at.
using TakeFunction = uint32_t (*)(const ScanPiece& piece, const ScanQuery& query, uint64_t* keys,
                                  uint64_t* values, uint32_t room);
// The one for such a query. Looked up once a slice.
TakeFunction TakeFunctionFor(const ScanQuery& query);

// Adds the rows that the filter keeps. REQUIRES: the pieces come with ascending keys.
void AddPiece(const ScanPiece& piece, const ScanQuery& query, RangeAggregate& out);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_SCAN_KERNELS_H_
