#include "aeu/transfers/link_method.h"

#include <memory>
#include <utility>

#include "base/lean_status.h"
#include "base/status_macros.h"
#include "storage/ordered_partition.h"

namespace eris::aeu {

using routing::TransferStep;
using storage::OrderedPartition;
using storage::Partition;
using storage::Range;

absl::Status LinkMethod::Check(const ObjectSlot& slot) const {
  if (slot.spec().kind == ObjectKind::kIndex) return absl::OkStatus();
  return base::LeanStatus(absl::StatusCode::kInvalidArgument,
                          "this kind of object moves by copy only");
}

absl::Status LinkMethod::CutOff(ObjectSlot& slot, OwnedRange& owned, const Range& given,
                                TransferStep& step, Partition*&) {
  OrderedPartition& partition = *owned.partition->ordered();  // Check has tested the kind
  const Range whole = partition.range();
  std::unique_ptr<OrderedPartition> above, middle;
  if (given.hi != whole.hi) {
    absl::StatusOr<std::unique_ptr<OrderedPartition>> cut = partition.SplitAt(*given.hi);
    if (!cut.ok()) return cut.status();
    above = *std::move(cut);
  }
  if (given.lo != whole.lo) {
    absl::StatusOr<std::unique_ptr<OrderedPartition>> cut = base::OrNoMemory(
        "no memory to cut off a range", [&] { return partition.SplitAt(given.lo); });
    if (!cut.ok()) {
      // If it cannot be joined again there is one more range, and every row is in its place.
      if (above != nullptr && !partition.Absorb(*above).ok()) ranges_.Add(slot, std::move(above));
      host_.SettleVersions(*slot.Find(&partition));
      return cut.status();
    }
    middle = *std::move(cut);
  }
  if (middle != nullptr) {
    step.partition = std::move(middle);
    host_.SettleVersions(owned);
    owned.load->SetSize(partition.size());
    if (above != nullptr) ranges_.Add(slot, std::move(above));
  } else {
    step.partition = std::move(owned.partition);
    if (above != nullptr) {
      owned.partition = std::move(above);
      host_.SettleVersions(owned);
      SlotRanges::SettleLoad(owned);  // it now begins elsewhere
      slot.Reorder(SlotRanges::IndexOf(slot, owned));
    } else {
      ranges_.Remove(slot, owned);
    }
  }
  step.covers = given;
  step.rows = step.partition->size();
  return absl::OkStatus();
}

absl::Status LinkMethod::TakeIn(ObjectSlot& slot, TransferStep& step) {
  ERIS_RETURN_IF_ERROR(step.partition->ordered()->Rehome(slot.cache()));
  if (TraitsOf(step.kind).memory_follows) MoveObject(slot, step);
  ranges_.Join(slot, ranges_.Add(slot, std::move(step.partition)));
  return absl::OkStatus();
}

void LinkMethod::MoveObject(ObjectSlot& slot, TransferStep& step) {
  const Range none{step.covers.lo, step.covers.lo};
  auto fresh = base::OrNoMemory("no memory for a partition",
                                [&] { return slot.MakePartition(none, snapshots_); });
  // Without memory it stays, which is correct, too.
  if (!fresh.ok() || !(*fresh)->ordered()->Absorb(*step.partition->ordered()).ok()) return;
  step.partition = *std::move(fresh);
}

void LinkMethod::Conclude(ObjectSlot& slot, TransferStep& step, Partition*, bool installed) {
  if (!installed) ranges_.Join(slot, ranges_.Add(slot, std::move(step.partition)));
}

}  // namespace eris::aeu
