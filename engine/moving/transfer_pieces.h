// The next part of a transfer's range to move, and from which end: a pure function of the current
// partition table. A plan's range may span several of the source's ranges, and parts that have
// moved since it was made.
#ifndef ERIS_ENGINE_MOVING_TRANSFER_PIECES_H_
#define ERIS_ENGINE_MOVING_TRANSFER_PIECES_H_

#include <optional>

#include "eris/types.h"
#include "routing/ranges/range_table.h"
#include "storage/key.h"
#include "storage/partition.h"

namespace eris::engine {

struct TransferPiece {
  storage::Range leaving;  // within one partition of the table
  // For copies: the end whose chunks go first, so that the target's range and the rest of the
  // source's range stay in one piece.
  storage::Partition::End from = storage::Partition::End::kLow;
};

// The first part of `range` that `source` still owns; nullopt: nothing is left. O(partitions in the
// range).
std::optional<TransferPiece> NextPiece(const routing::RangeTable& table,
                                       const storage::Range& range, AeuId source, AeuId target);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_TRANSFER_PIECES_H_
