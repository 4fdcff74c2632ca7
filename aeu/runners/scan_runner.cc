#include "aeu/runners/scan_runner.h"

#include <algorithm>
#include <new>
#include <optional>

#include "aeu/state/clock.h"
#include "base/check.h"
#include "storage/ordered_partition.h"

namespace eris::aeu {

using routing::PartOutcome;

namespace {

bool Covers(const storage::Range& asked, const storage::Range& range) {
  return asked.lo <= range.lo && (!asked.hi || (range.hi && *range.hi <= *asked.hi));
}

uint64_t NearKey(const storage::ScanCursor& cursor) {
  return cursor.query.Backward() ? storage::LastFirstPartOf(cursor.rest) : cursor.rest.lo.head;
}

}  // namespace

void ScanRunner::Begin(const routing::CommandHeader* command, ObjectSlot* slot) {
  const auto* segment =
      reinterpret_cast<const routing::ScanSegment*>(routing::DataSegment(command));
  RunningScan scan;
  scan.slot = slot;
  scan.cursor.rest = scan.asked = segment->range;
  scan.cursor.rows_left = scan.rows_asked = segment->rows_max;
  scan.cursor.snapshot = command->snapshot;
  scan.cursor.query = segment->query;
  scan.aggregate = segment->aggregate;
  scan.part = segment->part;
  scan.complete = command->complete;
  scan.context = command->context;
  if (slot == nullptr) return Finish(scan, PartOutcome::kNoObject);
  try {
    scans_.push_back(scan);
  } catch (const std::bad_alloc&) {
    Finish(scan, PartOutcome::kNoMemory);
  }
}

void ScanRunner::EndAll(const ObjectSlot* slot) {
  for (size_t i = 0; i < scans_.size();) {
    if (scans_[i].slot == slot) {
      Finish(scans_[i], PartOutcome::kNoObject);
      scans_[i] = scans_.back();
      scans_.pop_back();
    } else {
      ++i;
    }
  }
}

bool ScanRunner::Advance(uint64_t deadline_ns) {
  bool moved = false;
  // Each scan at most once per turn; a scan that did not get its slice is first in the next one.
  for (size_t left = scans_.size(); left > 0 && !scans_.empty(); --left) {
    if (next_ >= scans_.size()) next_ = 0;
    if (AdvanceOne(scans_[next_], deadline_ns, moved)) {
      scans_[next_] = scans_.back();
      scans_.pop_back();
    } else {
      ++next_;
    }
    if (moved && NowNs() >= deadline_ns) break;
  }
  return moved;
}

bool ScanRunner::AdvanceOne(RunningScan& scan, uint64_t deadline_ns, bool& moved) {
  if (scan.part->cancelled()) {
    Finish(scan, PartOutcome::kCancelled);
    moved = true;
    return true;
  }
  // Check before each slice: rows that only this snapshot needed are freed as soon as it is given
  // up.
  if (scan.cursor.snapshot != 0 && !snapshots_.Holds(scan.cursor.snapshot)) {
    Finish(scan, PartOutcome::kAborted);
    moved = true;
    return true;
  }
  for (;;) {
    if (scan.cursor.rows_left == 0 || scan.cursor.rest.Empty()) {
      Finish(scan, PartOutcome::kAnswered);
      moved = true;
      return true;
    }
    // Searched again at each slice: the cursor is a key, and ranges may have come or gone.
    const uint64_t near = NearKey(scan.cursor);
    OwnedRange* owned = scan.slot->Find(near);
    if (owned == nullptr && scan.slot->UnderStub(near)) return false;
    if (owned == nullptr) {
      Finish(scan, PartOutcome::kMoved, scan.cursor.rest);
      moved = true;
      return true;
    }
    if (!scan.aggregate) {
      if (scan.chunk != nullptr && scan.chunk->rows.Full()) Deliver(scan);
      if (scan.chunk == nullptr && (scan.chunk = scan.part->TakeEmpty()) == nullptr) return false;
    }
    moved = true;
    RunSlice(*owned, deadline_ns, scan);
    if (scan.cursor.snapshot_lost) [[unlikely]] {
      snapshots_.AbortEpoch(scan.cursor.snapshot);
      Finish(scan, PartOutcome::kAborted);
      return true;
    }
    if (scan.cursor.rows_left == 0 || scan.cursor.rest.Empty()) continue;
    if (scan.chunk != nullptr && scan.chunk->rows.Full()) Deliver(scan);
    if (NowNs() >= deadline_ns) return false;
  }
}

void ScanRunner::RunSlice(OwnedRange& owned, uint64_t deadline_ns, RunningScan& scan) {
  storage::Range& rest = scan.cursor.rest;
  const storage::Range& range = owned.partition->range();
  storage::ScanCursor here = scan.cursor;
  here.looked = 0;
  // The part of the rest in this range.
  if (range.lo > rest.lo) here.rest.lo = range.lo;
  if (range.hi && (!rest.hi || *rest.hi > *range.hi)) here.rest.hi = range.hi;
  const storage::Range asked = here.rest;
  // A scan of the whole range takes time for all its rows, wherever its cursor is now.
  const bool whole =
      Covers(scan.asked, range) && (scan.aggregate || scan.rows_asked >= owned.partition->size());
  const uint64_t begin_ns = whole ? ThreadCpuNs() : NowNs();
  if (scan.aggregate) {
    owned.partition->ordered()->Aggregate(here, {deadline_ns}, scan.part->aggregate());
  } else {
    owned.partition->ordered()->Scan(here, {deadline_ns}, scan.chunk->rows);
    scan.cursor.rows_left = here.rows_left;
  }
  if (whole) {
    scan.slot->accesses()->RecordSpread(ThreadCpuNs() - begin_ns);
  } else {
    scan.slot->accesses()->RecordSlice(
        static_cast<uint32_t>(routing::CommandType::kScan),
        scan.cursor.query.Backward() ? storage::LastFirstPartOf(asked) : asked.lo.head,
        NowNs() - begin_ns);
  }
  counters_.rows_scanned.Add(here.looked);
  scan.cursor.snapshot_lost = here.snapshot_lost;
  if (scan.cursor.query.Backward()) {
    rest.hi = here.done ? asked.lo : here.rest.hi;
  } else if (!here.done) {
    rest.lo = here.rest.lo;
  } else if (asked.hi) {
    rest.lo = *asked.hi;
  } else {
    rest.hi = rest.lo;
  }
}

void ScanRunner::Deliver(RunningScan& scan) {
  scan.part->Deliver(scan.chunk);
  scan.chunk = nullptr;
  acknowledgements_.Add(scan.complete, scan.context, 0);
}

void ScanRunner::Finish(RunningScan& scan, PartOutcome outcome,
                        std::optional<storage::Range> rest) {
  // A chunk without rows is returned the same way; the reader recognizes it by its count.
  if (scan.chunk != nullptr) scan.part->Deliver(scan.chunk);
  scan.chunk = nullptr;
  scan.part->Finish(outcome, rest);
  acknowledgements_.Add(scan.complete, scan.context, 1);
}

bool ScanRunner::Waits(const RunningScan& scan) {
  const storage::ScanCursor& cursor = scan.cursor;
  return scan.slot->stub() && cursor.rows_left > 0 && !cursor.rest.Empty() &&
         scan.slot->UnderStub(NearKey(cursor));
}

bool ScanRunner::Runnable() const {
  return std::any_of(scans_.begin(), scans_.end(), [](const RunningScan& scan) {
    if (scan.part->cancelled()) return true;
    if (Waits(scan)) return false;
    return scan.aggregate || scan.chunk != nullptr || scan.part->HasEmpty();
  });
}

}  // namespace eris::aeu
