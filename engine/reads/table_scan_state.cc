#include "engine/reads/table_scan_state.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/snapshot.h"
#include "engine/reads/table_chunk_shape.h"
#include "engine/reads/table_result.h"
#include "storage/table/append_pieces.h"

namespace eris::engine {

using routing::CommandType;
using routing::PartOutcome;
using storage::KeyState;

namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

}  // namespace

absl::StatusOr<TableScanState*> TableScanState::Create(Core& core, Request request) {
  auto* scan = new TableScanState(core, std::move(request));
  Held held(*scan);
  core.table_scans.Add(scan);
  absl::Status status;
  {
    base::MutexLock lock(&scan->mu_);
    status = scan->MakeParts();
    if (status.ok()) status = scan->MakeChunks();
    if (status.ok()) {
      scan->SendAll();
      status = scan->error_;
    }
  }
  if (!status.ok()) return status;
  held.Keep();
  return scan;
}

TableScanState::TableScanState(Core& core, Request request)
    : ReaderState(core),
      request_(std::move(request)),
      pool_(core.table_chunks),
      rows_left_(request_.limit > 0 ? request_.limit : kNoLimit) {}

TableScanState::~TableScanState() {
  pool_->Return(std::move(memory_), slab_bytes_);
  // Runs count what they take in the core's memory, which may go with the last scan.
  parts_.reset();
  ended_runs_.clear();
  merged_.reset();
  core_.table_scans.Remove(this);
}

// Rows that the snapshot S sees are where they were when S was taken, whoever owns their keys by
// now: those that have changed hands since are old rows of the AEU that gave them away. So all
// members are asked, and no partition table. They are read after S was taken. Who is not among them
// has had its first rows later: from a step that began after it had been made a member, hence after
// S. And a step keeps the epoch where it is: none lies partly before S, so what its target has of
// it is born, and what its source has dies, above S. A token of S names the members of an earlier
// moment after S: what it leaves out has nothing for S either, and is asked for nothing.
absl::Status TableScanState::MakeParts() {
  const ObjectEntry& table = *request_.table;
  owners_ = table.Members();
  if (owners_.empty() && table.kind == ObjectKind::kHeapTable) {
    owners_ = table.holders.Pin()->Owners();
  } else if (owners_.empty()) {
    owners_ = table.route.Pin()->owners();
    std::sort(owners_.begin(), owners_.end());
    owners_.erase(std::unique(owners_.begin(), owners_.end()), owners_.end());
  }
  for (const AeuId owner : owners_) handed_out_.push_back({.owner = owner, .cursor = {}});
  if (request_.resume) {
    const TableResume& resume = *request_.resume;
    bool fits = resume.object == table.route.object() &&
                resume.snapshot == request_.snapshot->epoch() &&
                resume.query == request_.fingerprint && !request_.plan->aggregates() &&
                !resume.parts.empty();
    auto at = handed_out_.begin();
    for (const TablePartState& part : resume.parts) {  // ascending, as these are
      at = std::find_if(at, handed_out_.end(),
                        [&](const TablePartState& own) { return own.owner == part.owner; });
      if (at == handed_out_.end()) {
        fits = false;
        break;
      }
      *at++ = part;
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("the resume token is not one of this query on snapshot ",
                       request_.snapshot->epoch(), " of table \"", table.name, "\""));
    }
  }
  MakeTarget();
  parts_ = std::make_unique<Part[]>(owners_.size());
  for (size_t i = 0; i < owners_.size(); ++i) {
    Part& part = parts_[i];
    part.scan = this;
    part.owner = owners_[i];
    part.plan = request_.plan;
    part.from = handed_out_[i].cursor;
    part.memory = core_.run_memory.get();
    if (request_.target) part.target = &target_;
    part_list_.push_back(&part);
  }
  return absl::OkStatus();
}

void TableScanState::MakeTarget() {
  if (!request_.target) return;
  const ObjectEntry& target = *request_.target;
  target_.route = &target.route;
  target_.layout = target.layout.get();
  target_.begin_chunk = &TableScanState::BeginChunk;
  target_.complete_chunk = &TableScanState::ChunkAnswered;
  switch (target.kind) {
    case ObjectKind::kIndex:
    case ObjectKind::kHash:
      target_.type = CommandType::kUpsert;
      return;
    case ObjectKind::kTable:
      target_.type = CommandType::kPutRows;
      return;
    case ObjectKind::kHeapTable: {
      target_.type = CommandType::kAppendRows;
      const auto holders = target.holders.Pin();
      target_holders_ = holders->Owners();
      target_.holders = target_holders_;
      target_.table_version = holders->version();
      return;
    }
  }
}

absl::Status TableScanState::MakeChunks() {
  const TableChunkPlan plan = TableChunkPlan::Of(schema(),
                                                 {.limit = request_.limit,
                                                  .parts = static_cast<uint32_t>(owners_.size()),
                                                  .aggregates = request_.plan->aggregates(),
                                                  .states = request_.target != nullptr},
                                                 pool_->CountLeft(kTableChunkBytes));
  const TableChunkShape& shape = plan.shape;
  slab_bytes_ = plan.slab_bytes;
  memory_ = pool_->Take(plan.slabs_least, plan.slabs, slab_bytes_);
  if (memory_.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the ", pool_->pieces_max(), " MiB for the answers of table scans are in use"));
  }
  chunk_count_ = std::min(plan.chunks, static_cast<uint32_t>(memory_.size()) * plan.per_slab);
  chunks_ = std::make_unique<Chunk[]>(chunk_count_);
  for (uint32_t i = 0; i < chunk_count_; ++i) {
    Chunk& chunk = chunks_[i];
    chunk.scan = this;
    std::byte* const memory =
        memory_[i / plan.per_slab].get() + i % plan.per_slab * plan.chunk_bytes;
    chunk.columns = ColumnsIn(memory, schema(), shape, chunk.states);
    chunk.column_views.resize(chunk.columns.size());
    chunk.views = chunk.column_views;
    chunk.rows_out.columns = chunk.columns;
    chunk.capacity = shape.capacity;
    chunk.Clear();
    spare_.push_back(&chunk);
  }
  return absl::OkStatus();
}

void TableScanState::SendAll() {
  std::vector<AeuId> targets;
  for (size_t i = 0; i < owners_.size(); ++i) {
    if (!handed_out_[i].done) targets.push_back(owners_[i]);
  }
  std::vector<AeuId> refused;
  refused.reserve(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!core_.in_flight.TryEnter()) {
      for (; i > 0; --i) core_.in_flight.Leave();
      Fail(absl::UnavailableError("the engine is closing"));
      return;
    }
  }
  parts_left_ = static_cast<uint32_t>(targets.size());
  for (size_t i = 0; i < owners_.size(); ++i) {
    if (handed_out_[i].done) continue;
    parts_[i].out = true;
    Ref();  // the part's
  }
  // Nobody is woken before there is a command.
  if (!request_.plan->aggregates()) {
    for (uint32_t round = 0; round < routing::kTablePartChunksMax; ++round) {
      for (size_t i = 0; i < owners_.size() && !spare_.empty(); ++i) {
        if (!parts_[i].out) continue;
        Chunk* const chunk = spare_.back();
        spare_.pop_back();
        Give(*chunk, parts_[i]);
      }
    }
  }
  const routing::TableScanSegment segment{part_list_.data(), part_list_.size()};
  const routing::CommandHeader header{.type = CommandType::kTableScan,
                                      .slot = request_.table->route.slot(),
                                      .object = request_.table->route.object(),
                                      .table_version = request_.table->route.Pin()->version(),
                                      .snapshot = request_.snapshot->epoch(),
                                      .complete = &TableScanState::PartAnswered,
                                      .count = 1};
  core_.control->Multicast(targets, header, std::as_bytes(std::span(&segment, 1)), refused);
  for (const AeuId aeu : refused) {
    routing::TableScanPart* part = routing::PartOf(part_list_, aeu);
    part->Finish(PartOutcome::kRefused, absl::OkStatus(), nullptr);
    PartAnswered(part, 1);
  }
}

void TableScanState::PartAnswered(routing::Reply* reply, uint32_t ended) noexcept {
  auto* part = static_cast<Part*>(reply);
  TableScanState* scan = part->scan;
  if (ended == 0) {
    scan->Notify();
    return;
  }
  InFlight& in_flight = scan->core_.in_flight;
  part->ended.store(true, std::memory_order_release);  // pairs with the acquire in TryNext
  scan->Notify();
  scan->Unref();
  in_flight.Leave();
}

void TableScanState::BeginChunk(routing::Chunk* reply, uint32_t answers) noexcept {
  auto* chunk = static_cast<Chunk*>(reply);
  // Who calls this holds a part that is out.
  chunk->scan->Ref();
  chunk->scan->core_.in_flight.EnterAgain();
  // relaxed: published to the AEUs by the buffers the commands travel in.
  chunk->owed.store(answers, std::memory_order_relaxed);
}

void TableScanState::ChunkAnswered(routing::Reply* reply, uint32_t answers) noexcept {
  auto* chunk = static_cast<Chunk*>(reply);
  // Another one may be the last, and the scan's end.
  TableScanState* scan = chunk->scan;
  InFlight& in_flight = scan->core_.in_flight;
  // acq_rel: the last one sees the states as all the others wrote them.
  const uint32_t before = chunk->owed.fetch_sub(answers, std::memory_order_acq_rel);
  ERIS_DCHECK(before >= answers);
  if (before != answers) return;
  scan->answered_chunks_.Push(chunk);
  scan->Notify();
  scan->Unref();
  in_flight.Leave();
}

void TableScanState::Cancel(absl::Status reason) {
  {
    base::MutexLock lock(&mu_);
    if (error_.ok()) Fail(std::move(reason));
  }
  Notify();
}

void TableScanState::Fail(absl::Status reason) {
  error_ = std::move(reason);
  // Owners of the target skip what they have not begun, AEUs of the table end their parts.
  for (uint32_t i = 0; i < chunk_count_; ++i) chunks_[i].SetCancelled();
  for (size_t i = 0; i < part_list_.size(); ++i) {
    Part& part = parts_[i];
    part.SetCancelled();
    if (part.out) core_.directory[part.owner].waker.Wake();
  }
}

uint64_t TableScanState::rows_written() {
  base::MutexLock lock(&mu_);
  return rows_written_;
}

std::optional<TableScanState::NextResult> TableScanState::TryNext() {
  for (;;) {
    if (!error_.ok()) return NextResult(error_);
    if (finished_) return NextResult(nullptr);
    if (request_.snapshot->aborted()) {
      Fail(SnapshotAborted(core_, request_.snapshot->epoch(), request_.snapshot.get()));
      continue;
    }
    if (answered_list_ == nullptr) answered_list_ = answered_chunks_.TakeAll();
    if (Chunk* chunk = answered_list_) {
      answered_list_ = chunk->next;
      --chunks_away_;
      --chunk->part->given;
      TakeAnswered(*chunk);
      continue;
    }
    bool again = false;
    const size_t parts = part_list_.size();
    for (size_t i = 0; i < parts && !again; ++i) {
      Part& part = parts_[(next_part_ + i) % parts];
      if (!part.out) continue;
      // Before the ring is looked at: what is in it then is all there will be. acquire: pairs with
      // PartAnswered.
      const bool ended = part.ended.load(std::memory_order_acquire);
      if (routing::Chunk* filled = part.TakeFilled()) {
        auto& chunk = static_cast<Chunk&>(*filled);
        --chunks_away_;
        --part.given;
        next_part_ = (next_part_ + i + 1) % parts;
        if (chunk.rows_out.rows > 0) return HandOut(chunk);
        PassOn(chunk);
        again = true;
      } else if (ended) {
        EndPart(part);
        again = true;
      }
    }
    if (again) continue;
    if (parts_left_ > 0 && chunk_count_ == with_reader_) {
      return NextResult(absl::FailedPreconditionError(
          absl::StrCat("the reader keeps all ", chunk_count_, " chunks that this scan may fill")));
    }
    if (parts_left_ > 0 || chunks_away_ > 0) return std::nullopt;
    if (request_.plan->aggregates()) {
      if (!groups_counted_) return std::nullopt;  // Work goes on
      return NextGroups();
    }
    finished_ = true;
  }
}

TableScanState::NextResult TableScanState::HandOut(Chunk& chunk) {
  const auto rows = static_cast<uint32_t>(std::min<uint64_t>(chunk.rows_out.rows, rows_left_));
  std::vector<TablePartState> parts;
  if (!request_.plan->aggregates()) {
    routing::TableCursor& cursor =
        handed_out_[static_cast<size_t>(chunk.part - parts_.get())].cursor;
    if (rows == chunk.rows_out.rows) {
      cursor = chunk.behind;
    } else {
      cursor = chunk.before;
      cursor.skip = rows;
    }
    parts = handed_out_;
  }
  if (rows_left_ != kNoLimit) rows_left_ -= rows;
  if (rows_left_ == 0) {
    finished_ = true;
    for (size_t i = 0; i < part_list_.size(); ++i) {
      if (!parts_[i].out) continue;
      parts_[i].SetCancelled();
      core_.directory[owners_[i]].waker.Wake();
    }
  }
  Ref();  // the chunk's
  Held held(*this);
  chunk.ShowRows();
  auto result = std::make_shared<TableResult>(
      *this, chunk, rows,
      TableResume{request_.table->route.object(), request_.snapshot->epoch(), request_.fingerprint,
                  std::move(parts)});
  held.Keep();
  ++with_reader_;
  return NextResult(std::move(result));
}

void TableScanState::EndPart(Part& part) {
  part.out = false;
  --parts_left_;
  while (routing::Chunk* empty = part.TakeEmpty()) {
    --chunks_away_;
    --part.given;
    spare_.push_back(static_cast<Chunk*>(empty));
  }
  switch (part.outcome()) {
    case PartOutcome::kAnswered:
      if (!part.status().ok() && request_.target != nullptr) {
        return Fail(absl::Status(part.status().code(),
                                 absl::StrCat("scan into object \"", request_.target->name,
                                              "\": ", part.status().message())));
      }
      if (!part.status().ok()) return Fail(part.status());
      handed_out_[static_cast<size_t>(&part - parts_.get())].done = true;
      if (request_.plan->aggregates()) ended_runs_.push_back(part.TakeRun());
      GiveSpare();
      return;
    case PartOutcome::kNoObject:
      return Fail(absl::NotFoundError(
          absl::StrCat("object \"", request_.table->name, "\" has been dropped")));
    case PartOutcome::kRefused:
      return Fail(NoRoom());
    case PartOutcome::kNoMemory:
      return Fail(base::NoMemory("an AEU has no memory for its part of the scan"));
    case PartOutcome::kAborted:
      return Fail(SnapshotAborted(core_, request_.snapshot->epoch(), request_.snapshot.get()));
    case PartOutcome::kMoved:
    case PartOutcome::kCancelled:
    case PartOutcome::kRunning:
      return Fail(absl::CancelledError("the scan was cancelled"));
  }
}

bool TableScanState::Work() {
  std::unique_ptr<storage::TableRun> sum;
  std::unique_ptr<storage::TableRun> run;
  {
    base::MutexLock lock(&mu_);
    if (!error_.ok()) return false;
    if (!ended_runs_.empty()) {
      run = std::move(ended_runs_.back());
      ended_runs_.pop_back();
      if (merged_ == nullptr) {
        merged_ = std::move(run);
        return true;
      }
    } else if (merged_ == nullptr || parts_left_ > 0 || groups_counted_) {
      return false;
    }
    sum = std::move(merged_);
  }
  if (run == nullptr) {
    absl::StatusOr<uint64_t> groups = sum->FinishGroups();
    base::MutexLock lock(&mu_);
    merged_ = std::move(sum);
    if (!groups.ok()) {
      if (error_.ok()) Fail(groups.status());
      return true;
    }
    groups_ = *groups;
    groups_counted_ = true;
    return true;
  }
  if (sum->groups() < run->groups()) std::swap(sum, run);  // the smaller one is gone through
  absl::Status fits = sum->Merge(*run);
  run.reset();
  base::MutexLock lock(&mu_);
  merged_ = std::move(sum);
  if (!fits.ok() && error_.ok()) Fail(std::move(fits));
  return true;
}

TableScanState::NextResult TableScanState::NextGroups() {
  if (next_group_ == groups_) {
    finished_ = true;
    return NextResult(nullptr);
  }
  if (spare_.empty()) {
    return NextResult(absl::FailedPreconditionError(
        absl::StrCat("the reader keeps all ", chunk_count_, " chunks that this scan may fill")));
  }
  Chunk& chunk = *spare_.back();
  spare_.pop_back();
  chunk.Clear();
  merged_->TakeGroups(next_group_, chunk.rows_out);
  ERIS_CHECK(chunk.rows_out.rows > 0);
  return HandOut(chunk);
}

void TableScanState::TakeAnswered(Chunk& chunk) {
  const bool appends = target_.type == CommandType::kAppendRows;
  const uint32_t rows = chunk.rows_out.rows;
  const auto answers =
      appends
          ? static_cast<uint32_t>(storage::AppendPieces(*target_.layout, *chunk.rows).size() - 1)
          : rows;
  std::vector<uint32_t> moved;
  for (uint32_t i = 0; i < answers; ++i) {
    switch (chunk.states[i]) {
      case KeyState::kAbsent:
      case KeyState::kPresent:
        break;
      case KeyState::kMoved:
        moved.push_back(i);
        break;
      case KeyState::kNoObject:
        return Fail(absl::NotFoundError(
            absl::StrCat("object \"", request_.target->name, "\" has been dropped")));
      case KeyState::kNoMemory:
        return Fail(absl::ResourceExhaustedError(
            absl::StrCat(core_.limits.MemoryLimitText(), ": rows for object \"",
                         request_.target->name, "\" were refused, some others are written")));
      case KeyState::kRefused:
        return Fail(NoRoom());
      case KeyState::kCancelled:
        return Fail(absl::CancelledError("the scan was cancelled"));
      case KeyState::kPending:
      case KeyState::kUnequal:
      case KeyState::kNoRoom:
        ERIS_DCHECK(false);  // no write ends so
        return Fail(absl::InternalError("a row of the scan has no answer"));
    }
  }
  if (!moved.empty()) return SendAgain(chunk, moved);
  rows_written_ += rows;
  PassOn(chunk);
}

void TableScanState::SendAgain(Chunk& chunk, const std::vector<uint32_t>& moved) {
  if (chunk.resends++ == kResendsMax) {
    return Fail(absl::UnavailableError(
        absl::StrCat(moved.size(), " rows were moved again and again between AEUs")));
  }
  const uint32_t rows = chunk.rows_out.rows;
  BatchColumns columns;
  std::vector<uint64_t> heads;
  std::vector<uint64_t> tails;
  if (target_.layout != nullptr) {
    heads.resize(rows);
    if (target_.layout->two_words()) tails.resize(rows);
    target_.layout->PackKeys(*chunk.rows, /*keys_only=*/false, heads.data(),
                             tails.empty() ? nullptr : tails.data());
    columns = {.keys = heads, .seconds = tails};
  } else {
    const auto column = [&](size_t i) {
      return absl::MakeConstSpan(static_cast<const uint64_t*>(chunk.columns[i].values), rows);
    };
    columns = {.keys = column(0), .values = column(1)};
  }
  ColumnCopies again;
  again.Select(columns, moved);
  if (!core_.in_flight.TryEnter()) {
    return Fail(absl::UnavailableError("the engine is closing"));
  }
  ++chunks_away_;
  ++chunk.part->given;
  BeginChunk(&chunk, static_cast<uint32_t>(moved.size()));
  core_.in_flight.Leave();  // it has entered again
  routing::KeyedCommand command{
      .type = target_.type, .positions = moved, .complete = &ChunkAnswered, .context = &chunk};
  SetColumns(again.view(), command);
  core_.control->Send(request_.target->route, command);
}

absl::Status TableScanState::NoRoom() const {
  return absl::ResourceExhaustedError(absl::StrCat("the AEUs gave no outgoing buffer back for ",
                                                   core_.limits.send_wait_ms_max, " ms"));
}

void TableScanState::ReturnChunk(Chunk* chunk) {
  base::MutexLock lock(&mu_);
  --with_reader_;
  if (error_.ok() && !finished_) PassOn(*chunk);
}

void TableScanState::ReleaseChunks() {
  base::MutexLock lock(&mu_);
  if (with_reader_ > 0 || request_.target != nullptr || (error_.ok() && !finished_)) return;
  for (size_t i = 0; i < part_list_.size(); ++i) {
    // acquire: pairs with PartAnswered.
    if (parts_[i].out && !parts_[i].ended.load(std::memory_order_acquire)) return;
  }
  pool_->Return(std::move(memory_), slab_bytes_);
  memory_.clear();
}

void TableScanState::PassOn(Chunk& chunk) {
  chunk.resends = 0;
  Part* const part = chunk.part;
  if (part != nullptr && part->out && part->given < routing::kTablePartChunksMax) {
    Give(chunk, *part);
    core_.directory[part->owner].waker.Wake();
  } else {
    spare_.push_back(&chunk);
    GiveSpare();
  }
}

void TableScanState::Give(Chunk& chunk, Part& part) {
  chunk.part = &part;
  ++part.given;
  ++chunks_away_;
  part.GiveChunk(&chunk);
}

void TableScanState::GiveSpare() {
  if (request_.plan->aggregates()) return;
  // Each part has one before any gets a second.
  for (uint32_t most = 1; most <= routing::kTablePartChunksMax; ++most) {
    for (size_t i = 0; i < part_list_.size() && !spare_.empty(); ++i) {
      Part& part = parts_[give_next_];
      give_next_ = (give_next_ + 1) % part_list_.size();
      if (!part.out || part.given >= most) continue;
      Chunk* const chunk = spare_.back();
      spare_.pop_back();
      Give(*chunk, part);
      core_.directory[part.owner].waker.Wake();
    }
  }
}

}  // namespace eris::engine
