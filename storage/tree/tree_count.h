// Counts the keys of a range by the counts in the tree's blocks, without reading rows: one path for
// each end, and the headers of the blocks next to it. Single-threaded.
#ifndef ERIS_STORAGE_TREE_TREE_COUNT_H_
#define ERIS_STORAGE_TREE_TREE_COUNT_H_

#include <cstdint>

#include "storage/tree/prefix_tree.h"

namespace eris::storage {

// The weight of the keys from `first` to `last`, both included. REQUIRES: first <= last. O(depth *
// children): at most some thousand headers, whatever the number of keys; with weights the runs
// among them are read too.
uint64_t CountKeys(const PrefixTree& tree, uint64_t first, uint64_t last);

// The key with this rank (counted from 0). O(depth). REQUIRES: keys have weight 1; rank <
// tree.size().
uint64_t KeyAtRank(const PrefixTree& tree, uint64_t rank);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_COUNT_H_
