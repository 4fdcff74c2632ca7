// A walk over a whole prefix tree that verifies what its operations rely on. For tests and for
// hunting faults: it costs a visit per key. Single-threaded.
#ifndef ERIS_STORAGE_TREE_TREE_CHECK_H_
#define ERIS_STORAGE_TREE_TREE_CHECK_H_

#include "absl/status/status.h"
#include "storage/tree/prefix_tree.h"

namespace eris::storage {

// Verifies: children within each kind's capacity, 2 at least, whose starts ascend from 0; shifts
// that fall from level to level; prefixes and keys that lie in the interval of the path; TreeNodes
// and pages below one byte; runs that are not empty, whose tags are their keys' and whose first
// pairs are as sorted as they say; no key twice; exact key counts. Errors: Internal, naming the
// first fault and the prefix of the TreeNode.
absl::Status CheckTree(const PrefixTree& tree);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_CHECK_H_
