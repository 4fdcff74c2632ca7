#include "aeu/transfer_runner.h"

#include <algorithm>
#include <new>
#include <utility>

#include "aeu/clock.h"
#include "aeu/reserve_more.h"
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

// What the range's load has to say after its partition has changed.
void SettleLoad(const OwnedRange& owned) {
  owned.load->SetRange(owned.partition->range());
  owned.load->SetSize(owned.partition->size());
}

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

size_t IndexOf(ObjectSlot& slot, const OwnedRange& owned) {
  return static_cast<size_t>(&owned - slot.ranges().data());
}

// Adds what a stretch of the turn has cost to a step's figures.
class Stopwatch {
 public:
  Stopwatch() : cpu_ns_(ThreadCpuNs()), wall_ns_(NowNs()) {}
  // The longest turn counts.
  void Stop(uint64_t& cpu_ns, uint64_t& wall_ns) const {
    cpu_ns = std::max(cpu_ns, ThreadCpuNs() - cpu_ns_);
    wall_ns = std::max(wall_ns, NowNs() - wall_ns_);
  }

 private:
  const uint64_t cpu_ns_;
  const uint64_t wall_ns_;
};

// What a turn may spend on the step.
uint64_t TurnCpuNs(const TransferStep& step) {
  return step.turn_cpu_ns_max > 0 ? step.turn_cpu_ns_max : TransferRunner::kTurnCpuNsMax;
}

bool HasKeys(const ObjectSlot& slot) { return slot.spec().kind != ObjectKind::kHeapTable; }

bool LowEndFirst(const TransferStep& step) {
  return step.kind == TransferKind::kLink || step.from == Partition::End::kLow;
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
    Refuse(BeginReleasing(*given.slot));
  } else if (leaving.Empty() || leaving.lo.tail != 0 || (leaving.hi && leaving.hi->tail != 0)) {
    Refuse(LeanStatus(StatusCode::kInvalidArgument,
                      "an empty range, or one with bounds of two parts"));
  } else if (step->kind == TransferKind::kLink && given.slot->spec().kind != ObjectKind::kIndex) {
    Refuse(LeanStatus(StatusCode::kInvalidArgument, "this kind of object moves by copy only"));
  }
}

void TransferRunner::Refuse(const absl::Status& status) {
  TransferStep& step = *giving_.step;
  step.outcome = StepOutcome::kRefused;
  step.status = status;
  acknowledgements_.Add(giving_.complete, giving_.context, 1);
  giving_ = {};
}

OwnedRange* TransferRunner::FindGiven(Range& given) const {
  ObjectSlot& slot = *giving_.slot;
  const TransferStep& step = *giving_.step;
  if (slot.spec().kind == ObjectKind::kHeapTable) {  // its rows have no keys
    given = step.leaving;
    return slot.ranges().empty() ? nullptr : &slot.ranges().front();
  }
  OwnedRange* owned =
      slot.Find(LowEndFirst(step) ? step.leaving.lo.head : storage::LastFirstPartOf(step.leaving));
  if (owned != nullptr) given = Intersection(step.leaving, owned->partition->range());
  return owned;
}

bool TransferRunner::Advance() {
  if (giving_.step == nullptr || giving_.out) return false;
  TransferStep& step = *giving_.step;
  ObjectSlot& slot = *giving_.slot;
  // relaxed: nothing comes with it.
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
    // relaxed: see the step. The source alone writes it.
    step.turns.store(step.turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    watch.Stop(step.source_cpu_ns, step.source_wall_ns);
    return true;
  }
  if (const absl::Status room = MakeRoom(slot, step.target); !room.ok()) {
    Refuse(room);
    return true;
  }
  owned = FindGiven(given);  // they may lie elsewhere now
  // Before anything changes: what has been cut off can be sent then, whatever happens. From here on
  // nothing else is buffered for the target in between.
  CommandHeader* const record = port_.Open(step.target, sizeof(TransferSegment));
  if (record == nullptr) return false;
  const absl::Status status = base::OrNoMemory("no memory to cut off a range", [&] {
    return step.kind == TransferKind::kLink ? SplitOff(*owned, given) : Lend(*owned, given);
  });
  if (!status.ok()) {
    port_.Withdraw(step.target, record);
    host_.RangesChanged(slot);  // it may be cut all the same
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
  // Where rows have keys, these go to the target from now on, behind the record.
  if (HasKeys(slot)) slot.SetStub(Stub{step.covers, step.target, step.version});
  giving_.out = true;
  step.left.store(true, std::memory_order_relaxed);  // see the step
  host_.RangesChanged(slot);
  stepped_ = true;
  // Sent over at the turn's end: the target does not see the step before.
  watch.Stop(step.source_cpu_ns, step.source_wall_ns);
  return true;
}

absl::Status TransferRunner::MakeRoom(ObjectSlot& slot, std::optional<AeuId> target) {
  try {
    slot.ReserveRanges(kRangesAddedMax);
    slot.history().Reserve();
    host_.load_board().Reserve(slot, kRangesAddedMax);
    ReserveMore(forgetting_, 1);
    if (target) port_.ReserveTarget(*target);
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    return base::NoMemory("no memory for another range");
  }
}

bool TransferRunner::Prepare(OwnedRange& owned, const Range& given) {
  TransferStep& step = *giving_.step;
  // A range leaves with all that is in it. And chunks must not leave faster than the rows of those
  // before are freed, a piece in each turn.
  if (owned.forgets) return false;
  if (step.kind != TransferKind::kCopy || giving_.slot->spec().kind != ObjectKind::kHash) {
    return true;
  }
  const absl::StatusOr<bool> ready = base::OrNoMemory(
      "no memory to make rows ready", [&] { return PrepareRows(*owned.partition, given); });
  if (ready.ok()) return *ready;
  Refuse(ready.status());
  return false;
}

absl::StatusOr<bool> TransferRunner::PrepareRows(Partition& partition, const Range& given) {
  const uint64_t turn_cpu_ns = TurnCpuNs(*giving_.step);
  WorkPace& pace = giving_.slot->paces().walk;
  const uint32_t rows = pace.Rows(turn_cpu_ns, kWalkedPerTurn);
  stepped_ = true;
  const uint64_t began_ns = work_clock_();
  std::erase(releasing_, giving_.slot);  // this does it
  PreparedRows& prepared = giving_.slot->prepared();
  if (prepared.partition != &partition || prepared.leaving != given) {
    prepared = {};
    // Of a transfer that was stopped.
    absl::StatusOr<bool> cancelled = partition.CancelExtract(rows);
    if (!cancelled.ok()) return cancelled.status();
    pace.Learn(rows, work_clock_() - began_ns, *cancelled);
    if (!*cancelled) return false;
    ERIS_RETURN_IF_ERROR(partition.PrepareExtract(given));
    prepared = {&partition, given, false};
  }
  if (prepared.ready) return partition.WalkLeaving(rows);  // says so, or goes on where it has to
  const absl::StatusOr<bool> walked = partition.WalkLeaving(rows);
  if (!walked.ok()) return walked.status();
  pace.Learn(rows, work_clock_() - began_ns, *walked);
  prepared.ready = *walked;
  return false;  // the chunk is another turn's
}

absl::Status TransferRunner::BeginReleasing(ObjectSlot& slot) {
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

void TransferRunner::Release() {
  if (stepped_ || releasing_.empty()) return;
  ObjectSlot& slot = *releasing_.front();
  WorkPace& pace = slot.paces().walk;
  const uint32_t rows = pace.Rows(turn_cpu_ns_max_, kWalkedPerTurn);
  for (const OwnedRange& owned : slot.ranges()) {
    const uint64_t began_ns = work_clock_();
    const absl::StatusOr<bool> released = base::OrNoMemory(
        "no memory to take rows back", [&] { return owned.partition->CancelExtract(rows); });
    // Without memory the next transfer tries again.
    if (!released.ok()) break;
    pace.Learn(rows, work_clock_() - began_ns, *released);
    if (!*released) return;
  }
  releasing_.erase(releasing_.begin());
}

absl::Status TransferRunner::SplitOff(OwnedRange& owned, const Range& given) {
  TransferStep& step = *giving_.step;
  ObjectSlot& slot = *giving_.slot;
  Partition& partition = *owned.partition;
  const Range whole = partition.range();
  std::unique_ptr<Partition> above, middle;
  if (given.hi != whole.hi) {
    absl::StatusOr<std::unique_ptr<Partition>> cut = partition.SplitAt(*given.hi);
    if (!cut.ok()) return cut.status();
    above = *std::move(cut);
  }
  if (given.lo != whole.lo) {
    absl::StatusOr<std::unique_ptr<Partition>> cut = base::OrNoMemory(
        "no memory to cut off a range", [&] { return partition.SplitAt(given.lo); });
    if (!cut.ok()) {
      // Where it cannot be joined again there is a range more, and every row is where it was.
      if (above != nullptr && !partition.Absorb(*above).ok()) Add(slot, std::move(above));
      host_.SettleVersions(*slot.Find(&partition));
      return cut.status();
    }
    middle = *std::move(cut);
  }
  if (middle != nullptr) {
    step.partition = std::move(middle);
    host_.SettleVersions(owned);
    owned.load->SetSize(partition.size());
    if (above != nullptr) Add(slot, std::move(above));
  } else {
    step.partition = std::move(owned.partition);
    if (above != nullptr) {
      owned.partition = std::move(above);
      host_.SettleVersions(owned);
      SettleLoad(owned);  // it begins elsewhere now
      slot.Reorder(IndexOf(slot, owned));
    } else {
      Remove(slot, owned);
    }
  }
  step.covers = given;
  step.rows = step.partition->size();
  return absl::OkStatus();
}

absl::Status TransferRunner::Lend(OwnedRange& owned, const Range& given) {
  TransferStep& step = *giving_.step;
  ObjectSlot& slot = *giving_.slot;
  Partition* lender = owned.partition.get();
  if (slot.spec().kind == ObjectKind::kIndex) {
    // Only an end can be lent, so what lies in the middle becomes one first.
    const bool low = step.from == Partition::End::kLow;
    if (low ? given.lo != lender->range().lo : given.hi != lender->range().hi) {
      auto cut = lender->SplitAt(low ? given.lo : *given.hi);
      if (!cut.ok()) return cut.status();
      owned.load->SetSize(lender->size());
      host_.SettleVersions(owned);
      if (low) lender = cut->get();
      Add(slot, *std::move(cut));
    }
  }
  // The chunk's memory is the engine's, made ready before.
  const storage::ChunkLimit limit(std::max<uint32_t>(step.rows_max, 1), step.bytes_max);
  ERIS_RETURN_IF_ERROR(lender->Lend(given, step.from, limit, step.chunk));
  giving_.lender = lender;
  OwnedRange& lends = *slot.Find(lender);
  lends.lends = true;
  host_.SettleVersions(lends);
  SettleLoad(lends);  // it may begin elsewhere now
  slot.Reorder(IndexOf(slot, lends));
  step.covers = step.chunk.covers;
  step.rows = RowsOf(step.chunk);
  step.bytes = BytesOf(step.chunk);
  step.filled = HasKeys(slot) && step.covers != given;
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
    // Dropped meanwhile: what came back goes with the object's memory.
    if (step->partition != nullptr) step->partition->Abandon();
    step->partition.reset();
    return answer(KeyState::kNoObject);
  }
  ObjectSlot& slot = *given.slot;
  // The table has been published, or is about to be: from now on it says who owns the keys, and who
  // goes by an older one has to look.
  slot.SetStub(std::nullopt);
  ERIS_DCHECK(step->outcome == StepOutcome::kInstalled || step->outcome == StepOutcome::kReturned);
  const bool installed = step->outcome == StepOutcome::kInstalled;
  // What was sent on meanwhile has been refused, so what is older than that is refused here.
  if (!installed && HasKeys(slot)) slot.history().TookIn(step->covers, step->version);
  if (step->kind == TransferKind::kLink) {
    if (!installed) Join(slot, Add(slot, std::move(step->partition)));
  } else {
    OwnedRange& lender = *slot.Find(given.lender);
    lender.lends = false;
    if (installed) {
      lender.partition->SetDeath(step->born);
      BeginForgetting(slot, lender);
    } else {
      lender.partition->TakeBack();
      if (slot.prepared().partition == given.lender) slot.prepared() = {};
      host_.SettleVersions(lender);
      SettleLoad(lender);
      Join(slot, slot.Reorder(IndexOf(slot, lender)));
    }
  }
  host_.RangesChanged(slot);
  stepped_ = true;
  if (step->turn_cpu_ns_max > 0) turn_cpu_ns_max_ = step->turn_cpu_ns_max;
  step->forget_cpu_ns = std::exchange(forget_cpu_ns_, 0);
  step->forget_wall_ns = std::exchange(forget_wall_ns_, 0);
  watch.Stop(step->source_cpu_ns, step->source_wall_ns);
  answer(KeyState::kAbsent);
}

void TransferRunner::BeginForgetting(ObjectSlot& slot, OwnedRange& owned) {
  // Of a table all rows die in this call, at the epoch at which the target's were born. Of others
  // the first piece is freed.
  WorkPace& pace = slot.paces().forget;
  const uint32_t rows = pace.Rows(turn_cpu_ns_max_, kForgottenPerTurn);
  const uint64_t began_ns = work_clock_();
  const bool more = owned.partition->Forget(snapshots_, rows);
  host_.SettleVersions(owned);
  host_.MemoryFreed(slot);
  if (!slot.spec().is_table()) pace.Learn(rows, work_clock_() - began_ns, !more);
  if (!more) return EndForgetting(slot, owned);
  owned.forgets = true;
  forgetting_.push_back({&slot, owned.partition.get()});
}

void TransferRunner::Forget(uint32_t rows_max) {
  if (stepped_ || forgetting_.empty()) return;
  const Forgetting one = forgetting_.front();  // one a turn
  OwnedRange& owned = *one.slot->Find(one.partition);
  ERIS_DCHECK(!owned.lends);  // to forget more would be to forget what it lends
  WorkPace& pace = one.slot->paces().forget;
  const uint32_t rows = pace.Rows(turn_cpu_ns_max_, rows_max);
  const Stopwatch watch;
  const uint64_t began_ns = work_clock_();
  const bool more = owned.partition->Forget(snapshots_, rows);
  host_.SettleVersions(owned);
  host_.MemoryFreed(*one.slot);
  watch.Stop(forget_cpu_ns_, forget_wall_ns_);
  pace.Learn(rows, work_clock_() - began_ns, !more);
  if (more) return;
  owned.forgets = false;
  forgetting_.erase(forgetting_.begin());
  EndForgetting(*one.slot, owned);
}

void TransferRunner::EndForgetting(ObjectSlot& slot, OwnedRange& owned) {
  if (!owned.partition->range().Empty()) {
    Join(slot, IndexOf(slot, owned));
  } else if (owned.partition->CanGo(snapshots_)) {
    Remove(slot, owned);
  }
  host_.RangesChanged(slot);
}

void TransferRunner::EndAll(const ObjectSlot* slot) {
  std::erase_if(forgetting_, [&](const Forgetting& one) { return one.slot == slot; });
  std::erase(releasing_, slot);
  if (giving_.step == nullptr || giving_.slot != slot) return;
  if (giving_.out) {
    giving_.slot = nullptr;
    giving_.lender = nullptr;
  } else {
    Refuse(LeanStatus(StatusCode::kNotFound, "the object is dropped"));
  }
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
    status = base::OrNoMemory("no memory to take a range in", [&] {
      return step.kind == TransferKind::kLink ? Link(*slot, step) : Ingest(*slot, step);
    });
  }
  step.outcome = status.ok() ? StepOutcome::kInstalled : StepOutcome::kReturned;
  step.status = status;
  if (status.ok()) {
    step.born = snapshots_.epoch;
    if (HasKeys(*slot)) slot->history().TookIn(step.covers, step.version);
    host_.RangesChanged(*slot);
  }
  stepped_ = true;
  watch.Stop(step.target_cpu_ns, step.target_wall_ns);
  acknowledgements_.Add(command->complete, command->context, 1);
}

absl::Status TransferRunner::Link(ObjectSlot& slot, TransferStep& step) {
  ERIS_RETURN_IF_ERROR(step.partition->Rehome(slot.cache()));
  Join(slot, Add(slot, std::move(step.partition)));
  return absl::OkStatus();
}

absl::Status TransferRunner::Ingest(ObjectSlot& slot, const TransferStep& step) {
  const storage::ExchangeChunk& chunk = step.chunk;
  absl::StatusOr<std::optional<size_t>> beside = IngestBeside(slot, chunk);
  if (!beside.ok()) return beside.status();
  if (*beside) {
    Join(slot, **beside);
    return absl::OkStatus();
  }
  if (slot.spec().kind == ObjectKind::kHeapTable) {
    return LeanStatus(StatusCode::kFailedPrecondition,
                      "the AEU has no part of the table to add the rows to");
  }
  auto partition = slot.MakePartition({chunk.covers.lo, chunk.covers.lo}, snapshots_);
  if (!partition.ok()) return partition.status();
  ERIS_RETURN_IF_ERROR((*partition)->Ingest(chunk));
  Add(slot, *std::move(partition));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<size_t>> TransferRunner::IngestBeside(
    ObjectSlot& slot, const storage::ExchangeChunk& chunk) {
  const bool heap = slot.spec().kind == ObjectKind::kHeapTable;
  for (size_t i = 0; i < slot.ranges().size(); ++i) {
    OwnedRange& owned = slot.ranges()[i];
    const Range range = owned.partition->range();
    const bool touches =
        heap || (!range.Empty() && (range.hi == chunk.covers.lo || chunk.covers.hi == range.lo));
    if (!touches || owned.lends) continue;
    const absl::Status status = owned.partition->Ingest(chunk);
    if (absl::IsFailedPrecondition(status)) continue;  // rows of it are made ready to leave
    if (!status.ok()) return status;
    host_.SettleVersions(owned);
    SettleLoad(owned);
    return slot.Reorder(i);
  }
  return std::nullopt;
}

// --- The slot's ranges.

void TransferRunner::RemoveEmpty(ObjectSlot& slot) {
  auto& ranges = slot.ranges();
  bool removed = false;
  for (size_t i = ranges.size(); i-- > 0;) {
    const Partition& partition = *ranges[i].partition;
    if (!ranges[i].settled() || !partition.CanGo(snapshots_)) continue;
    Remove(slot, ranges[i]);
    removed = true;
  }
  if (removed) host_.RangesChanged(slot);
}

size_t TransferRunner::Add(ObjectSlot& slot, std::unique_ptr<Partition> partition) {
  auto load = slot.NewLoad(partition->range());
  load->SetSize(partition->size());
  const size_t index = slot.Insert({std::move(partition), std::move(load)});
  host_.load_board().Add(slot, slot.ranges()[index]);
  host_.SettleVersions(slot.ranges()[index]);
  return index;
}

void TransferRunner::Remove(ObjectSlot& slot, OwnedRange& owned) {
  if (slot.prepared().partition == owned.partition.get()) slot.prepared() = {};
  host_.ReleaseVersions(owned);
  host_.load_board().Remove(slot, owned);
  slot.ranges().erase(slot.ranges().begin() + static_cast<ptrdiff_t>(IndexOf(slot, owned)));
}

void TransferRunner::Join(ObjectSlot& slot, size_t index) {
  if (slot.spec().kind != ObjectKind::kIndex) return;
  JoinWithNext(slot, index);
  if (index > 0) JoinWithNext(slot, index - 1);
}

bool TransferRunner::JoinWithNext(ObjectSlot& slot, size_t index) {
  auto& ranges = slot.ranges();
  if (index + 1 >= ranges.size()) return false;
  OwnedRange& low = ranges[index];
  OwnedRange& high = ranges[index + 1];
  const Range& range = low.partition->range();
  if (range.Empty() || high.partition->range().Empty()) return false;
  if (range.hi != high.partition->range().lo || !low.settled() || !high.settled()) return false;
  // Without memory there are two ranges, which is as good.
  if (!low.partition->Absorb(*high.partition).ok()) return false;
  Remove(slot, high);
  host_.SettleVersions(low);
  low.load->SetSize(low.partition->size());
  return true;
}

}  // namespace eris::aeu
