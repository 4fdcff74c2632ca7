// Counts the keys of a range by the counts that the tree's blocks carry, without reading rows: one
// path down for each end, and the headers of the blocks beside it. Single-threaded.
#ifndef ERIS_STORAGE_TREE_TREE_COUNT_H_
#define ERIS_STORAGE_TREE_TREE_COUNT_H_

#include <cstdint>

#include "storage/tree/prefix_tree.h"

namespace eris::storage {

// What the keys from `first` to `last`, both included, count as. REQUIRES: first <= last. O(depth *
// children): some thousand headers at most, whatever the number of keys; with weights also what
// those of the runs among them read.
uint64_t CountKeys(const PrefixTree& tree, uint64_t first, uint64_t last);

// The key that `rank` others precede. O(depth). REQUIRES: keys count 1; rank < tree.size().
uint64_t KeyAtRank(const PrefixTree& tree, uint64_t rank);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_COUNT_H_
