#include "storage/tree/tree_range.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/range_ops.h"

namespace eris::storage {

absl::Status TreeRange::SplitAt(const Key& key, TreeRange& upper) {
  ERIS_RETURN_IF_ERROR(CheckWidth(key));
  if (key <= range_.lo || !range_.Contains(key)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot split ", Text(range_), " at ", key.head));
  }
  ERIS_RETURN_IF_ERROR(loan_.CanChange("split a partition"));
  TreeLoan::Settled settled(loan_, tree_);
  if (!tree_.SplitAt(key.head, upper.tree_)) return NoMemory("split a partition");
  settled.Keep();
  upper.range_ = {key, range_.hi};
  range_.hi = key;
  return absl::OkStatus();
}

absl::Status TreeRange::Absorb(TreeRange& other) {
  if (&other == this) return absl::InvalidArgumentError("a partition cannot absorb itself");
  if (!Adjacent(other.range_, range_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(other.range_), " is not adjacent to ", Text(range_)));
  }
  if (&other.cache() != &cache()) {
    return absl::InvalidArgumentError("the partitions have different caches");
  }
  ERIS_RETURN_IF_ERROR(loan_.CanChange("absorb a partition"));
  ERIS_RETURN_IF_ERROR(other.loan_.CanChange("absorb a partition"));
  TreeLoan::Settled settled(loan_, tree_);
  TreeLoan::Settled other_settled(other.loan_, other.tree_);
  if (!tree_.Absorb(other.tree_)) return NoMemory("absorb a partition");
  settled.Keep();
  other_settled.Keep();
  loan_.Adopt(other.loan_, cache());
  Widen(range_, other.range_);
  MakeEmpty(other.range_);
  return absl::OkStatus();
}

absl::Status TreeRange::Rehome(memory::LocalCache& cache) {
  ERIS_RETURN_IF_ERROR(CheckHome(tree_.cache(), cache));
  tree_.Rehome(cache);
  return absl::OkStatus();
}

absl::Status TreeRange::Ingest(const Range& covers, size_t count,
                               absl::FunctionRef<bool(PrefixTree& rows)> build) {
  if (!Adjacent(covers, range_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk ", Text(covers), " is not adjacent to ", Text(range_)));
  }
  ERIS_RETURN_IF_ERROR(loan_.CanChange("ingest a chunk"));
  TreeLoan::Settled settled(loan_, tree_);
  PrefixTree rows(tree_.cache(), tree_.weight());
  if (!build(rows) || !tree_.Absorb(rows)) return NoMemory(absl::StrCat("ingest ", count, " rows"));
  settled.Keep();
  Widen(range_, covers);
  return absl::OkStatus();
}

}  // namespace eris::storage
