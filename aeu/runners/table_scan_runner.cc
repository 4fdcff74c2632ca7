#include "aeu/runners/table_scan_runner.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "aeu/runners/partition_at.h"
#include "aeu/state/clock.h"
#include "aeu/state/reserve_more.h"
#include "base/check.h"
#include "base/lean_status.h"

namespace eris::aeu {

using routing::PartOutcome;
using routing::TableCursor;
using routing::TablePlace;
using storage::kBlockRows;

namespace {

// If the blocks between two reads of the clock took longer, the next ones are timed one by one.
// A block takes half a microsecond to a hundred, a read of the clock a fortieth.
constexpr uint64_t kLongStepNs = 8000;
// Scans that share a pass: a block is run for all of them before the clock is read.
constexpr size_t kRidersMax = 32;

constexpr uint64_t NextBlock(uint64_t row) { return (row / kBlockRows + 1) * kBlockRows; }

}  // namespace

void TableScanRunner::Begin(const routing::CommandHeader* command, ObjectSlot* slot) {
  // The command may be in a multicast buffer, which is released immediately.
  const auto* segment =
      reinterpret_cast<const routing::TableScanSegment*>(routing::DataSegment(command));
  routing::TableScanPart* const part =
      routing::PartOf(std::span(segment->parts, segment->part_count), self_);
  std::unique_ptr<RunningScan> scan;
  try {
    ReserveMore(scans_, 1);
    group_.reserve(kRidersMax);
    scan = std::make_unique<RunningScan>();
  } catch (const std::bad_alloc&) {
    part->Finish(PartOutcome::kNoMemory, absl::OkStatus(), nullptr);
    acknowledgements_.Add(command->complete, part, 1);
    return;
  }
  scan->slot = slot;
  scan->part = part;
  scan->snapshot = command->snapshot;
  scan->complete = command->complete;
  scan->aggregate = part->plan->aggregates();
  if (part->target != nullptr) scan->sender.emplace(self_, port_, *part->target);
  Start(*scan);
  scans_.push_back(std::move(scan));
}

void TableScanRunner::Start(RunningScan& scan) {
  const routing::TableScanPart& part = *scan.part;
  if (scan.slot == nullptr) return End(scan, PartOutcome::kNoObject);
  const bool prepared = scan.own.mask.Allocate() && PrepareQuery(scan);
  if (!prepared) return End(scan, PartOutcome::kNoMemory);
  // Made here, so that this AEU touches its scratch memory first.
  storage::PageSource* const pages =
      part.query_part != nullptr ? &part.query_part->group_pages() : nullptr;
  auto run = storage::TableRun::Create(part.plan, part.memory, part.limits, pages);
  if (!run.ok()) return End(scan, PartOutcome::kAnswered, run.status());
  scan.run = *std::move(run);
  if (!FilterByKeys(scan)) return End(scan, PartOutcome::kNoMemory);
  scan.cursor = part.from.chosen ? part.from : Attach(*scan.slot);
  // It continues after the last row.
  if (part.from.chosen && scan.cursor.AtEnd()) End(scan, PartOutcome::kAnswered);
}

bool TableScanRunner::PrepareQuery(RunningScan& scan) {
  storage::QueryPart* const query = scan.part->query_part;
  if (query == nullptr) return true;
  memory::LocalCache* const cache = query_cache_.Of(query->manager());
  if (cache == nullptr) return false;
  query->Enter(*cache);
  if (scan.aggregate) return true;
  return base::OrNoMemory("",
                          [&] {
                            scan.sink = &query->BeginRows(scan.part->rows_set);
                            return absl::OkStatus();
                          })
      .ok();
}

bool TableScanRunner::FilterByKeys(RunningScan& scan) {
  const routing::TableScanPart& part = *scan.part;
  try {
    if (!part.key_filters.empty()) {
      scan.run->FilterBy(part.query_part->FiltersOf(part.key_filters));
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

TableCursor TableScanRunner::Attach(const ObjectSlot& slot) const {
  TableCursor cursor;
  cursor.chosen = true;
  for (const auto& other : scans_) {
    if (other->slot != &slot || other->end != PartOutcome::kRunning) continue;
    cursor.at = other->cursor.at;
    // A scan that has paused inside a block continues alone until the block's end.
    if (cursor.at.row % kBlockRows != 0) cursor.at.row = NextBlock(cursor.at.row);
    if (CanRun(*other)) break;  // better share the pass of a scan that runs
  }
  cursor.began = cursor.at;
  return cursor;
}

bool TableScanRunner::CanRun(const RunningScan& scan) {
  if (scan.sender && scan.sender->pending()) return false;
  return scan.aggregate || scan.sink != nullptr || scan.chunk != nullptr || scan.part->HasEmpty();
}

bool TableScanRunner::Runnable() const {
  return std::any_of(scans_.begin(), scans_.end(), [](const auto& scan) {
    return scan->end != PartOutcome::kRunning || (scan->sender && scan->sender->pending()) ||
           CanRun(*scan) || scan->part->cancelled();
  });
}

void TableScanRunner::EndAll(const ObjectSlot* slot) {
  for (auto& scan : scans_) {
    if (scan->slot != slot) continue;
    scan->slot = nullptr;
    if (scan->end == PartOutcome::kRunning) End(*scan, PartOutcome::kNoObject);
  }
  Reap();
}

bool TableScanRunner::Advance(uint64_t deadline_ns) {
  bool moved = false;
  for (auto& scan : scans_) {
    if (scan->part->cancelled() || QueryStops(*scan)) {
      if (scan->sender) scan->sender->AnswerLeft(storage::KeyState::kCancelled);
      if (scan->end == PartOutcome::kRunning) End(*scan, PartOutcome::kCancelled);
    } else if (scan->sender && scan->sender->pending()) {
      moved |= scan->sender->SendLeft();
    }
    // Rows that only this snapshot needed may have been freed.
    if (scan->end == PartOutcome::kRunning && !snapshots_.Holds(scan->snapshot)) {
      End(*scan, PartOutcome::kAborted);
    }
  }
  moved |= Reap();
  // Each scan at most once per turn; a scan that did not get its slice is first in the next one.
  uint64_t now_ns = scans_.empty() ? 0 : NowNs();
  for (size_t left = scans_.size(); left > 0; --left) {
    if (next_ >= scans_.size()) next_ = 0;
    RunningScan& scan = *scans_[next_++];
    if (scan.end != PartOutcome::kRunning || !CanRun(scan)) continue;
    RunPass(scan, deadline_ns);
    moved = true;
    const uint64_t began_ns = std::exchange(now_ns, NowNs());
    CountSlice(now_ns - began_ns);
    if (now_ns >= deadline_ns) break;
  }
  moved |= Reap();
  return moved;
}

void TableScanRunner::CountSlice(uint64_t ns) {
  for (const auto& scan : scans_) {
    if (!std::exchange(scan->rode, false)) continue;
    if (scan->part->query_part != nullptr) scan->part->query_part->CountTime(ns);
  }
}

bool TableScanRunner::Reap() {
  bool any = false;
  std::erase_if(scans_, [&](const std::unique_ptr<RunningScan>& scan) {
    if (scan->end == PartOutcome::kRunning) return false;
    if (scan->sender && scan->sender->pending()) return false;
    Finish(*scan);
    any = true;
    return true;
  });
  return any;
}

void TableScanRunner::CollectGroup(const RunningScan& first) {
  group_.clear();
  const auto take = [&](RunningScan& scan) {
    scan.rode = true;
    group_.push_back(&scan);
  };
  // The scan whose turn it is always comes along.
  for (auto& scan : scans_) {
    if (scan.get() == &first && InGroup(*scan, first.cursor.at)) take(*scan);
  }
  for (auto& scan : scans_) {
    if (group_.size() == kRidersMax) return;
    if (scan.get() != &first && scan->slot == first.slot && InGroup(*scan, first.cursor.at)) {
      take(*scan);
    }
  }
}

void TableScanRunner::RunPass(RunningScan& first, uint64_t deadline_ns) {
  ObjectSlot& slot = *first.slot;
  const uint64_t begin_ns = ThreadCpuNs();
  RunSegments(first, deadline_ns);
  // If filters exclude many segments, the time cannot be spread over all rows. A time of 0 only
  // says that the object is in use.
  slot.accesses()->RecordSpread(slot.ScansArePruned() ? 0 : ThreadCpuNs() - begin_ns);
}

void TableScanRunner::RunSegments(RunningScan& first, uint64_t deadline_ns) {
  // Collected again for each segment: this pass may have reached other scans.
  RunningScan* lead = &first;
  do {
    CollectGroup(*lead);
    if (group_.empty()) return;
    if (!RunSegment(deadline_ns)) return;
    // The first scan may have paused or ended; the others of its pass continue.
    const auto on = std::find_if(group_.begin(), group_.end(), [](const RunningScan* scan) {
      return scan->end == PartOutcome::kRunning && CanRun(*scan);
    });
    if (on == group_.end()) return;
    lead = *on;
  } while (NowNs() + step_ns_ < deadline_ns);
}

void TableScanRunner::MoveTo(const TablePlace& at) {
  for (RunningScan* scan : group_) {
    scan->cursor.at = at;
    if (scan->cursor.AtEnd()) End(*scan, PartOutcome::kAnswered);
  }
  std::erase_if(group_, [](const RunningScan* scan) { return scan->end != PartOutcome::kRunning; });
}

void TableScanRunner::Wrap() {
  for (RunningScan* scan : group_) {
    if (!scan->cursor.wrapped) {
      scan->cursor.wrapped = true;
      continue;
    }
    // Its starting point no longer exists. A reader that continues from here has had all rows.
    scan->cursor.at = scan->cursor.began;
    End(*scan, PartOutcome::kAnswered);
  }
  std::erase_if(group_, [](const RunningScan* scan) { return scan->end != PartOutcome::kRunning; });
  MoveTo({});
}

std::optional<uint64_t> TableScanRunner::FindSegments(const storage::TablePartition& partition,
                                                      const TablePlace& at) {
  std::optional<uint64_t> lowest;
  for (size_t i = 0; i < group_.size(); ++i) {
    RunningScan& scan = *group_[i];
    const auto same =
        std::find_if(group_.begin(), group_.begin() + static_cast<ptrdiff_t>(i),
                     [&](const RunningScan* other) { return other->snapshot == scan.snapshot; });
    scan.view = (*same)->view;
    if (*same != &scan) continue;
    scan.view = &scan.own;
    View& view = scan.own;
    view.number = at.segment;
    view.found = partition.FindSegment(scan.snapshot, view.number, view.mask, view.segment);
    if (view.found && (!lowest || view.number < *lowest)) lowest = view.number;
  }
  return lowest;
}

bool TableScanRunner::RunSegment(uint64_t deadline_ns) {
  TablePlace at = group_.front()->cursor.at;
  const OwnedRange* const owned = PartitionAt(*group_.front()->slot, at);
  if (owned == nullptr) {
    Wrap();
    return true;
  }
  if (owned->id != at.partition) {
    MoveTo({owned->id, 0, 0});
    return true;
  }
  const storage::TablePartition& partition = *owned->partition->table();
  for (RunningScan* scan : group_) {
    if (!partition.Lost(scan->snapshot)) continue;
    snapshots_.AbortEpoch(scan->snapshot);
    End(*scan, PartOutcome::kAborted);
  }
  std::erase_if(group_, [](const RunningScan* scan) { return scan->end != PartOutcome::kRunning; });
  if (group_.empty()) return true;
  const std::optional<uint64_t> number = FindSegments(partition, at);
  if (!number) {
    MoveTo({at.partition, TablePlace::kBehindPartition, 0});
    return true;
  }
  if (*number != at.segment) {
    at = {at.partition, *number, 0};
    MoveTo(at);
  }
  return RunBlocks(at, BeginSegment(*number), deadline_ns);
}

uint64_t TableScanRunner::BeginSegment(uint64_t number) {
  uint64_t rows_end = 0;
  uint32_t riders = 0;
  for (RunningScan* scan : group_) {
    const View& view = *scan->view;
    // A segment that it has no rows in, or wants none of, or whose rows cannot pass its filter, it
    // rides along over.
    const bool has_rows = view.found && view.number == number && scan->part->share.Has(number);
    scan->wanted = has_rows && scan->run->BeginSegment(view.segment);
    if (has_rows) scan->slot->RecordSegment(!scan->wanted);
    if (scan->part->counts_rows) scan->CountRows();
    if (!scan->wanted) continue;
    rows_end = std::max<uint64_t>(rows_end, view.segment.rows);
    ++riders;
  }
  uint32_t rider = 0;
  for (RunningScan* scan : group_) {
    if (scan->wanted) scan->run->Ride(rider++, riders);
  }
  return rows_end;
}

bool TableScanRunner::RunBlocks(TablePlace at, uint64_t rows_end, uint64_t deadline_ns) {
  uint32_t runs = 0;  // since the last look at the clock
  if (rows_end == 0) step_ns_ = 0;
  uint64_t looked_ns = NowNs();
  while (at.row < rows_end && !group_.empty()) {
    runs += static_cast<uint32_t>(group_.size());
    std::erase_if(group_, [&](RunningScan* scan) { return !RunBlock(*scan, at); });
    counters_.table_blocks.Add(1);
    at.row = NextBlock(at.row);
    MoveTo(at);
    if (runs < runs_per_clock_) continue;
    const uint64_t now_ns = NowNs();
    step_ns_ = now_ns - looked_ns;
    // Also if this slice ends here: the next one would take as long again.
    if (step_ns_ > kLongStepNs) {
      runs_per_clock_ = 1;
    } else if (step_ns_ < kLongStepNs / kRunsPerClock) {
      runs_per_clock_ = kRunsPerClock;
    }
    // Stop before the deadline rather than after it: one more step is expected to take as long.
    if (at.row < rows_end && now_ns + step_ns_ > deadline_ns) return false;
    looked_ns = now_ns;
    runs = 0;
  }
  if (!group_.empty()) MoveTo({at.partition, at.segment + 1, 0});
  return true;
}

bool TableScanRunner::RunBlock(RunningScan& scan, const TablePlace& at) {
  if (!scan.wanted) return true;
  const storage::SegmentView& segment = scan.view->segment;
  if (at.row >= segment.rows) return true;
  if (segment.kept != nullptr) scan.view->mask.Make(static_cast<uint32_t>(at.row));
  auto row = static_cast<uint32_t>(at.row);
  counters_.table_block_runs.Add(1);
  if (scan.sink != nullptr) return RunIntoSink(scan, row);
  for (;;) {
    scan.cursor.at.row = row;
    if (!scan.aggregate && scan.chunk == nullptr) {
      const bool sends = scan.sender && scan.sender->pending();
      if (sends || (scan.chunk = scan.part->TakeEmpty()) == nullptr) return false;  // it pauses
      BeginChunk(scan);
    }
    const uint32_t before = row;
    const auto outcome = scan.run->RunBlock(row, scan.aggregate ? nullptr : &scan.chunk->rows_out);
    counters_.rows_scanned.Add(row - before);
    switch (outcome) {
      case storage::TableRun::Outcome::kDone:
        ERIS_DCHECK(row >= std::min<uint64_t>(NextBlock(at.row), segment.rows));
        // Now, not at the next row that passes the filter, which may be far away.
        if (scan.chunk != nullptr && scan.chunk->rows_out.rows == scan.chunk->rows_out.capacity) {
          scan.cursor.at.row = row;
          GiveAway(scan);
        }
        return scan.end == PartOutcome::kRunning;
      case storage::TableRun::Outcome::kError:
        End(scan, PartOutcome::kAnswered, scan.run->status());
        return false;
      case storage::TableRun::Outcome::kFull:
        if (scan.chunk->rows_out.rows == 0) {
          End(scan, PartOutcome::kAnswered,
              base::LeanError(ErrorReason::kLimitReached, "a row fits no chunk of the scan"));
          return false;
        }
        scan.cursor.at.row = row;
        GiveAway(scan);
        if (scan.end != PartOutcome::kRunning) return false;
        if (row >= std::min<uint64_t>(NextBlock(at.row), segment.rows)) return true;
        continue;
    }
  }
}

bool TableScanRunner::RunIntoSink(RunningScan& scan, uint32_t row) {
  for (;;) {
    storage::Envelope* const open = scan.sink->Open();
    if (open == nullptr) {
      End(scan, PartOutcome::kAnswered, scan.sink->Refusal());
      return false;
    }
    const uint32_t before = row;
    const auto outcome = scan.run->RunBlock(row, &open->out());
    counters_.rows_scanned.Add(row - before);
    switch (outcome) {
      case storage::TableRun::Outcome::kDone:
        open->Count();
        return true;
      case storage::TableRun::Outcome::kError:
        End(scan, PartOutcome::kAnswered, scan.run->status());
        return false;
      case storage::TableRun::Outcome::kFull:
        if (absl::Status full = scan.sink->Full(); !full.ok()) {
          End(scan, PartOutcome::kAnswered, std::move(full));
          return false;
        }
    }
  }
}

void TableScanRunner::BeginChunk(RunningScan& scan) {
  scan.chunk->Clear();
  scan.chunk->before = scan.cursor;
  if (scan.cursor.skip > 0) {
    // It must be full at the last row that the reader already has.
    auto& capacity = scan.chunk->rows_out.capacity;
    capacity = static_cast<uint32_t>(std::min<uint64_t>(capacity, scan.cursor.skip));
  }
}

void TableScanRunner::GiveAway(RunningScan& scan) {
  if (scan.cursor.skip > 0) {
    SkipChunk(scan);
  } else {
    HandOver(scan);
  }
}

void TableScanRunner::SkipChunk(RunningScan& scan) {
  scan.cursor.skip -= scan.chunk->rows_out.rows;
  BeginChunk(scan);
}

void TableScanRunner::HandOver(RunningScan& scan) {
  routing::TableChunk* const chunk = scan.chunk;
  if (scan.sender) {
    absl::Status sent = SendOn(scan);
    if (!sent.ok()) End(scan, PartOutcome::kAnswered, std::move(sent));
    return;
  }
  chunk->behind = scan.cursor;
  scan.chunk = nullptr;
  scan.part->Deliver(chunk);
  acknowledgements_.Add(scan.complete, scan.part, 0);
}

void TableScanRunner::End(RunningScan& scan, PartOutcome outcome, absl::Status status) {
  ERIS_DCHECK(scan.end == PartOutcome::kRunning);
  scan.end = outcome;
  scan.status = std::move(status);
  if (!scan.sender || scan.chunk == nullptr) return;
  // The rows of the last chunk are sent too, if the scan has reached its end.
  if (outcome != PartOutcome::kAnswered || !scan.status.ok()) return;
  if (scan.chunk->rows_out.rows > 0) scan.status = SendOn(scan);
}

absl::Status TableScanRunner::SendOn(RunningScan& scan) {
  absl::Status sent = base::OrNoMemory("the AEU has no memory to send rows on",
                                       [&] { return scan.sender->Send(scan.chunk); });
  if (sent.ok()) scan.chunk = nullptr;
  return sent;
}

void TableScanRunner::Finish(RunningScan& scan) {
  if (scan.chunk != nullptr) {
    // A chunk without wanted rows is returned the same way; the reader recognizes it by its count.
    if (scan.sender || scan.cursor.skip > 0) scan.chunk->rows_out.rows = 0;
    scan.chunk->behind = scan.cursor;
    scan.part->Deliver(std::exchange(scan.chunk, nullptr));
  }
  if (scan.sink != nullptr) {
    const absl::Status flushed = scan.part->query_part->EndRows();
    if (scan.status.ok()) scan.status = flushed;
  } else if (scan.part->query_part != nullptr && scan.run != nullptr) {
    scan.part->query_part->KeepGroups(std::move(scan.run));
  }
  // The other AEUs need not go on.
  const bool failed = scan.end != PartOutcome::kAnswered || !scan.status.ok();
  if (failed && scan.part->query_part != nullptr) {
    scan.part->query_part->all().stop.store(true, std::memory_order_relaxed);
  }
  scan.part->Finish(scan.end, std::move(scan.status),
                    scan.aggregate ? std::move(scan.run) : nullptr);
  acknowledgements_.Add(scan.complete, scan.part, 1);
}

}  // namespace eris::aeu
