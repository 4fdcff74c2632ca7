#include "aeu/transfers/copy_method.h"

#include <algorithm>
#include <new>
#include <utility>

#include "aeu/state/reserve_more.h"
#include "aeu/transfers/stopwatch.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "storage/ordered_partition.h"

namespace eris::aeu {

using absl::StatusCode;
using base::LeanStatus;
using routing::TransferStep;
using storage::Partition;
using storage::Range;

namespace {

template <class T>
uint64_t BytesOf(const std::vector<T>& column) {
  return column.size() * sizeof(T);
}

uint64_t BytesOf(const storage::ExchangeChunk& chunk) {
  const storage::VersionColumns& versions = chunk.versions;
  uint64_t bytes = BytesOf(chunk.keys) + BytesOf(chunk.values) + BytesOf(chunk.offsets) +
                   chunk.bytes.size() + BytesOf(chunk.seconds) + BytesOf(versions.keys) +
                   BytesOf(versions.seconds) + BytesOf(versions.ends) + BytesOf(versions.values) +
                   BytesOf(versions.offsets) + versions.bytes.size();
  for (const ColumnBuffers& column : chunk.rows.columns) {
    bytes += column.values.size() + column.validity.size() + column.offsets.size();
  }
  return bytes;
}

uint64_t RowsOf(const storage::ExchangeChunk& chunk) {
  return std::max<uint64_t>(chunk.keys.size(), chunk.rows.count);  // a heap table has no keys
}

// The time that a turn may spend on the step.
uint64_t TurnCpuNs(const TransferStep& step) {
  return step.turn_cpu_ns_max > 0 ? step.turn_cpu_ns_max : TransferTurn::kCpuNsMax;
}

}  // namespace

// --- The source.

absl::StatusOr<bool> CopyMethod::Prepare(ObjectSlot& slot, Partition& partition, const Range& given,
                                         const TransferStep& step) {
  storage::Preparation* const preparation = partition.preparation();
  if (preparation == nullptr) return true;
  const uint64_t turn_cpu_ns = TurnCpuNs(step);
  WorkPace& pace = slot.paces().walk;
  const uint32_t rows = pace.Rows(turn_cpu_ns, kWalkedPerTurn);
  turn_.stepped = true;
  const uint64_t began_ns = turn_.clock();
  std::erase(releasing_, &slot);  // this call does it
  PreparedRows& prepared = slot.prepared();
  if (prepared.partition != &partition || prepared.leaving != given) {
    prepared = {};
    // The preparation of a transfer that was stopped.
    absl::StatusOr<bool> cancelled = preparation->CancelExtract(rows);
    if (!cancelled.ok()) return cancelled.status();
    pace.Learn(rows, turn_.clock() - began_ns, *cancelled);
    if (!*cancelled) return false;
    ERIS_RETURN_IF_ERROR(preparation->PrepareExtract(given));
    prepared = {&partition, given, false};
  }
  // returns true, or continues if needed
  if (prepared.ready) return preparation->WalkLeaving(rows);
  const absl::StatusOr<bool> walked = preparation->WalkLeaving(rows);
  if (!walked.ok()) return walked.status();
  pace.Learn(rows, turn_.clock() - began_ns, *walked);
  prepared.ready = *walked;
  return false;  // the chunk is cut in another turn
}

absl::Status CopyMethod::CutOff(ObjectSlot& slot, OwnedRange& owned, const Range& given,
                                TransferStep& step, Partition*& lender_out) {
  Partition* lender = owned.partition.get();
  if (storage::OrderedPartition* const ordered = lender->ordered()) {
    // Only an end can be lent, so a range in the middle must become an end first.
    const bool low = step.from == Partition::End::kLow;
    if (low ? given.lo != lender->range().lo : given.hi != lender->range().hi) {
      auto cut = ordered->SplitAt(low ? given.lo : *given.hi);
      if (!cut.ok()) return cut.status();
      owned.load->SetSize(lender->size());
      host_.SettleVersions(owned);
      if (low) lender = cut->get();
      ranges_.Add(slot, *std::move(cut));
    }
  }
  // The chunk's memory belongs to the engine, which prepared it.
  const storage::ChunkLimit limit(std::max<uint32_t>(step.rows_max, 1), step.bytes_max);
  ERIS_RETURN_IF_ERROR(lender->Lend(given, step.from, limit, step.chunk));
  lender_out = lender;
  OwnedRange& lends = *slot.Find(lender);
  lends.lends = true;
  host_.SettleVersions(lends);
  SlotRanges::SettleLoad(lends);  // it may now begin elsewhere
  slot.Reorder(SlotRanges::IndexOf(slot, lends));
  step.covers = step.chunk.covers;
  step.rows = RowsOf(step.chunk);
  step.bytes = BytesOf(step.chunk);
  step.filled = slot.has_keys() && step.covers != given;
  if (PreparedRows& prepared = slot.prepared(); prepared.partition == lender) {
    if (prepared.leaving == step.covers) {
      prepared = {};
    } else if (step.from == Partition::End::kLow) {
      prepared.leaving.lo = *step.covers.hi;
    } else {
      prepared.leaving.hi = step.covers.lo;
    }
  }
  return absl::OkStatus();
}

void CopyMethod::Conclude(ObjectSlot& slot, TransferStep& step, Partition* lender, bool installed) {
  OwnedRange& lends = *slot.Find(lender);
  lends.lends = false;
  if (installed) {
    lends.partition->SetDeath(step.born);
    return BeginForgetting(slot, lends);
  }
  lends.partition->TakeBack();
  if (slot.prepared().partition == lender) slot.prepared() = {};
  host_.SettleVersions(lends);
  SlotRanges::SettleLoad(lends);
  ranges_.Join(slot, slot.Reorder(SlotRanges::IndexOf(slot, lends)));
}

// --- The target.

absl::Status CopyMethod::TakeIn(ObjectSlot& slot, TransferStep& step) {
  const storage::ExchangeChunk& chunk = step.chunk;
  absl::StatusOr<std::optional<size_t>> beside = IngestBeside(slot, chunk);
  if (!beside.ok()) return beside.status();
  if (*beside) {
    ranges_.Join(slot, **beside);
    return absl::OkStatus();
  }
  if (slot.spec().kind == ObjectKind::kHeapTable) {
    return LeanStatus(StatusCode::kFailedPrecondition,
                      "the AEU has no part of the table to add the rows to");
  }
  auto partition = slot.MakePartition({chunk.covers.lo, chunk.covers.lo}, snapshots_);
  if (!partition.ok()) return partition.status();
  ERIS_RETURN_IF_ERROR((*partition)->Ingest(chunk));
  ranges_.Add(slot, *std::move(partition));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<size_t>> CopyMethod::IngestBeside(
    ObjectSlot& slot, const storage::ExchangeChunk& chunk) {
  const bool heap = slot.spec().kind == ObjectKind::kHeapTable;
  for (size_t i = 0; i < slot.ranges().size(); ++i) {
    OwnedRange& owned = slot.ranges()[i];
    const Range range = owned.partition->range();
    const bool touches =
        heap || (!range.Empty() && (range.hi == chunk.covers.lo || chunk.covers.hi == range.lo));
    if (!touches || owned.lends) continue;
    const absl::Status status = owned.partition->Ingest(chunk);
    if (absl::IsFailedPrecondition(status)) continue;  // its rows are prepared to leave
    if (!status.ok()) return status;
    host_.SettleVersions(owned);
    SlotRanges::SettleLoad(owned);
    return slot.Reorder(i);
  }
  return std::nullopt;
}

// --- What follows.

void CopyMethod::BeginForgetting(ObjectSlot& slot, OwnedRange& owned) {
  // For a table all rows die in this call, at the epoch at which the target's were born. For other
  // kinds it frees the first piece.
  WorkPace& pace = slot.paces().forget;
  const uint32_t rows = pace.Rows(turn_.cpu_ns_max, kForgottenPerTurn);
  const uint64_t began_ns = turn_.clock();
  const bool more = owned.partition->Forget(snapshots_, rows);
  host_.SettleVersions(owned);
  host_.MemoryFreed(slot);
  if (!slot.spec().is_table()) pace.Learn(rows, turn_.clock() - began_ns, !more);
  if (!more) return EndForgetting(slot, owned);
  owned.forgets = true;
  forgetting_.push_back({&slot, owned.partition.get()});
}

void CopyMethod::Forget(uint32_t rows_max) {
  if (turn_.stepped || forgetting_.empty()) return;
  const Forgetting one = forgetting_.front();  // one per turn
  OwnedRange& owned = *one.slot->Find(one.partition);
  ERIS_DCHECK(!owned.lends);  // forgetting more would forget the rows that it lends
  WorkPace& pace = one.slot->paces().forget;
  const uint32_t rows = pace.Rows(turn_.cpu_ns_max, rows_max);
  const Stopwatch watch;
  const uint64_t began_ns = turn_.clock();
  const bool more = owned.partition->Forget(snapshots_, rows);
  host_.SettleVersions(owned);
  host_.MemoryFreed(*one.slot);
  watch.Stop(forget_cpu_ns_, forget_wall_ns_);
  pace.Learn(rows, turn_.clock() - began_ns, !more);
  if (more) return;
  owned.forgets = false;
  forgetting_.erase(forgetting_.begin());
  EndForgetting(*one.slot, owned);
}

void CopyMethod::EndForgetting(ObjectSlot& slot, OwnedRange& owned) {
  if (!owned.partition->range().Empty()) {
    ranges_.Join(slot, SlotRanges::IndexOf(slot, owned));
  } else if (owned.partition->CanGo(snapshots_)) {
    ranges_.Remove(slot, owned);
  }
  host_.RangesChanged(slot);
}

void CopyMethod::TakeForgetCost(TransferStep& step) {
  step.forget_cpu_ns = std::exchange(forget_cpu_ns_, 0);
  step.forget_wall_ns = std::exchange(forget_wall_ns_, 0);
}

absl::Status CopyMethod::BeginReleasing(ObjectSlot& slot) {
  slot.prepared() = {};
  if (std::find(releasing_.begin(), releasing_.end(), &slot) != releasing_.end()) {
    return absl::OkStatus();
  }
  try {
    ReserveMore(releasing_, 1);
  } catch (const std::bad_alloc&) {
    return base::NoMemory("no memory to take back what was made ready to leave");
  }
  releasing_.push_back(&slot);
  return absl::OkStatus();
}

void CopyMethod::Release() {
  if (turn_.stepped || releasing_.empty()) return;
  ObjectSlot& slot = *releasing_.front();
  WorkPace& pace = slot.paces().walk;
  const uint32_t rows = pace.Rows(turn_.cpu_ns_max, kWalkedPerTurn);
  for (const OwnedRange& owned : slot.ranges()) {
    storage::Preparation* const preparation = owned.partition->preparation();
    if (preparation == nullptr) continue;
    const uint64_t began_ns = turn_.clock();
    const absl::StatusOr<bool> released = base::OrNoMemory(
        "no memory to take rows back", [&] { return preparation->CancelExtract(rows); });
    // Without memory the next transfer tries again.
    if (!released.ok()) break;
    pace.Learn(rows, turn_.clock() - began_ns, *released);
    if (!*released) return;
  }
  releasing_.erase(releasing_.begin());
}

void CopyMethod::Reserve() { ReserveMore(forgetting_, 1); }

void CopyMethod::EndAll(const ObjectSlot* slot) {
  std::erase_if(forgetting_, [&](const Forgetting& one) { return one.slot == slot; });
  std::erase(releasing_, slot);
}

}  // namespace eris::aeu
