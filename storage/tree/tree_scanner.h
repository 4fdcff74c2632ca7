// Reads a prefix tree in key order, upwards or downwards. It holds pointers into the tree, so it is
// valid only while the tree does not change: a longer scan keeps a key (ScanCursor) and seeks again
// at each slice. Sorts the runs that it reads. Iterative: a frame per level, at most 8.
// Single-threaded. Paper: ERIS 3.1 (scans).
#ifndef ERIS_STORAGE_TREE_TREE_SCANNER_H_
#define ERIS_STORAGE_TREE_TREE_SCANNER_H_

#include <cstdint>

#include "eris/types.h"
#include "storage/tree/prefix_tree.h"
#include "storage/tree/scan_kernels.h"
#include "storage/tree/tree_node.h"

namespace eris::storage {

template <ScanDirection kDirection>
class BasicTreeScanner {
 public:
  // Positions before the first key >= `from`; backward: after the last key <= `from`. `tree`
  // outlives the scanner.
  BasicTreeScanner(const PrefixTree& tree, uint64_t from);

  // The next adjacent rows, at most `rows_max` (1 or more), with no key beyond `to` (above it;
  // backward: below it). Moves behind them. No rows: there are no more.
  ScanPiece Next(uint64_t to, uint32_t rows_max);

  // Copies the next rows into keys and values, at most `rows_max`, none beyond `to`, and moves
  // behind them. Fewer than that: there are no more.
  uint32_t Read(uint64_t to, uint64_t* keys, uint64_t* values, uint32_t rows_max);

 private:
  static constexpr bool kBackward = kDirection == ScanDirection::kBackward;

  // The path to a run or page, with the next position at each TreeNode: the start of the next
  // child; backward, the end of the remaining ones.
  struct Frame {
    TreeRef ref;
    unsigned next = 0;
  };
  struct LeafPath {
    Frame frames[kLevelsMax];
    unsigned depth = 0;

    // Descends to where `key` belongs: a run, a page, a TreeNode of other keys, or nothing.
    TreeRef Descend(TreeRef ref, uint64_t key);
    // First: the first run or page of a subtree. Next: the following one, or none.
    TreeRef First(TreeRef ref);
    TreeRef Next();
  };

  // The next child; if there is none its start is 256.
  static Child ChildFrom(TreeRef ref, unsigned next) {
    if constexpr (kBackward) return PreviousChild(ref, next);
    return next < 256 ? NextChild(ref, next) : Child{};
  }
  static unsigned Behind(const Child& child) { return kBackward ? child.start : child.start + 1; }

  // Starts reading at the near end of a run or page.
  void Enter(TreeRef ref);
  // Moves to the next run or page. False: there is none.
  bool Advance();
  // Prefetches the next run or page after those fetched already.
  void FetchNext();
  ScanPiece NextPiece(uint64_t to, uint32_t rows_max);  // Next, inline
  // Pieces of the current run or page, which is left when its last row has been returned.
  ScanPiece RunPiece(uint64_t to, uint32_t rows_max);
  ScanPiece PagePiece(uint64_t to, uint32_t rows_max);

  LeafPath path_;        // to the current one
  LeafPath fetched_;     // to the last one that was prefetched
  unsigned ahead_ = 0;   // how many are between them
  unsigned passed_ = 0;  // up to kShortScan
  TreeRef at_;           // a run or a page
  unsigned next_ = 0;    // its next pair or byte; backward: the end of the remaining ones
};

extern template class BasicTreeScanner<ScanDirection::kForward>;
extern template class BasicTreeScanner<ScanDirection::kBackward>;
using TreeScanner = BasicTreeScanner<ScanDirection::kForward>;
using ReverseTreeScanner = BasicTreeScanner<ScanDirection::kBackward>;

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_SCANNER_H_
