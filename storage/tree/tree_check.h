// Walks over a whole prefix tree and verifies the invariants of its operations. For tests and
// debugging: it visits every key. Single-threaded.
#ifndef ERIS_STORAGE_TREE_TREE_CHECK_H_
#define ERIS_STORAGE_TREE_TREE_CHECK_H_

#include "absl/status/status.h"
#include "storage/tree/prefix_tree.h"

namespace eris::storage {

// Verifies: children within each kind's capacity, at least 2, with starts that ascend from 0;
// shifts that fall from level to level; prefixes and keys inside the interval of the path;
// TreeNodes and pages only below one byte; no empty runs, tags that match their keys, first pairs
// as sorted as stated; no duplicate keys; exact key counts. Errors: Internal, with the first fault
// and the prefix of the TreeNode.
absl::Status CheckTree(const PrefixTree& tree);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_CHECK_H_
