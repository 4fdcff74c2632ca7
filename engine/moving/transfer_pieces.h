// What of a transfer's range leaves next, and from which end: a pure function of the partition
// table in force. A plan's range may span several of the source's ranges, and what has moved since
// it was made.
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
  // Of copies: the end whose chunks go first, so that the target's range and what is left of the
  // source's stay in one piece.
  storage::Partition::End from = storage::Partition::End::kLow;
};

// The first part of `range` that `source` still owns; nullopt: nothing is left.
// O(partitions in the range).
std::optional<TransferPiece> NextPiece(const routing::RangeTable& table,
                                       const storage::Range& range, AeuId source, AeuId target);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_TRANSFER_PIECES_H_
