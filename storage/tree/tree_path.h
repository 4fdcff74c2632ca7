// The TreeNodes from a prefix tree's root to the place of a key. For PrefixTree's own files.
#ifndef ERIS_STORAGE_TREE_TREE_PATH_H_
#define ERIS_STORAGE_TREE_TREE_PATH_H_

#include <cstdint>

#include "storage/tree/prefix_tree.h"

namespace eris::storage {

struct PrefixTree::Path {
  TreeRef nodes[kLevelsMax];
  unsigned depth = 0;

  // The lowest TreeNode; none if the path is empty.
  TreeRef Last() const { return depth == 0 ? TreeRef() : nodes[depth - 1]; }
  void AddKeys(int64_t keys) const {
    for (unsigned i = 0; i < depth; ++i) {
      TreeNodeHeader* header = nodes[i].header();
      header->keys = header->keys + static_cast<uint64_t>(keys);
    }
  }
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_PATH_H_
