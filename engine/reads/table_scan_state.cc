#include "engine/reads/table_scan_state.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "engine/core/snapshot.h"
#include "engine/reads/ended_part.h"
#include "engine/reads/read_chunk.h"
#include "engine/reads/scanned_aeus.h"
#include "engine/reads/table_chunk_shape.h"
#include "eris/errors.h"

namespace eris::engine {

using routing::CommandType;
using routing::PartOutcome;

namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

}  // namespace

absl::StatusOr<TableScanState*> TableScanState::Create(Core& core, SessionNode& node,
                                                       Request request) {
  auto* scan = new TableScanState(core, node, std::move(request));
  Held held(*scan);
  core.scans.Add(scan);
  absl::Status status;
  {
    base::MutexLock lock(&scan->mu_);
    status = scan->MakeParts();
    if (status.ok()) status = scan->MakeBlocks();
    if (status.ok()) {
      scan->SendAll();
      status = scan->error_;
    }
  }
  if (!status.ok()) return status;
  held.Keep();
  return scan;
}

TableScanState::TableScanState(Core& core, SessionNode& node, Request request)
    : ReaderState(core, node, "scan"),
      request_(std::move(request)),
      pool_(core.table_chunks),
      circulation_(core),
      rows_left_(request_.limit > 0 ? request_.limit : kNoLimit) {}

TableScanState::~TableScanState() {
  pool_->Return(std::move(memory_), slab_bytes_);
  // Runs count their memory in the core's RunMemory, which may end with the last scan.
  circulation_.DropParts();
  ended_runs_.clear();
  merged_.reset();
  core_.scans.Remove(this);
}

// A token of a snapshot S names the members of an earlier moment after S: AEUs missing in it have
// nothing for S either (scanned_aeus.h), and are not asked.
absl::Status TableScanState::MakeParts() {
  const ObjectEntry& table = *request_.table;
  owners_ = ScannedAeus(table);
  const routing::SegmentShare share = TakeShare();
  for (const AeuId owner : owners_) handed_out_.push_back({.owner = owner, .cursor = {}});
  if (request_.resume) ERIS_RETURN_IF_ERROR(TakeResume(*request_.resume));
  if (request_.target) MakeTarget();
  circulation_.MakeParts(owners_);
  for (size_t i = 0; i < owners_.size(); ++i) {
    Part& part = circulation_.part(i);
    part.scan = this;
    part.plan = request_.plan;
    part.from = handed_out_[i].cursor;
    part.share = share;
    part.memory = core_.run_memory.get();
    if (request_.target) part.target = &target_;
  }
  return absl::OkStatus();
}

routing::SegmentShare TableScanState::TakeShare() {
  if (!request_.share) return {};
  const bool has_rows = std::ranges::binary_search(owners_, request_.share->aeu);
  // Some AEU answers in any case, since aggregates have a row even of no rows.
  owners_ = {has_rows ? request_.share->aeu : owners_.front()};
  if (!has_rows) return routing::SegmentShare::None();
  return {.index = request_.share->index, .count = request_.share->count};
}

absl::Status TableScanState::TakeResume(const TableResume& resume) {
  bool fits = resume.object == request_.table->route.object() &&
              resume.snapshot == request_.snapshot->epoch() &&
              resume.query == request_.fingerprint && !request_.plan->aggregates() &&
              !resume.parts.empty();
  auto at = handed_out_.begin();
  for (const TablePartState& part : resume.parts) {  // ascending, as owners_
    at = std::find_if(at, handed_out_.end(),
                      [&](const TablePartState& own) { return own.owner == part.owner; });
    if (at == handed_out_.end()) {
      fits = false;
      break;
    }
    *at++ = part;
  }
  if (fits) return absl::OkStatus();
  return Error(
      ErrorReason::kResumeTokenInvalid,
      absl::StrCat("the resume token is not one of this query on snapshot ",
                   request_.snapshot->epoch(), " of table \"", request_.table->name, "\""));
}

absl::Status TableScanState::MakeBlocks() {
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
    return Error(ErrorReason::kScanChunks,
                 absl::StrCat("the ", pool_->pieces_max(),
                              " MiB for the answers of table scans are in use"));
  }
  const auto blocks = std::min(plan.chunks, static_cast<uint32_t>(memory_.size()) * plan.per_slab);
  circulation_.MakeBlocks(*this, answered_, blocks);
  keepable_ = blocks - 1;  // the last one goes round
  for (uint32_t i = 0; i < blocks; ++i) {
    Block& block = circulation_.block(i);
    std::byte* const memory =
        memory_[i / plan.per_slab].get() + i % plan.per_slab * plan.chunk_bytes;
    block.columns = ColumnsIn(memory, schema(), shape, block.states);
    block.shown.resize(block.columns.size());
    block.views = block.shown;
    block.rows_out.columns = block.columns;
    block.capacity = shape.capacity;
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
  if (!EnterParts(targets.size())) return;
  parts_left_ = static_cast<uint32_t>(targets.size());
  for (size_t i = 0; i < owners_.size(); ++i) circulation_.part(i).out = !handed_out_[i].done;
  // No AEU is woken before there is a command.
  if (!request_.plan->aggregates()) circulation_.GiveSpare(/*wake=*/false);
  const auto& parts = circulation_.part_list();
  const routing::TableScanSegment segment{parts.data(), parts.size()};
  const routing::CommandHeader header{.type = CommandType::kTableScan,
                                      .slot = request_.table->route.slot(),
                                      .object = request_.table->route.object(),
                                      .table_version = request_.table->route.Pin()->version(),
                                      .snapshot = request_.snapshot->epoch(),
                                      .complete = &TableScanState::PartAnswered,
                                      .count = 1};
  core_.control->Multicast(targets, header, std::as_bytes(std::span(&segment, 1)), refused);
  for (const AeuId aeu : refused) {
    routing::TableScanPart* const part = routing::PartOf(parts, aeu);
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
  part->ended.store(true, std::memory_order_release);  // pairs with the acquire in LookAtParts
  scan->Leave();
}

uint64_t TableScanState::rows_written() {
  base::MutexLock lock(&mu_);
  return rows_written_;
}

std::optional<TableScanState::NextResult> TableScanState::TryNext() {
  for (;;) {
    if (auto end = Ended()) return end;
    if (request_.snapshot->aborted()) {
      Fail(SnapshotAborted(core_, request_.snapshot->epoch(), request_.snapshot.get()));
      continue;
    }
    if (Block* block = circulation_.TakeAnswered(answered_)) {
      TakeAnswered(*block);
      continue;
    }
    bool moved = false;
    if (auto chunk = LookAtParts(moved)) return chunk;
    if (moved) continue;
    if (parts_left_ > 0 && circulation_.blocks() == with_reader_) return NextResult(KeptAll());
    if (parts_left_ > 0 || circulation_.blocks_away() > 0) return std::nullopt;
    if (request_.plan->aggregates()) {
      if (!groups_counted_) return std::nullopt;  // Work continues
      return NextGroups();
    }
    finished_ = true;
  }
}

std::optional<TableScanState::NextResult> TableScanState::LookAtParts(bool& moved) {
  const size_t parts = circulation_.parts();
  for (size_t i = 0; i < parts; ++i) {
    Part& part = circulation_.part((next_part_ + i) % parts);
    if (!part.out) continue;
    // Read before the ring: if it has ended, the ring has everything. acquire: pairs with
    // PartAnswered.
    const bool ended = part.ended.load(std::memory_order_acquire);
    routing::TableChunk* const filled = part.TakeFilled();
    if (filled == nullptr && !ended) continue;
    moved = true;
    if (filled == nullptr) {
      EndPart(part);
      return std::nullopt;
    }
    auto& block = static_cast<Block&>(*filled);
    circulation_.CameBack(block);
    next_part_ = (next_part_ + i + 1) % parts;
    if (block.rows_out.rows > 0) return HandOut(block);
    circulation_.PassOn(block);
    return std::nullopt;
  }
  return std::nullopt;
}

TableScanState::NextResult TableScanState::HandOut(Block& block) {
  const auto rows = static_cast<uint32_t>(std::min<uint64_t>(block.rows_out.rows, rows_left_));
  ResumePoint resume;
  if (!request_.plan->aggregates()) {
    routing::TableCursor& cursor = handed_out_[circulation_.IndexOf(*block.part)].cursor;
    if (rows == block.rows_out.rows) {
      cursor = block.behind;
    } else {
      cursor = block.before;
      cursor.skip = rows;
    }
    resume = TableResume{request_.table->route.object(), request_.fingerprint,
                         request_.snapshot->epoch(), handed_out_};
  }
  if (rows_left_ != kNoLimit) rows_left_ -= rows;
  if (rows_left_ == 0) {
    finished_ = true;
    circulation_.CancelParts();
  }
  // A reader that keeps it gives its part no other one back.
  if (!request_.plan->aggregates()) circulation_.GiveSpare();
  Ref();  // the chunk's reference
  Held held(*this);
  block.ShowRows();
  auto result = std::make_shared<ReadChunk>(*this, block, rows, std::move(resume));
  held.Keep();
  ++with_reader_;
  return NextResult(std::move(result));
}

void TableScanState::EndPart(Part& part) {
  part.out = false;
  --parts_left_;
  circulation_.TakeAllBack(part);
  if (part.outcome() != PartOutcome::kAnswered) {
    return Fail(StatusOf(part.outcome(), core_, *request_.table, what(), request_.snapshot->epoch(),
                         request_.snapshot.get()));
  }
  if (!part.status().ok() && request_.target != nullptr) {
    return Fail(WithText(part.status(), absl::StrCat("scan into object \"", request_.target->name,
                                                     "\": ", part.status().message())));
  }
  if (!part.status().ok()) return Fail(part.status());
  handed_out_[circulation_.IndexOf(part)].done = true;
  if (request_.plan->aggregates()) {
    ended_runs_.push_back(part.TakeRun());
  } else {
    circulation_.GiveSpare();
  }
}

absl::Status TableScanState::KeptAll() const {
  return absl::FailedPreconditionError(absl::StrCat("the reader keeps all ", circulation_.blocks(),
                                                    " chunks that this scan may fill"));
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
      Fail(groups.status());
      return true;
    }
    groups_ = *groups;
    groups_counted_ = true;
    return true;
  }
  if (sum->groups() < run->groups()) std::swap(sum, run);  // iterate over the smaller one
  absl::Status fits = sum->Merge(*run);
  run.reset();
  base::MutexLock lock(&mu_);
  merged_ = std::move(sum);
  if (!fits.ok()) Fail(std::move(fits));
  return true;
}

TableScanState::NextResult TableScanState::NextGroups() {
  if (next_group_ == groups_) {
    finished_ = true;
    return NextResult(nullptr);
  }
  Block* const block = circulation_.TakeSpare();
  if (block == nullptr) return NextResult(KeptAll());
  block->Clear();
  merged_->TakeGroups(next_group_, block->rows_out);
  ERIS_CHECK(block->rows_out.rows > 0);
  return HandOut(*block);
}

void TableScanState::ReturnBuffer(ReaderBuffer& buffer) {
  base::MutexLock lock(&mu_);
  --with_reader_;
  if (!Ended()) circulation_.PassOn(static_cast<Block&>(buffer));
}

void TableScanState::ReleaseBuffers() {
  base::MutexLock lock(&mu_);
  if (with_reader_ > 0 || request_.target != nullptr || !Ended()) return;
  for (size_t i = 0; i < circulation_.parts(); ++i) {
    const Part& part = circulation_.part(i);
    // acquire: pairs with PartAnswered.
    if (part.out && !part.ended.load(std::memory_order_acquire)) return;
  }
  pool_->Return(std::move(memory_), slab_bytes_);
  memory_.clear();
}

}  // namespace eris::engine
