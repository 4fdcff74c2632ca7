#include "aeu/transfers/transfer_runner.h"

#include <algorithm>
#include <new>
#include <utility>

#include "aeu/transfers/stopwatch.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "base/status_macros.h"

namespace eris::aeu {

using absl::StatusCode;
using base::LeanStatus;
using routing::CommandHeader;
using routing::StepOutcome;
using routing::TransferSegment;
using routing::TransferStep;
using storage::KeyState;
using storage::Partition;
using storage::Range;

namespace {

const TransferSegment& SegmentOf(const CommandHeader* command) {
  return *reinterpret_cast<const TransferSegment*>(routing::DataSegment(command));
}

Range Intersection(const Range& a, const Range& b) {
  Range both{std::max(a.lo, b.lo), a.hi};
  if (b.hi && (!both.hi || *b.hi < *both.hi)) both.hi = b.hi;
  return both;
}

}  // namespace

// --- The source.

void TransferRunner::Give(const CommandHeader* command) {
  TransferStep* const step = SegmentOf(command).step;
  const Giving given{.step = step,
                     .slot = host_.SlotOf(command->slot, command->object),
                     .complete = command->complete,
                     .context = command->context};
  if (giving_.step != nullptr) {
    const Giving under_way = std::exchange(giving_, given);
    Refuse(LeanStatus(StatusCode::kUnavailable, "another range is on its way"));
    giving_ = under_way;
    return;
  }
  giving_ = given;
  const Range& leaving = step->leaving;
  if (given.slot == nullptr) {
    Refuse(LeanStatus(StatusCode::kNotFound, "the AEU has no part of the object"));
  } else if (step->release) {
    Refuse(copy_.BeginReleasing(*given.slot));
  } else if (leaving.Empty() || leaving.lo.tail != 0 || (leaving.hi && leaving.hi->tail != 0)) {
    Refuse(LeanStatus(StatusCode::kInvalidArgument,
                      "an empty range, or one with bounds of two parts"));
  } else if (const absl::Status can = MethodOf(*given.slot, *step).Check(*given.slot); !can.ok()) {
    Refuse(can);
  }
}

void TransferRunner::Refuse(const absl::Status& status) {
  TransferStep& step = *giving_.step;
  step.outcome = StepOutcome::kRefused;
  step.status = status;
  acknowledgements_.Add(giving_.complete, giving_.context, 1);
  giving_ = {};
}

OwnedRange* TransferRunner::FindGiven(Range& given) {
  ObjectSlot& slot = *giving_.slot;
  const TransferStep& step = *giving_.step;
  if (slot.spec().kind == ObjectKind::kHeapTable) {  // its rows have no keys
    given = step.leaving;
    return slot.ranges().empty() ? nullptr : &slot.ranges().front();
  }
  OwnedRange* owned = slot.Find(MethodOf(slot, step).NearEnd(step) == Partition::End::kLow
                                    ? step.leaving.lo.head
                                    : storage::LastFirstPartOf(step.leaving));
  if (owned != nullptr) given = Intersection(step.leaving, owned->partition->range());
  return owned;
}

bool TransferRunner::Advance() {
  if (giving_.step == nullptr || giving_.out) return false;
  TransferStep& step = *giving_.step;
  ObjectSlot& slot = *giving_.slot;
  // relaxed: it publishes nothing.
  if (step.give_up.load(std::memory_order_relaxed)) {
    Refuse(LeanStatus(StatusCode::kCancelled, "the transfer was given up"));
    return true;
  }
  const Stopwatch watch;
  Range given;
  OwnedRange* owned = FindGiven(given);
  if (owned == nullptr) {
    Refuse(LeanStatus(StatusCode::kFailedPrecondition, "the AEU does not own the range"));
    return true;
  }
  if (!Prepare(*owned, given)) {
    // relaxed: see the step. Only the source writes it.
    step.turns.store(step.turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    watch.Stop(step.source_cpu_ns, step.source_wall_ns);
    return true;
  }
  if (const absl::Status room = MakeRoom(slot, step.target); !room.ok()) {
    Refuse(room);
    return true;
  }
  owned = FindGiven(given);  // the range may have moved
  // Open the record before anything changes: what has been cut off can then always be sent. From
  // here on nothing else is buffered for the target in between.
  CommandHeader* const record = port_.Open(step.target, sizeof(TransferSegment));
  if (record == nullptr) return false;
  const absl::Status status = base::OrNoMemory("no memory to cut off a range", [&] {
    return MethodOf(slot, step).CutOff(slot, *owned, given, step, giving_.lender);
  });
  if (!status.ok()) {
    port_.Withdraw(step.target, record);
    host_.RangesChanged(slot);  // it may have been cut all the same
    Refuse(status);
    return true;
  }
  *record = CommandHeader{.size_bytes = record->size_bytes,
                          .type = routing::CommandType::kHandOver,
                          .slot = slot.route().slot(),
                          .object = slot.object(),
                          .complete = giving_.complete,
                          .context = giving_.context,
                          .count = 1};
  new (record + 1) TransferSegment{.step = &step};
  counters_.forwarded.Add(1);
  HasLeft(slot, step);
  // Sent at the turn's end: until then the target does not see the step.
  watch.Stop(step.source_cpu_ns, step.source_wall_ns);
  return true;
}

void TransferRunner::HasLeft(ObjectSlot& slot, TransferStep& step) {
  // If rows have keys, commands for these go to the target from now on, after the record.
  if (slot.has_keys()) slot.SetStub(Stub{step.covers, step.target, step.version});
  giving_.out = true;
  // A link takes over what a leap has left to be done.
  giving_.coming_home = homecoming_.IsUnderWay(slot, step.covers);
  step.memory_follows = TraitsOf(step.kind).memory_follows || giving_.coming_home;
  if (slot.ranges().empty()) homecoming_.ForgetLeft(slot);
  if (!TraitsOf(step.kind).copies_rows) slot.cache().GaveBlocksAway();
  step.left.store(true, std::memory_order_relaxed);  // see the step
  host_.RangesChanged(slot);
  turn_.stepped = true;
}

absl::Status TransferRunner::MakeRoom(ObjectSlot& slot, std::optional<AeuId> target) {
  try {
    slot.ReserveRanges(kRangesAddedMax);
    slot.history().Reserve();
    host_.load_board().Reserve(slot, kRangesAddedMax);
    copy_.Reserve();
    homecoming_.Reserve();
    if (target) port_.ReserveTarget(*target);
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    return base::NoMemory("no memory for another range");
  }
}

bool TransferRunner::Prepare(OwnedRange& owned, const Range& given) {
  const TransferStep& step = *giving_.step;
  // A range leaves with everything in it. And chunks must not leave faster than the rows of earlier
  // ones are freed, piece by piece.
  if (owned.forgets) return false;
  const absl::StatusOr<bool> ready = base::OrNoMemory("no memory to make rows ready", [&] {
    return MethodOf(*giving_.slot, step).Prepare(*giving_.slot, *owned.partition, given, step);
  });
  if (ready.ok()) return *ready;
  Refuse(ready.status());
  return false;
}

void TransferRunner::Conclude(const CommandHeader* command) {
  const TransferSegment& segment = SegmentOf(command);
  TransferStep* const step = segment.step;
  const auto answer = [&](KeyState state) {
    command->context->states[segment.position] = state;
    acknowledgements_.Add(command->complete, command->context, 1);
  };
  if (giving_.step != step || !giving_.out) return answer(KeyState::kNoObject);
  const Stopwatch watch;
  const Giving given = std::exchange(giving_, {});
  if (given.slot == nullptr) {
    // Dropped meanwhile: what came back is freed with the object's memory.
    if (step->partition != nullptr) step->partition->Abandon();
    step->partition.reset();
    step->segments = {};
    return answer(KeyState::kNoObject);
  }
  ObjectSlot& slot = *given.slot;
  // The table has been published, or will be soon: from now on it tells the owner of the keys, and
  // a sender with an older one must look again.
  slot.SetStub(std::nullopt);
  ERIS_DCHECK(step->outcome == StepOutcome::kInstalled || step->outcome == StepOutcome::kReturned);
  const bool installed = step->outcome == StepOutcome::kInstalled;
  // Commands forwarded meanwhile have been refused, so older commands are refused here.
  if (!installed && slot.has_keys()) slot.history().TookIn(step->covers, step->version);
  MethodOf(slot, *step).Conclude(slot, *step, given.lender, installed);
  // The walk may have passed while it was away.
  if (!installed && given.coming_home) homecoming_.Begin(slot, step->covers);
  host_.RangesChanged(slot);
  turn_.stepped = true;
  if (step->turn_cpu_ns_max > 0) turn_.cpu_ns_max = step->turn_cpu_ns_max;
  copy_.TakeForgetCost(*step);
  watch.Stop(step->source_cpu_ns, step->source_wall_ns);
  answer(KeyState::kAbsent);
}

void TransferRunner::EndAll(const ObjectSlot* slot) {
  copy_.EndAll(slot);
  homecoming_.EndAll(slot);
  if (giving_.step == nullptr || giving_.slot != slot) return;
  if (giving_.out) {
    giving_.slot = nullptr;
    giving_.lender = nullptr;
  } else {
    Refuse(LeanStatus(StatusCode::kNotFound, "the object is dropped"));
  }
}

bool TransferRunner::GoOnAfterSteps(bool busy) {
  if (copy_.forgets()) {
    copy_.Forget(busy ? CopyMethod::kForgottenPerTurn : CopyMethod::kForgottenPerIdleTurn);
    return true;
  }
  if (!copy_.releases()) return false;
  copy_.Release();
  return true;
}

bool TransferRunner::BringHome(bool busy) {
  homecoming_.NoteTurn(busy);
  if (!homecoming_.HasWork()) return false;
  homecoming_.GoOn(busy ? Homecoming::kBroughtPerTurn : Homecoming::kBroughtPerIdleTurn);
  return true;
}

// --- The target.

void TransferRunner::TakeIn(const CommandHeader* command) {
  TransferStep& step = *SegmentOf(command).step;
  const Stopwatch watch;
  ObjectSlot* const slot = host_.SlotOf(command->slot, command->object);
  absl::Status status;
  if (slot == nullptr) {
    status = LeanStatus(StatusCode::kNotFound,
                        "the AEU that was to have the range has no part of the object");
  } else if (status = MakeRoom(*slot, std::nullopt); status.ok()) {
    status = base::OrNoMemory("no memory to take a range in",
                              [&] { return MethodOf(*slot, step).TakeIn(*slot, step); });
  }
  step.outcome = status.ok() ? StepOutcome::kInstalled : StepOutcome::kReturned;
  step.status = status;
  if (status.ok()) {
    step.born = snapshots_.epoch;
    if (slot->has_keys()) slot->history().TookIn(step.covers, step.version);
    if (step.memory_follows && !TraitsOf(step.kind).copies_rows) {
      homecoming_.Begin(*slot, step.covers, step.home);
      if (step.turn_cpu_ns_max > 0) turn_.cpu_ns_max = step.turn_cpu_ns_max;
    }
    host_.RangesChanged(*slot);
  }
  turn_.stepped = true;
  watch.Stop(step.target_cpu_ns, step.target_wall_ns);
  acknowledgements_.Add(command->complete, command->context, 1);
}

}  // namespace eris::aeu
