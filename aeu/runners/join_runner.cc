#include "aeu/runners/join_runner.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <span>
#include <utility>

#include "aeu/state/clock.h"
#include "aeu/state/reserve_more.h"
#include "base/check.h"
#include "storage/ordered_partition.h"

namespace eris::aeu {

using routing::JoinBlock;
using routing::PartOutcome;
using storage::KeyState;

namespace {

// The common part; empty if there is none.
storage::Range Intersection(const storage::Range& a, const storage::Range& b) {
  storage::Range both{std::max(a.lo, b.lo), a.hi};
  if (b.hi && (!both.hi || *b.hi < *both.hi)) both.hi = b.hi;
  return both;
}

}  // namespace

void JoinRunner::Begin(const routing::CommandHeader* command, ObjectSlot* slot) {
  // The command may be in a multicast buffer, which is released immediately.
  const auto* segment =
      reinterpret_cast<const routing::JoinSegment*>(routing::DataSegment(command));
  RunningJoin join;
  join.slot = slot;
  join.range = segment->range;
  join.table = segment->table;
  join.inner = segment->inner;
  if (command->query_bytes > 0) {
    ERIS_DCHECK(command->query_bytes == sizeof(routing::LookupQuery));
    std::memcpy(&join.query.emplace(), routing::QueryOf(command), sizeof(routing::LookupQuery));
  }
  join.part = routing::PartOf(std::span(segment->parts, segment->part_count), self_);
  join.complete = command->complete;
  join.begin_block = segment->begin_block;
  join.complete_block = segment->complete_block;
  try {
    ReserveMore(joins_, 1);
  } catch (const std::bad_alloc&) {
    join.end.outcome = PartOutcome::kNoMemory;
    return Finish(join);
  }
  if (slot == nullptr) {
    join.end.outcome = PartOutcome::kNoObject;
  } else if (join.table == nullptr) {
    join.piece = join.range;
    if (join.piece.Empty()) join.end.outcome = PartOutcome::kAnswered;
  } else {
    const std::span<const uint32_t> partitions = join.table->PartitionsOf(self_);
    join.owned = static_cast<size_t>(std::lower_bound(partitions.begin(), partitions.end(),
                                                      join.table->PartitionOf(join.range.lo.head)) -
                                     partitions.begin());
    FindPiece(join);
  }
  joins_.push_back(std::move(join));
}

void JoinRunner::EndAll(const ObjectSlot* slot) {
  for (RunningJoin& join : joins_) {
    if (join.slot != slot) continue;
    join.slot = nullptr;
    join.end.outcome = PartOutcome::kNoObject;
    if (join.filling != nullptr) join.filling->rows = 0;
  }
}

bool JoinRunner::Advance(uint64_t deadline_ns) {
  bool moved = false;
  // Each join at most once per turn; a join that did not get its slice is first in the next one.
  for (size_t left = joins_.size(); left > 0 && !joins_.empty(); --left) {
    if (next_ >= joins_.size()) next_ = 0;
    if (AdvanceOne(joins_[next_], deadline_ns, moved)) {
      std::swap(joins_[next_], joins_.back());
      joins_.pop_back();
    } else {
      ++next_;
    }
    if (moved && NowNs() >= deadline_ns) break;
  }
  return moved;
}

bool JoinRunner::AdvanceOne(RunningJoin& join, uint64_t deadline_ns, bool& moved) {
  if (join.part->cancelled()) {
    AnswerLeft(join, KeyState::kCancelled);
    if (join.filling != nullptr) join.filling->rows = 0;
    join.end.outcome = PartOutcome::kCancelled;
  }
  for (;;) {
    if (!join.left.empty()) {
      moved |= SendLeft(join);
      if (!join.left.empty()) return false;
    }
    if (join.end.outcome != PartOutcome::kRunning &&
        (join.filling == nullptr || join.filling->rows == 0)) {
      Finish(join);
      moved = true;
      return true;
    }
    if (Waits(join)) return false;
    if (join.filling == nullptr && (join.filling = join.part->TakeEmpty()) == nullptr) return false;
    moved = true;
    FillBlock(join, deadline_ns);
    const bool full = join.filling->rows == join.filling->capacity;
    if (full || (join.end.outcome != PartOutcome::kRunning && join.filling->rows > 0)) {
      if (!SendBlock(join)) continue;
      if (!join.left.empty()) return false;
    }
    // An end is never postponed, so that an empty block is not held back.
    if (join.end.outcome == PartOutcome::kRunning && NowNs() >= deadline_ns) return false;
  }
}

void JoinRunner::FindPiece(RunningJoin& join) {
  const std::span<const uint32_t> partitions = join.table->PartitionsOf(self_);
  for (; join.owned < partitions.size(); ++join.owned) {
    join.piece = Intersection(join.range, join.table->RangeOf(partitions[join.owned]));
    if (!join.piece.Empty()) return;
    if (join.range.hi && join.piece.lo >= *join.range.hi) break;  // so are all that follow
  }
  join.end.outcome = PartOutcome::kAnswered;
}

std::optional<storage::Range> JoinRunner::RestAfter(const RunningJoin& join) const {
  if (join.table == nullptr) return std::nullopt;
  const std::span<const uint32_t> partitions = join.table->PartitionsOf(self_);
  if (join.owned + 1 >= partitions.size()) return std::nullopt;
  storage::Range rest = join.range;
  rest.lo = join.table->RangeOf(partitions[join.owned + 1]).lo;
  return rest.Empty() ? std::nullopt : std::optional(rest);
}

void JoinRunner::FillBlock(RunningJoin& join, uint64_t deadline_ns) {
  JoinBlock& block = *join.filling;
  storage::ScanRows out{.keys = block.outer_keys,
                        .values = block.join_keys,
                        .capacity = block.capacity,
                        .rows = block.rows};
  while (join.end.outcome == PartOutcome::kRunning && !out.Full()) {
    const OwnedRange* owned = join.slot->Find(join.piece.lo.head);
    if (owned == nullptr) {
      if (Waits(join)) break;
      join.end.outcome = PartOutcome::kMoved;
      join.end.moved = join.piece;
      join.end.rest = RestAfter(join);
      break;
    }
    storage::ScanCursor here;
    here.rest = Intersection(join.piece, owned->partition->range());
    const storage::Range asked = here.rest;
    const uint32_t rows_before = out.rows;
    owned->partition->ordered()->Scan(here, {deadline_ns}, out);
    counters_.rows_scanned.Add(out.rows - rows_before);
    if (!here.done) {
      join.end.answered += here.rest.lo.head - asked.lo.head;
      join.piece.lo = here.rest.lo;
    } else {
      join.end.answered += routing::WidthOf(asked);
      if (asked.hi != join.piece.hi) {
        join.piece.lo = *asked.hi;
      } else if (join.table == nullptr) {
        join.end.outcome = PartOutcome::kAnswered;
      } else {
        ++join.owned;
        FindPiece(join);
      }
    }
    if (NowNs() >= deadline_ns) break;
  }
  block.rows = out.rows;
}

routing::KeyedCommand JoinRunner::CommandOf(const RunningJoin& join, JoinBlock* block) const {
  routing::KeyedCommand command{
      .type = routing::CommandType::kLookup, .complete = join.complete_block, .context = block};
  if (join.query) command.query = std::as_bytes(std::span(&*join.query, 1));
  return command;
}

bool JoinRunner::SendBlock(RunningJoin& join) {
  try {
    join.left.reserve(join.filling->rows);
  } catch (const std::bad_alloc&) {
    join.filling->rows = 0;
    join.end.outcome = PartOutcome::kNoMemory;
    return false;
  }
  JoinBlock* const block = std::exchange(join.filling, nullptr);
  // Call it before the first key can be answered. From here on the answering AEUs use the block
  // too.
  join.begin_block(block, block->rows);
  routing::KeyedCommand command = CommandOf(join, block);
  command.keys = {block->join_keys, block->rows};
  uint32_t refused = block->rows;
  bool memory = true;
  try {
    refused = port_.Send(*join.inner, command, KeyState::kRefused);
  } catch (const std::bad_alloc&) {  // nothing has been sent
    memory = false;
  }
  if (refused == 0) return true;
  join.sending = block;
  if (memory) {
    join.left.assign(port_.refused_keys().begin(), port_.refused_keys().end());
    return true;
  }
  join.left.resize(block->rows);
  std::iota(join.left.begin(), join.left.end(), 0);
  AnswerLeft(join, KeyState::kNoMemory);
  return true;
}

bool JoinRunner::SendLeft(RunningJoin& join) {
  JoinBlock* const block = join.sending;
  const size_t before = join.left.size();
  try {
    keys_.clear();
    keys_.reserve(before);
    positions_.clear();
    positions_.reserve(before);
    for (const uint32_t position : join.left) keys_.push_back(block->join_keys[position]);
    routing::KeyedCommand command = CommandOf(join, block);
    command.keys = keys_;
    command.positions = join.left;
    port_.Send(*join.inner, command, KeyState::kRefused);
  } catch (const std::bad_alloc&) {  // nothing has been sent
    AnswerLeft(join, KeyState::kNoMemory);
    return true;
  }
  for (const uint32_t key : port_.refused_keys()) positions_.push_back(join.left[key]);
  // No swap: each join's list keeps its reserved memory.
  join.left.assign(positions_.begin(), positions_.end());
  if (join.left.empty()) join.sending = nullptr;
  return join.left.size() < before;
}

void JoinRunner::AnswerLeft(RunningJoin& join, KeyState state) {
  if (join.left.empty()) return;
  JoinBlock* const block = std::exchange(join.sending, nullptr);
  for (const uint32_t position : join.left) block->states[position] = state;
  // Not an acknowledgement: these keys have not been sent as a command.
  join.complete_block(block, static_cast<uint32_t>(join.left.size()));
  join.left.clear();
}

void JoinRunner::Finish(RunningJoin& join) {
  ERIS_DCHECK(join.left.empty());
  join.end.unused = join.filling;
  join.part->Finish(join.end);
  acknowledgements_.Add(join.complete, join.part, 1);
}

bool JoinRunner::Waits(const RunningJoin& join) {
  return join.end.outcome == PartOutcome::kRunning && join.slot->UnderStub(join.piece.lo.head);
}

bool JoinRunner::Runnable() const {
  return std::any_of(joins_.begin(), joins_.end(), [](const RunningJoin& join) {
    if (!join.left.empty() || join.part->cancelled()) return true;
    if (Waits(join)) return false;
    return join.filling != nullptr || join.end.outcome != PartOutcome::kRunning ||
           join.part->HasEmpty();
  });
}

}  // namespace eris::aeu
