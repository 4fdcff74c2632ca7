// A walk over a whole prefix tree that verifies what its operations rely on. For tests and for
// hunting faults: it costs a visit per key. Single-threaded.
#ifndef ERIS_STORAGE_TREE_CHECK_H_
#define ERIS_STORAGE_TREE_CHECK_H_

#include "absl/status/status.h"
#include "storage/prefix_tree.h"

namespace eris::storage {

// Verifies: child counts within each kind's capacity and matched by its bytes, bitmap and index;
// no TreeNode above the last level with fewer than 2 children; shifts that fall from level to
// level; prefixes and leaf keys that agree with the path; exact key counts. Errors: Internal,
// naming the first fault and the prefix of the TreeNode.
absl::Status CheckTree(const PrefixTree& tree);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_CHECK_H_
