// A range of keys, its rows in a prefix tree, and the lent ones: the common part of partitions with
// ordered rows, whatever the words of their trees mean. Cuts, joins and Rehome take O(depth).
// Single-threaded. Paper: ERIS 3.3.2.
#ifndef ERIS_STORAGE_TREE_TREE_RANGE_H_
#define ERIS_STORAGE_TREE_TREE_RANGE_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "memory/local_cache.h"
#include "storage/ordered_partition.h"
#include "storage/tree/prefix_tree.h"
#include "storage/tree/tree_loan.h"

namespace eris::storage {

class TreeRange {
 public:
  // Without rows. `cache` outlives it. `weight` and `free_values` are the tree's.
  TreeRange(const Range& range, memory::LocalCache& cache, PrefixTree::Weight weight,
            PrefixTree::FreeValues free_values)
      : range_(range), tree_(cache, weight), loan_(free_values) {}
  ~TreeRange() { loan_.FreeAll(tree_); }
  TreeRange(const TreeRange&) = delete;
  TreeRange& operator=(const TreeRange&) = delete;

  const Range& range() const { return range_; }
  // The weight of the keys, without lent or forgotten ones.
  uint64_t size() const { return tree_.size() - loan_.hidden_rows(); }
  memory::LocalCache& cache() const { return tree_.cache(); }
  PrefixTree& tree() { return tree_; }
  const PrefixTree& tree() const { return tree_; }
  const TreeLoan& loan() const { return loan_; }

  // The calls of Partition with the same names, and their errors. `upper` becomes [key, hi).
  // REQUIRES: it has no rows, and the same cache.
  absl::Status SplitAt(const Key& key, TreeRange& upper);
  absl::Status Absorb(TreeRange& other);
  absl::Status Rehome(memory::LocalCache& cache);
  bool Forget(uint32_t rows_max) { return loan_.Forget(tree_, rows_max); }
  void TakeBack() { loan_.TakeBack(range_); }
  bool Maintain(uint32_t rows_max) { return loan_.FreeForgotten(tree_, rows_max); }
  void Abandon() {
    tree_.Abandon();
    loan_.Abandon();
  }

  // Partition::Ingest of `count` rows that `build` puts into an empty tree; `build` returns false:
  // no memory.
  absl::Status Ingest(const Range& covers, size_t count,
                      absl::FunctionRef<bool(PrefixTree& rows)> build);

  // Partition::Lend if each key is a row.
  absl::Status Lend(const Range& leaving, Partition::End from, uint32_t rows_max,
                    ExchangeChunk& out) {
    return loan_.Lend(tree_, leaving, from, rows_max, range_, out);
  }
  // The same in three steps, for rows that the caller copies. CanLend: whether it is possible,
  // before anything changes. Settle: removes forgotten rows from the tree, when nothing can be
  // refused any more. Hide: lends the rows of `covers`, whose weight is `rows`.
  absl::Status CanLend(const Range& leaving, Partition::End from) const {
    return loan_.CanLend(leaving, from, range_);
  }
  void Settle() { loan_.Settle(tree_); }
  void Hide(const Range& covers, Partition::End from, uint64_t rows) {
    loan_.Hide(covers, from, rows, range_);
  }

 private:
  Range range_;
  PrefixTree tree_;
  TreeLoan loan_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_RANGE_H_
