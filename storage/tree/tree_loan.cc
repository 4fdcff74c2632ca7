#include "storage/tree/tree_loan.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "storage/range_ops.h"
#include "storage/tree/tree_count.h"
#include "storage/tree/tree_scanner.h"

namespace eris::storage {
namespace {

constexpr uint64_t kLastHead = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kLoanRun = 256;

}  // namespace

absl::Status TreeLoan::CanChange(absl::string_view what) const {
  if (!out_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " while the rows of ", Text(covers_), " are lent"));
}

absl::Status TreeLoan::CanLend(const Range& leaving, End from, const Range& range) const {
  ERIS_RETURN_IF_ERROR(CanChange("lend more rows"));
  ERIS_RETURN_IF_ERROR(CheckEnd(leaving, range));
  if (from == End::kLow ? leaving.lo == range.lo : leaving.hi == range.hi) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Text(leaving), " is not the ", from == End::kLow ? "low" : "high", " end of ", Text(range)));
}

absl::Status TreeLoan::Lend(PrefixTree& tree, const Range& leaving, End from, uint32_t rows_max,
                            Range& range, ExchangeChunk& out) {
  ERIS_RETURN_IF_ERROR(CanLend(leaving, from, range));
  const uint64_t last = leaving.Empty() ? 0 : LastFirstPartOf(leaving);
  const uint64_t all = leaving.Empty() ? 0 : CountKeys(tree, leaving.lo.head, last);
  const uint64_t rows = std::min<uint64_t>(rows_max, all);
  out.ClearExtras();
  try {  // the copy is on the general heap, which reports "no memory" by an exception
    out.keys.resize(rows);
    out.values.resize(rows);
  } catch (const std::bad_alloc&) {
    return NoMemory(absl::StrCat("lend ", rows, " rows"));
  }
  Settle(tree);  // now that nothing can be refused any more
  if (rows > 0) {
    // From the high end: the rows below are counted, not read.
    const uint64_t first =
        from == End::kLow || rows == all ? leaving.lo.head : KeyAtRank(tree, tree.size() - rows);
    TreeScanner scanner(tree, first);
    const uint32_t read =
        scanner.Read(last, out.keys.data(), out.values.data(), static_cast<uint32_t>(rows));
    ERIS_CHECK(read == rows);
  }
  out.covers = ChunkRange(leaving, from, rows == all, out.keys);
  Hide(out.covers, from, rows, range);
  return absl::OkStatus();
}

void TreeLoan::Hide(const Range& covers, End from, uint64_t rows, Range& range) {
  ERIS_DCHECK(!out_);
  ERIS_DCHECK(hidden_rows_ == 0);
  out_ = true;
  end_ = from;
  covers_ = covers;
  hidden_rows_ = rows;
  CutOff(range, covers);
}

Range TreeLoan::TakeBack(Range& range) {
  if (!out_) return {range.lo, range.lo};
  out_ = false;
  hidden_rows_ = 0;
  Widen(range, covers_);
  return covers_;
}

bool TreeLoan::Forget(PrefixTree& tree, uint32_t rows_max) {
  if (out_) {
    out_ = false;
    CutOffHidden(tree);
  }
  return FreeForgotten(tree, rows_max);
}

bool TreeLoan::FreeForgotten(PrefixTree& tree, uint32_t rows_max) {
  int64_t rows_left = rows_max;
  FreeCutOff(tree.cache(), rows_left);
  if (!out_) EraseHidden(tree, rows_left);
  return AnyForgotten();
}

bool TreeLoan::Settle(PrefixTree& tree) {
  ERIS_DCHECK(!out_);
  if (CutOffHidden(tree)) return true;
  int64_t rows_left = std::numeric_limits<int64_t>::max();
  EraseHidden(tree, rows_left);
  return false;
}

bool TreeLoan::CutOffHidden(PrefixTree& tree) {
  if (hidden_rows_ == 0) return false;
  if (hidden_rows_ == tree.size()) {
    AddForgotten(tree.Release(), tree.cache());
  } else {
    // More rows follow, so the boundary between them and the hidden ones is a key.
    PrefixTree upper(tree.cache(), tree.weight());
    if (!tree.SplitAt(end_ == End::kLow ? covers_.hi->head : covers_.lo.head, upper)) {
      return false;
    }
    if (end_ == End::kLow) tree.Swap(upper);
    AddForgotten(upper.Release(), tree.cache());
  }
  hidden_rows_ = 0;
  return true;
}

void TreeLoan::EraseHidden(PrefixTree& tree, int64_t& rows_left) {
  uint64_t keys[kLoanRun];
  uint64_t values[kLoanRun];
  while (hidden_rows_ > 0 && rows_left > 0) {
    const uint64_t first = end_ == End::kLow ? 0 : covers_.lo.head;
    const uint64_t last = end_ == End::kLow ? covers_.hi->head - 1 : kLastHead;
    const auto most = static_cast<uint32_t>(std::min<int64_t>(rows_left, kLoanRun));
    const uint32_t read = TreeScanner(tree, first).Read(last, keys, values, most);
    ERIS_CHECK(read > 0);
    for (uint32_t i = 0; i < read; ++i) {
      const uint64_t rows = tree.WeightOf(values[i]);
      if (rows > 1) tree.Reweigh(keys[i], 1 - static_cast<int64_t>(rows));
      tree.Erase(keys[i]);
      hidden_rows_ -= rows;
      rows_left -= static_cast<int64_t>(rows);
    }
    if (free_values_ != nullptr) free_values_(tree.cache(), values, read);
  }
}

void TreeLoan::AddForgotten(TreeRef root, memory::LocalCache& cache) {
  if (root.IsNone()) return;
  if (!forgotten_.back().IsNone()) {
    PrefixTree oldest(cache, forgotten_.front());
    oldest.FreeRows(kLastHead >> 1, free_values_);
    std::move(forgotten_.begin() + 1, forgotten_.end(), forgotten_.begin());
    forgotten_.back() = TreeRef();
  }
  *std::find(forgotten_.begin(), forgotten_.end(), TreeRef()) = root;
}

void TreeLoan::FreeNewest(memory::LocalCache& cache) {
  const auto end = std::find(forgotten_.begin(), forgotten_.end(), TreeRef());
  PrefixTree newest(cache, std::exchange(*(end - 1), TreeRef()));
  newest.FreeRows(kLastHead >> 1, free_values_);
}

void TreeLoan::FreeCutOff(memory::LocalCache& cache, int64_t& rows_left) {
  while (rows_left > 0 && !forgotten_[0].IsNone()) {
    PrefixTree oldest(cache, forgotten_[0]);
    rows_left = oldest.FreeRows(rows_left, free_values_);
    forgotten_[0] = oldest.Release();
    if (!forgotten_[0].IsNone()) return;
    std::move(forgotten_.begin() + 1, forgotten_.end(), forgotten_.begin());
    forgotten_.back() = TreeRef();
  }
}

void TreeLoan::Adopt(TreeLoan& other, memory::LocalCache& cache) {
  ERIS_DCHECK(other.hidden_rows_ == 0);
  for (TreeRef& root : other.forgotten_) AddForgotten(std::exchange(root, TreeRef()), cache);
}

void TreeLoan::FreeAll(PrefixTree& tree) {
  int64_t rows_left = std::numeric_limits<int64_t>::max();
  FreeCutOff(tree.cache(), rows_left);
  tree.FreeRows(rows_left, free_values_);
}

void TreeLoan::Abandon() {
  forgotten_.fill(TreeRef());
  hidden_rows_ = 0;
  out_ = false;
}

}  // namespace eris::storage
