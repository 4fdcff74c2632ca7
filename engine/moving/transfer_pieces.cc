#include "engine/moving/transfer_pieces.h"

#include <algorithm>
#include <cstddef>

namespace eris::engine {
namespace {

using End = storage::Partition::End;

End EndOf(const routing::RangeTable& table, size_t partition, const storage::Range& leaving,
          AeuId target) {
  const storage::Range whole = table.RangeOf(partition);
  const bool low_end = leaving.lo == whole.lo;
  const bool high_end = leaving.hi == whole.hi;
  if (low_end && high_end) {
    const bool below = partition > 0 && table.owners()[partition - 1] == target;
    const bool above = partition + 1 < table.size() && table.owners()[partition + 1] == target;
    return above && !below ? End::kHigh : End::kLow;
  }
  return high_end ? End::kHigh : End::kLow;
}

}  // namespace

std::optional<TransferPiece> NextPiece(const routing::RangeTable& table,
                                       const storage::Range& range, AeuId source, AeuId target) {
  if (range.Empty()) return std::nullopt;
  for (size_t i = table.PartitionOf(range.lo.head); i < table.size(); ++i) {
    const storage::Range whole = table.RangeOf(i);
    if (range.hi && *range.hi <= whole.lo) break;
    if (table.owners()[i] != source) continue;
    TransferPiece piece{.leaving = whole};
    piece.leaving.lo = std::max(whole.lo, range.lo);
    if (range.hi && (!whole.hi || *range.hi < *whole.hi)) piece.leaving.hi = range.hi;
    piece.from = EndOf(table, i, piece.leaving, target);
    return piece;
  }
  return std::nullopt;
}

}  // namespace eris::engine
