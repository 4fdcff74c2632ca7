// Reads a prefix tree in key order. It holds pointers into the tree, so it is good only while the
// tree does not change: a scan that lasts longer keeps a key (ScanCursor) and seeks again at each
// slice. Iterative: a frame per level, at most 8. Single-threaded. Paper: ERIS 3.1 (scans).
#ifndef ERIS_STORAGE_TREE_SCANNER_H_
#define ERIS_STORAGE_TREE_SCANNER_H_

#include <cstdint>

#include "storage/prefix_tree.h"
#include "storage/tree_node.h"

namespace eris::storage {

class TreeScanner {
 public:
  // Stands before the first key >= `from`. `tree` outlives the scanner.
  TreeScanner(const PrefixTree& tree, uint64_t from);

  // Copies the next rows with keys <= `last` into keys and values, at most `rows_max`, and moves
  // behind them. Fewer than that: there are no more.
  uint32_t Read(uint64_t last, uint64_t* keys, uint64_t* values, uint32_t rows_max);

 private:
  struct Frame {
    TreeRef ref;
    unsigned next = 0;   // the byte to go on at
    unsigned ahead = 0;  // the byte up to which children are prefetched
  };

  // The columns that Read fills.
  struct Output {
    uint64_t* keys;
    uint64_t* values;
    uint32_t rows_max;
    uint32_t rows = 0;
    // False, with nothing added, when there is no room or the key lies behind `last`.
    bool Add(const Leaf& row, uint64_t last) {
      if (rows == rows_max || row.key > last) return false;
      keys[rows] = row.key;
      values[rows++] = row.value;
      return true;
    }
  };

  void Push(TreeRef ref, unsigned next);
  void PrefetchNext(Frame& frame);
  static unsigned ReadLeaves(const TreeNode4& node, uint64_t last, Output& out);

  Frame frames_[kLevelsMax];
  unsigned depth_ = 0;
  // A leaf that comes before what the frames have; used for the root alone.
  TreeRef leaf_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_SCANNER_H_
