#include "aeu/transfers/segment_method.h"

#include "base/lean_status.h"
#include "base/status_macros.h"
#include "storage/table/table_partition.h"

namespace eris::aeu {

using routing::TransferStep;
using storage::Partition;
using storage::Range;

absl::Status SegmentMethod::CutOff(ObjectSlot&, OwnedRange& owned, const Range&, TransferStep& step,
                                   Partition*&) {
  ERIS_RETURN_IF_ERROR(
      owned.partition->table()->CutSegments(step.rows_max, snapshots_, step.segments));
  Settle(owned);
  step.rows = step.segments.rows;
  step.covers = Range{};
  return absl::OkStatus();
}

absl::Status SegmentMethod::TakeIn(ObjectSlot& slot, TransferStep& step) {
  if (slot.ranges().empty()) {
    return base::LeanStatus(absl::StatusCode::kFailedPrecondition,
                            "the AEU has no part of the table to add the rows to");
  }
  OwnedRange& owned = slot.ranges().front();
  ERIS_RETURN_IF_ERROR(owned.partition->table()->TakeSegments(step.segments));
  Settle(owned);
  return absl::OkStatus();
}

void SegmentMethod::Conclude(ObjectSlot& slot, TransferStep& step, Partition*, bool installed) {
  OwnedRange& owned = slot.ranges().front();
  storage::TablePartition& table = *owned.partition->table();
  if (installed) return table.SegmentsAreGone();
  table.TakeSegmentsBack(step.segments);
  Settle(owned);
}

void SegmentMethod::Settle(OwnedRange& owned) {
  host_.SettleVersions(owned);
  SlotRanges::SettleLoad(owned);
}

}  // namespace eris::aeu
