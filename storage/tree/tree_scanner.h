// Reads a prefix tree in key order, upwards or downwards. It holds pointers into the tree, so it is
// good only while the tree does not change: a scan that lasts longer keeps a key (ScanCursor) and
// seeks again at each slice. Runs are sorted when it comes to them. Iterative: a frame per level,
// at most 8. Single-threaded. Paper: ERIS 3.1 (scans).
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
  // Stands before the first key >= `from`; backward: behind the last key <= `from`. `tree` outlives
  // the scanner.
  BasicTreeScanner(const PrefixTree& tree, uint64_t from);

  // The next rows that lie together, at most `rows_max` (1 or more), no key of them behind `to`
  // (above it; backward: below it), and moves behind them. No rows: there are no more.
  ScanPiece Next(uint64_t to, uint32_t rows_max);

  // Copies the next rows into keys and values, at most `rows_max`, none behind `to`, and moves
  // behind them. Fewer than that: there are no more.
  uint32_t Read(uint64_t to, uint64_t* keys, uint64_t* values, uint32_t rows_max);

 private:
  static constexpr bool kBackward = kDirection == ScanDirection::kBackward;

  // The path to a run or page, and what lies behind it: at each TreeNode the start of the child to
  // go on at; backward, the end of those that are left.
  struct Frame {
    TreeRef ref;
    unsigned next = 0;
  };
  struct LeafPath {
    Frame frames[kLevelsMax];
    unsigned depth = 0;

    // Down to where `key` belongs: a run, a page, a TreeNode of other keys, or nothing.
    TreeRef Descend(TreeRef ref, uint64_t key);
    // Down to the first run or page of a subtree; on to the next one, or none.
    TreeRef First(TreeRef ref);
    TreeRef Next();
  };

  // The child to go on with; without one start is 256.
  static Child ChildFrom(TreeRef ref, unsigned next) {
    if constexpr (kBackward) return PreviousChild(ref, next);
    return next < 256 ? NextChild(ref, next) : Child{};
  }
  static unsigned Behind(const Child& child) { return kBackward ? child.start : child.start + 1; }

  // To the end of a run or page where reading begins.
  void Enter(TreeRef ref);
  // On to the next run or page. False: there is none.
  bool Advance();
  // Fetches the run or page that comes next, ahead of those that have been fetched.
  void FetchNext();
  ScanPiece NextPiece(uint64_t to, uint32_t rows_max);  // Next, inline
  // Of the run or page at hand, which is left when its last row is given.
  ScanPiece RunPiece(uint64_t to, uint32_t rows_max);
  ScanPiece PagePiece(uint64_t to, uint32_t rows_max);

  LeafPath path_;        // to the one at hand
  LeafPath fetched_;     // to the last one that was fetched
  unsigned ahead_ = 0;   // how many lie between them
  unsigned passed_ = 0;  // up to kShortScan
  TreeRef at_;           // a run or a page
  unsigned next_ = 0;    // its pair or byte to go on at; backward: the end of those that are left
};

extern template class BasicTreeScanner<ScanDirection::kForward>;
extern template class BasicTreeScanner<ScanDirection::kBackward>;
using TreeScanner = BasicTreeScanner<ScanDirection::kForward>;
using ReverseTreeScanner = BasicTreeScanner<ScanDirection::kBackward>;

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_SCANNER_H_
