// Rows of a prefix tree that are lent to another partition, or have just been given to it: used by
// partitions with trees when ranges move as copies (Partition::Lend).
//
// A loan hides the rows at one end of the tree and leaves them in place, so it can be taken back
// immediately and without memory. When it is forgotten the rows are cut off the tree, in O(depth),
// and freed over time. If there is no memory for the cut, they stay hidden in the tree and are
// erased over time, which needs none.
//
// Before its range is cut or joined, a partition must call Settle: until then hidden rows may be
// next to the range, and keys may be inserted there. Single-threaded. Paper: ERIS 3.3.2.
#ifndef ERIS_STORAGE_TREE_TREE_LOAN_H_
#define ERIS_STORAGE_TREE_TREE_LOAN_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "memory/local_cache.h"
#include "storage/partition.h"
#include "storage/tree/prefix_tree.h"

namespace eris::storage {

class TreeLoan {
 public:
  using End = Partition::End;

  // `free_values`: for forgotten rows.
  explicit TreeLoan(PrefixTree::FreeValues free_values = nullptr) : free_values_(free_values) {}

  bool out() const { return out_; }
  // Rows in the tree that do not belong to the range: lent, or forgotten but not cut off.
  uint64_t hidden_rows() const { return hidden_rows_; }

  // Partition::Lend for a tree whose keys have weight 1: copies the rows to `out`, hides them, and
  // removes the chunk's range from `range`. Errors: as there; only `out` may have changed.
  absl::Status Lend(PrefixTree& tree, const Range& leaving, End from, uint32_t rows_max,
                    Range& range, ExchangeChunk& out);
  // The same if the rows have been copied already: `covers` has `rows` rows. REQUIRES: CanLend
  // succeeded, and Settle was called since.
  void Hide(const Range& covers, End from, uint64_t rows, Range& range);
  // Errors: FailedPrecondition (a loan is out), InvalidArgument (not that end of the range).
  absl::Status CanLend(const Range& leaving, End from, const Range& range) const;
  // FailedPrecondition while a loan is out: then `what` is not possible.
  absl::Status CanChange(absl::string_view what) const;

  // For checks: trees of forgotten rows, some of which may have been freed.
  const auto& forgotten() const { return forgotten_; }

  // Partition::Forget and TakeBack. Without a loan, Forget continues with rows forgotten before.
  // TakeBack returns the range that is part of `range` again; empty without a loan.
  bool Forget(PrefixTree& tree, uint32_t rows_max);
  Range TakeBack(Range& range);
  // Frees about `rows_max` of the forgotten rows, even while another loan is out. True: more.
  bool FreeForgotten(PrefixTree& tree, uint32_t rows_max);

  // Removes all forgotten rows from the tree. O(depth); without memory for that, as long as erasing
  // the rest of a chunk takes. True: rows have been cut off, which may have taken blocks; they are
  // returned when the rows are freed. REQUIRES: !out().
  bool Settle(PrefixTree& tree);
  // Settle, for a call that may still be refused for lack of memory. A refused call keeps no block:
  // the rows that it has cut off are freed at its end. They have at least as many blocks as the cut
  // took. Tree and loan outlive it.
  class Settled {
   public:
    Settled(TreeLoan& loan, PrefixTree& tree)
        : loan_(loan), tree_(tree), frees_(loan.Settle(tree)) {}
    ~Settled() {
      if (frees_) loan_.FreeNewest(tree_.cache());
    }
    Settled(const Settled&) = delete;
    Settled& operator=(const Settled&) = delete;
    // The call is not refused: the rows are freed over time.
    void Keep() { frees_ = false; }

   private:
    TreeLoan& loan_;
    PrefixTree& tree_;
    bool frees_;
  };
  // Takes over what an absorbed partition still has to free. REQUIRES: it has settled; the same
  // cache.
  void Adopt(TreeLoan& other, memory::LocalCache& cache);
  // At the partition's end: frees everything, with the rows of the tree.
  void FreeAll(PrefixTree& tree);
  // Partition::Abandon.
  void Abandon();

 private:
  // Chunks whose rows are being freed: if there are more, the oldest one is freed at once.
  static constexpr uint32_t kForgottenMax = 4;

  // Cuts the hidden rows off the tree. False: there are none, or they stay because there is no
  // memory for the cut.
  bool CutOffHidden(PrefixTree& tree);
  void EraseHidden(PrefixTree& tree, int64_t& rows_left);
  void FreeCutOff(memory::LocalCache& cache, int64_t& rows_left);
  void AddForgotten(TreeRef root, memory::LocalCache& cache);
  // Frees all rows of the tree forgotten last. REQUIRES: there is one.
  void FreeNewest(memory::LocalCache& cache);
  bool AnyForgotten() const { return (hidden_rows_ > 0 && !out_) || !forgotten_[0].IsNone(); }

  PrefixTree::FreeValues free_values_;
  bool out_ = false;
  End end_ = End::kLow;       // the end with the hidden rows
  uint64_t hidden_rows_ = 0;  // their weight
  Range covers_;              // the loan's range
  // Trees of forgotten rows, from index 0 without a gap.
  std::array<TreeRef, kForgottenMax> forgotten_{};
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_LOAN_H_
