// Rows of a prefix tree that are lent to another partition, or have just been given away for good:
// what partitions of trees do when ranges change hands as copies (Partition::Lend).
//
// A loan hides the rows at one end of the tree and leaves them where they are, so that it can be
// taken back at once and without memory. When it is forgotten they are cut off the tree, in
// O(depth), and freed by and by. Where there is no memory for the cut they stay hidden in the tree
// and are erased by and by: that needs none.
//
// Whose range is cut or joined next settles first: until then hidden rows may stand beside the
// range, and keys may come there. Single-threaded. Paper: ERIS 3.3.2.
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

  // `free_values`: of the rows that are forgotten.
  explicit TreeLoan(PrefixTree::FreeValues free_values = nullptr) : free_values_(free_values) {}

  bool out() const { return out_; }
  // Rows in the tree that are nobody's: lent, or forgotten and still to be cut off.
  uint64_t hidden_rows() const { return hidden_rows_; }

  // Partition::Lend for a tree whose keys count 1: copies to `out` and hides the rows, and takes
  // what they cover off `range`. Errors: as there; `out` may have changed, nothing else.
  absl::Status Lend(PrefixTree& tree, const Range& leaving, End from, uint32_t rows_max,
                    Range& range, ExchangeChunk& out);
  // The same where the rows have been copied already: `covers` has `rows` rows. REQUIRES: CanLend
  // said so, and Settle was called since.
  void Hide(const Range& covers, End from, uint64_t rows, Range& range);
  // Errors: FailedPrecondition (a loan is out), InvalidArgument (not that end of the range).
  absl::Status CanLend(const Range& leaving, End from, const Range& range) const;
  // FailedPrecondition while a loan is out: `what` is not possible then.
  absl::Status CanChange(absl::string_view what) const;

  // For checks: trees of rows forgotten, of which some may be freed already.
  const auto& forgotten() const { return forgotten_; }

  // Partition::Forget and TakeBack. Forget goes on with what has been forgotten before when no loan
  // is out. TakeBack answers what is part of `range` again; without a loan nothing.
  bool Forget(PrefixTree& tree, uint32_t rows_max);
  Range TakeBack(Range& range);
  // Frees about `rows_max` of the rows forgotten, whether or not another loan is out. True: more.
  bool FreeForgotten(PrefixTree& tree, uint32_t rows_max);

  // No forgotten row is in the tree any more. O(depth); where there is no memory for that, as long
  // as erasing the rest of a chunk takes. True: rows have been cut off, and that may have taken
  // blocks, which come back when the rows are freed. REQUIRES: !out().
  bool Settle(PrefixTree& tree);
  // Settle, for a call that may still be refused for want of memory. A refused call keeps no block:
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
    // The call is not refused: the rows are freed by and by.
    void Keep() { frees_ = false; }

   private:
    TreeLoan& loan_;
    PrefixTree& tree_;
    bool frees_;
  };
  // Takes over what another partition, that is absorbed, has still to free. REQUIRES: it has
  // settled; the same cache.
  void Adopt(TreeLoan& other, memory::LocalCache& cache);
  // At the partition's end: frees everything, with the rows of the tree.
  void FreeAll(PrefixTree& tree);
  // Partition::Abandon.
  void Abandon();

 private:
  // Chunks whose rows are being freed: when there are more, the oldest one is freed at once.
  static constexpr uint32_t kForgottenMax = 4;

  // Cuts the hidden rows off the tree. False: there are none, or they stay in it because there is
  // no memory for that.
  bool CutOffHidden(PrefixTree& tree);
  void EraseHidden(PrefixTree& tree, int64_t& rows_left);
  void FreeCutOff(memory::LocalCache& cache, int64_t& rows_left);
  void AddForgotten(TreeRef root, memory::LocalCache& cache);
  // All rows of the tree that was forgotten last. REQUIRES: there is one.
  void FreeNewest(memory::LocalCache& cache);
  bool AnyForgotten() const { return (hidden_rows_ > 0 && !out_) || !forgotten_[0].IsNone(); }

  PrefixTree::FreeValues free_values_;
  bool out_ = false;
  End end_ = End::kLow;       // where the hidden rows stand
  uint64_t hidden_rows_ = 0;  // what they count as
  Range covers_;              // of the loan
  // Trees of rows forgotten; from the first on, without a gap.
  std::array<TreeRef, kForgottenMax> forgotten_{};
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_LOAN_H_
