#include "engine/moving/transfer_executor.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aeu/state/clock.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "engine/moving/transfer_pieces.h"
#include "eris/errors.h"
#include "routing/data_command.h"
#include "routing/transfer_step.h"

namespace eris::engine {

using routing::StepOutcome;
using routing::TransferStep;

namespace {

// Empties it for the next step; its memory stays.
void ClearChunk(storage::ExchangeChunk& chunk) {
  chunk.covers = {};
  chunk.keys.clear();
  chunk.values.clear();
  chunk.offsets.clear();
  chunk.bytes.clear();
  chunk.seconds.clear();
  chunk.versions.Clear();
  chunk.rows.count = 0;
  for (ColumnBuffers& column : chunk.rows.columns) {
    column.values.clear();
    column.validity.clear();
    column.offsets.clear();
  }
}

// Reserves `size` elements and touches their pages. Throws std::bad_alloc.
template <class Buffer>
void MakeRoom(Buffer& buffer, uint64_t size) {
  if (buffer.capacity() >= size) return;
  buffer = Buffer(size + size / 4, typename Buffer::value_type{});
  buffer.clear();
}

absl::Status Dropped(const ObjectEntry& object) {
  return Error(ErrorReason::kObjectDropped,
               absl::StrCat("object \"", object.name, "\" has been dropped"));
}

}  // namespace

// One transfer under way.
class TransferRun {
 public:
  // `chunk_size` is the object's.
  TransferRun(TransferExecutor& executor, ObjectEntry& object, const PlannedTransfer& transfer,
              const TransferStop::Ticket& ticket, uint64_t id, ChunkSize& chunk_size)
      : executor_(executor),
        object_(object),
        transfer_(transfer),
        range_(storage::Range::FromPublic(transfer.range)),
        ticket_(ticket),
        id_(id),
        kind_(transfer.kind),
        chunk_size_(chunk_size) {
    chunk_size_.Begin(max_pause_us());
  }

  // What a hash has made ready to leave and keeps goes back: until then it takes no rows in. Not
  // for the sake of what is going away.
  void Release() {
    if (object_.kind != ObjectKind::kHash || step_.rows_max == 0) return;
    if (object_.dropped() || executor_.core_.transfer_stop.closed()) return;
    PrepareStep({});
    step_.release = true;
    // The next transfer of it asks again.
    base::OrNoMemory("", [&] {
      return executor_.sender_.Give(object_, step_, [] { return true; });
    }).IgnoreError();
  }

  // Where the target notes how memory follows.
  void SetHome(std::shared_ptr<routing::HomeNote> home) { step_.home = std::move(home); }

  // `stopped`: of an error, whether it is one of AwaitTurn, and not of the AEUs.
  absl::Status MoveAll(bool& stopped) {
    stopped = true;
    ERIS_RETURN_IF_ERROR(
        executor_.AwaitTurn(object_, ticket_, kind_));  // before anything is reserved
    stopped = false;
    PrepareMemory();
    ERIS_RETURN_IF_ERROR(executor_.sender_.Reserve(object_, transfer_.to));
    for (;;) {
      const std::optional<TransferPiece> piece = Next();
      if (!piece) return absl::OkStatus();
      stopped = true;
      ERIS_RETURN_IF_ERROR(executor_.AwaitTurn(object_, ticket_, kind_));
      stopped = false;
      ERIS_RETURN_IF_ERROR(MoveOne(*piece, stopped));
      if (NoSegmentLeaves()) {
        CopyInstead();
        continue;
      }
      if (tries_again_) kind_ = transfer_.kind;
      if (heap() && step_.rows == 0) return absl::OkStatus();  // the source has no more
    }
  }

 private:
  bool heap() const { return object_.kind == ObjectKind::kHeapTable; }
  void SetPhase(TransferPhase phase) { executor_.history_.SetPhase(id_, phase); }
  uint32_t max_pause_us() const { return executor_.max_pause_us_.load(std::memory_order_relaxed); }

  std::optional<TransferPiece> Next() {
    if (!heap()) {
      return NextPiece(*object_.route.Pin(), range_, transfer_.from, transfer_.to);
    }
    if (rows_ >= transfer_.rows) return std::nullopt;
    // AEU i's part has the range [i, i + 1), and keeps it.
    const uint64_t i = transfer_.from.value;
    return TransferPiece{.leaving = {{i, 0}, storage::Key{i + 1, 0}},
                         .from = storage::Partition::End::kHigh};
  }

  // `stopped`: as of MoveAll.
  absl::Status MoveOne(const TransferPiece& piece, bool& stopped) {
    for (;;) {
      PrepareMemory();
      PrepareStep(piece);
      ERIS_RETURN_IF_ERROR(TakeStep(piece, stopped));
      // A step of another object may be under way there: it is not this transfer's end.
      if (step_.outcome != StepOutcome::kRefused || !absl::IsUnavailable(step_.status)) break;
      SetPhase(TransferPhase::kOtherTransfer);
      stopped = true;
      ERIS_RETURN_IF_ERROR(executor_.AwaitSource(object_, ticket_));
      stopped = false;
    }
    if (NoSegmentLeaves()) return absl::OkStatus();
    if (step_.outcome != StepOutcome::kInstalled) return WhyNot();
    rows_ += step_.rows;
    // The record has the kind of what has moved; chunks may have been copied before.
    if (kind_ == transfer_.kind && heap()) executor_.history_.SetKind(id_, kind_);
    if (TraitsOf(kind_).in_chunks) {
      // With its versions: a chunk of erased rows may have nothing else.
      chunk_size_.Learn(step_.chunk.weight(), step_.bytes,
                        std::max(step_.source_cpu_ns, step_.target_cpu_ns), max_pause_us(),
                        step_.filled);
    }
    if (!heap() && step_.covers.Empty()) {
      return absl::InternalError("a step of a transfer has moved no range");
    }
    return absl::OkStatus();
  }

  // For heap tables: a snapshot is held that would miss segments which change hands, or none has as
  // few rows as are to move.
  bool NoSegmentLeaves() const {
    return heap() && !TraitsOf(kind_).copies_rows && step_.outcome == StepOutcome::kRefused &&
           (absl::IsAborted(step_.status) || absl::IsFailedPrecondition(step_.status));
  }
  // A chunk, after which segments are tried again; or all that is left.
  void CopyInstead() {
    tries_again_ = absl::IsAborted(step_.status);
    kind_ = TransferKind::kCopy;
    if (rows_ == 0) executor_.history_.SetKind(id_, kind_);
  }

  // Errors: as of Give, and what has stopped it (then `stopped`). Else step_ says how it ended.
  absl::Status TakeStep([[maybe_unused]] const TransferPiece& piece, bool& stopped) {
    // No scan at a snapshot that is taken from now on begins until the rows are at one AEU again.
    std::optional<StepGate::Hold> hold;
    if (object_.is_table()) {
      hold.emplace(object_.step_gate(),
                   [this] { return executor_.core_.directory.snapshots().Now().epoch; });
    }
#ifdef ERIS_PLANTED_EARLY_TABLE
    // Published before the target has acknowledged it; what has not come along goes back.
    const auto publish = [&](AeuId owner) {
      object_.route.Publish(object_.route.Pin()->With(piece.leaving, owner),
                            executor_.core_.directory.table_readers());
    };
    publish(transfer_.to);
#endif
    absl::Status why_stopped;
    SetPhase(TransferPhase::kSource);
    ERIS_RETURN_IF_ERROR(executor_.sender_.Give(object_, step_, [&] {
      executor_.history_.Look(id_, step_);
      // Nothing may be thrown while the AEUs have the step.
      if (why_stopped.ok()) {
        why_stopped = base::OrNoMemory("the transfer is to stop",
                                       [&] { return executor_.MayGoOn(object_, ticket_); });
      }
      return why_stopped.ok();
    }));
#ifdef ERIS_PLANTED_EARLY_TABLE
    publish(transfer_.from);
#endif
    const StepOutcome outcome = step_.outcome;
    if (outcome == StepOutcome::kInstalled) Publish();
    executor_.Account(step_);
    if (outcome != StepOutcome::kRefused) {
      SetPhase(TransferPhase::kConclusion);
      executor_.sender_.Conclude(object_, step_);
    }
    if (outcome == StepOutcome::kReturned) PublishReturned();
    executor_.history_.Add(id_, step_);  // with what the conclusion took
    if (outcome != StepOutcome::kRefused) SetPhase(TransferPhase::kBetweenSteps);
    if (outcome == StepOutcome::kRefused && !why_stopped.ok()) {
      stopped = true;
      return why_stopped;
    }
    return absl::OkStatus();
  }

  // What the next chunk may need, which has twice the rows of the last one at most: the target for
  // its rows and versions. The source needs little, for what its tree is cut with; of a table under
  // snapshots for a record of each row that dies there, of a hash for the rows that are made ready.
  void PrepareMemory() {
    constexpr uint64_t kLeastBytes = 8u << 20;  // sizes that it has no blocks of yet
    executor_.sender_.PrepareMemory(transfer_.to, kLeastBytes + 2 * step_.bytes);
    if (!TraitsOf(kind_).copies_rows) return;
    constexpr uint64_t kRecordBytes = 32;
    const bool hash = object_.kind == ObjectKind::kHash;
    const uint64_t rows = hash ? transfer_.rows : object_.is_table() ? chunk_size_.rows() : 0;
    executor_.sender_.PrepareMemory(transfer_.from, kLeastBytes + kRecordBytes * rows);
  }

  // Room for the next chunk, whose pages come here and not in the AEU's turn. Strings are taken to
  // be as long as those of the last chunk. Without memory, and beyond kMostBytes, the AEU
  // allocates it.
  void PrepareChunk() {
    constexpr uint64_t kMostBytes = 32u << 20;
    storage::ExchangeChunk& chunk = step_.chunk;
    // Any column of strings may have nearly all of a row's bytes.
    uint64_t row_bytes = 3 * sizeof(uint64_t);
    if (!object_.is_table()) row_bytes += chunk_size_.row_bytes();
    for (uint32_t i = 0; object_.is_table() && i < object_.layout->columns(); ++i) {
      const uint32_t width = ColumnValueBytes(object_.layout->column(i).type);
      row_bytes += 1 + (width > 0 ? width : sizeof(uint32_t) + chunk_size_.row_bytes());
    }
    const uint64_t rows = std::min(uint64_t{chunk_size_.rows()} + 1,
                                   kMostBytes / row_bytes);  // Lend looks at one more
    const uint64_t bytes = rows * chunk_size_.row_bytes();
    try {
      MakeRoom(chunk.keys, rows);
      MakeRoom(chunk.values, rows);
      if (object_.kind == ObjectKind::kIndex) MakeVersionRoom(rows / storage::kRowsPerVersion + 1);
      if (object_.has_two_words()) MakeRoom(chunk.seconds, rows);
      if (IsByteString(object_.value_type)) {
        MakeRoom(chunk.offsets, rows);
        MakeRoom(chunk.bytes, bytes);
      }
      if (!object_.is_table()) return;
      const storage::TableLayout& layout = *object_.layout;
      chunk.rows.columns.resize(layout.columns());
      for (uint32_t i = 0; i < layout.columns(); ++i) {
        ColumnBuffers& column = chunk.rows.columns[i];
        const uint32_t width = ColumnValueBytes(layout.column(i).type);
        MakeRoom(column.values, width > 0 ? rows * width : bytes);
        MakeRoom(column.validity, rows / 8 + 1);
        if (width == 0) MakeRoom(column.offsets, rows * sizeof(uint32_t));
      }
    } catch (const std::bad_alloc&) {
    }
  }

  // For strings: half as much again as the last chunk had.
  void MakeVersionRoom(uint64_t versions) {
    storage::VersionColumns& columns = step_.chunk.versions;
    MakeRoom(columns.keys, versions);
    MakeRoom(columns.ends, versions);
    if (object_.has_two_words()) MakeRoom(columns.seconds, versions);
    if (!IsByteString(object_.value_type)) {
      MakeRoom(columns.values, versions);
    } else {
      MakeRoom(columns.offsets, versions + 1);
      MakeRoom(columns.bytes, version_bytes_ + version_bytes_ / 2);
    }
  }

  void PrepareStep(const TransferPiece& piece) {
    step_.source = transfer_.from;
    step_.target = transfer_.to;
    step_.kind = kind_;
    step_.leaving = piece.leaving;
    step_.version = heap() ? 0 : object_.route.version() + 1;  // nobody else publishes meanwhile
    step_.from = piece.from;
    step_.rows_max = chunk_size_.rows();
    step_.bytes_max = chunk_size_.bytes_max();
    if (heap()) {
      const uint64_t most = TraitsOf(kind_).in_chunks ? step_.rows_max : ~uint32_t{0};
      step_.rows_max = static_cast<uint32_t>(std::min(most, transfer_.rows - rows_));
    }
    step_.turn_cpu_ns_max = 1000 * uint64_t{max_pause_us()};
    step_.partition = nullptr;
    step_.segments = {};
    version_bytes_ = step_.chunk.versions.bytes.size();
    ClearChunk(step_.chunk);
    if (TraitsOf(step_.kind).copies_rows) PrepareChunk();
    step_.covers = {};
    step_.born = 0;
    step_.rows = step_.bytes = 0;
    step_.filled = false;
    step_.source_cpu_ns = step_.source_wall_ns = 0;
    step_.target_cpu_ns = step_.target_wall_ns = 0;
    step_.forget_cpu_ns = step_.forget_wall_ns = 0;
    step_.give_up.store(false, std::memory_order_relaxed);  // the commands publish these
    step_.turns.store(0, std::memory_order_relaxed);
    step_.left.store(false, std::memory_order_relaxed);
    step_.outcome = StepOutcome::kUnderWay;
    step_.status = absl::OkStatus();
  }

  // The target has it.
  void Publish() {
    if (!heap()) return PublishOwner(transfer_.to);
    UntilThereIsMemory([&](routing::TableReaders& readers) {
      const auto holders = object_.holders.Pin();
      if (!holders->Holds(transfer_.to)) {
        object_.holders.Publish(holders->With(transfer_.to), readers);
      }
    });
  }

  // The source has it again, and refuses what goes by an older table (docs/internals/ROUTING.md).
  // After the conclusion: what goes by the new one must not find it gone.
  void PublishReturned() {
    if (!heap() && !step_.covers.Empty()) PublishOwner(transfer_.from);
  }

  void PublishOwner(AeuId owner) {
    UntilThereIsMemory([&](routing::TableReaders& readers) {
      object_.route.Publish(object_.route.Pin()->With(step_.covers, owner), readers);
    });
  }

  // Nobody can go back: without memory for a table this waits for some.
  template <class PublishTable>
  void UntilThereIsMemory(PublishTable publish) {
    for (;;) {
      try {
        return publish(executor_.core_.directory.table_readers());
      } catch (const std::bad_alloc&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }

  absl::Status WhyNot() const {
    if (!step_.status.ok()) return step_.status;
    const bool returned = step_.outcome == StepOutcome::kReturned;
    return absl::ResourceExhaustedError(
        absl::StrCat("AEU ", returned ? transfer_.to.value : transfer_.from.value,
                     returned ? " has not taken the rows" : " has not given the rows"));
  }

  TransferExecutor& executor_;
  ObjectEntry& object_;
  const PlannedTransfer& transfer_;
  const storage::Range range_;
  const TransferStop::Ticket& ticket_;
  const uint64_t id_;

  TransferKind kind_;         // of the next step: what no segment has is copied
  bool tries_again_ = false;  // no segment was given, because of a snapshot
  ChunkSize& chunk_size_;
  TransferStep step_;           // one after the other
  uint64_t rows_ = 0;           // moved
  uint64_t version_bytes_ = 0;  // strings of the last chunk's versions
};

TransferExecutor::Result TransferExecutor::Run(ObjectEntry& object, const PlannedTransfer& transfer,
                                               const TransferStop::Ticket& ticket) {
  base::MutexLock publisher(&object.publisher_mu());
  std::shared_ptr<routing::HomeNote> home;
  if (!TraitsOf(transfer.kind).copies_rows) home = std::make_shared<routing::HomeNote>();
  const uint64_t id = history_.Begin(object.name, transfer, home);
  bool stopped = false;
  TransferRun run(*this, object, transfer, ticket, id, object.chunk_size());
  run.SetHome(std::move(home));
  // Between steps, which is where it may throw, everything is at one AEU.
  const absl::Status status = base::OrNoMemory("the system has no memory for a transfer",
                                               [&] { return run.MoveAll(stopped); });
  if (!status.ok()) run.Release();
  const TransferOutcome outcome = status.ok() ? TransferOutcome::kDone
                                  : stopped   ? TransferOutcome::kStopped
                                              : TransferOutcome::kRefused;
  std::string reason;
  try {
    reason = std::string(status.message());
  } catch (const std::bad_alloc&) {
  }
  return {history_.End(id, outcome, std::move(reason)), status};
}

void TransferExecutor::SetBudget(uint32_t max_pause_us, uint64_t max_bytes_per_s) {
  max_pause_us_.store(max_pause_us, std::memory_order_relaxed);
  core_.directory.transfer_rate().SetLimit(max_bytes_per_s, aeu::NowNs());
  core_.transfer_stop.Look();
}

absl::Status TransferExecutor::MayGoOn(const ObjectEntry& object,
                                       const TransferStop::Ticket& ticket) const {
  if (object.dropped()) return Dropped(object);
  ERIS_RETURN_IF_ERROR(core_.transfer_stop.Check(ticket));
  if (core_.in_flight.closed()) return EngineClosing();
  return absl::OkStatus();
}

absl::Status TransferExecutor::AwaitSource(const ObjectEntry& object,
                                           const TransferStop::Ticket& ticket) {
  constexpr absl::Duration kAgain = absl::Milliseconds(1);
  const uint64_t seen = core_.transfer_stop.changes();
  ERIS_RETURN_IF_ERROR(MayGoOn(object, ticket));
  core_.transfer_stop.Wait(seen, std::min(absl::Now() + kAgain, ticket.deadline));
  return MayGoOn(object, ticket);
}

absl::Status TransferExecutor::AwaitTurn(const ObjectEntry& object,
                                         const TransferStop::Ticket& ticket, TransferKind kind) {
  for (;;) {
    const uint64_t seen = core_.transfer_stop.changes();
    ERIS_RETURN_IF_ERROR(MayGoOn(object, ticket));
    if (!TraitsOf(kind).copies_rows) return absl::OkStatus();
    const uint64_t wait_ns = core_.directory.transfer_rate().WaitNs(aeu::NowNs());
    if (wait_ns == 0) return absl::OkStatus();
    const absl::Time until = absl::Now() + absl::Nanoseconds(wait_ns);
    core_.transfer_stop.Wait(seen, std::min(until, ticket.deadline));
  }
}

void TransferExecutor::Account(const TransferStep& step) {
  if (!TraitsOf(step.kind).copies_rows) return;
  core_.directory.transfer_rate().Add(step.bytes, aeu::NowNs());
}

}  // namespace eris::engine
