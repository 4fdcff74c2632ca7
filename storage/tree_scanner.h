// Reads a prefix tree in key order. It holds pointers into the tree, so it is good only while the
// tree does not change: a scan that lasts longer keeps a key (ScanCursor) and seeks again at each
// slice. Runs are sorted when it comes to them. Iterative: a frame per level, at most 8.
// Single-threaded. Paper: ERIS 3.1 (scans).
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
    unsigned next = 0;   // the start to go on at
    unsigned ahead = 0;  // children that start before it are prefetched
  };

  void Push(TreeRef ref, unsigned next);
  void PrefetchNext(Frame& frame);
  // Down to the first run or page of a subtree; on to the next one. False: there is none.
  void EnterFirst(TreeRef ref);
  bool Advance();
  // Of the run or page at hand: at most rows_max; `*behind` when a key lies behind `last`.
  uint32_t ReadRun(uint64_t last, uint64_t* keys, uint64_t* values, uint32_t rows_max,
                   bool* behind);
  uint32_t ReadPage(uint64_t last, uint64_t* keys, uint64_t* values, uint32_t rows_max,
                    bool* behind);

  Frame frames_[kLevelsMax];
  unsigned depth_ = 0;
  TreeRef at_;         // a run or a page
  unsigned next_ = 0;  // its pair or byte to go on at
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_SCANNER_H_
