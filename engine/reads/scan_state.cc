#include "engine/reads/scan_state.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/futex.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/snapshot.h"
#include "engine/reads/moved_max.h"
#include "engine/reads/scan_chunk.h"

namespace eris::engine {
namespace {

using routing::PartOutcome;
using routing::ScanChunkBuffer;

}  // namespace

absl::StatusOr<ScanState*> ScanState::Create(Core& core, ObjectRef object,
                                             const ScanOptions& options) {
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot, SnapshotFor(core, options.snapshot));
  // A scan that fits one chunk needs no more.
  const bool two_parts = object->key_types.two_parts();
  const bool small = options.limit > 0 && options.limit <= routing::ScanChunkRowsOf(two_parts);
  std::vector<ScanChunkBuffer*> chunks =
      core.chunks->Take(small ? 1 : kScanChunksWanted, two_parts);
  if (chunks.empty()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("all ", core.chunks->chunks_max(), " scan chunks are in use by open scans"));
  }
  ScanState* scan = nullptr;
  try {
    scan = new ScanState(core, std::move(object), options, std::move(snapshot), chunks);
  } catch (const std::bad_alloc&) {
    core.chunks->Return(chunks);
    throw;
  }
  Held held(*scan);
  core.scans.Add(scan);
  base::MutexLock lock(&scan->mu_);
  scan->AssignLanes();
  held.Keep();
  return scan;
}

ScanState::ScanState(Core& core, ObjectRef object, const ScanOptions& options,
                     std::shared_ptr<Snapshot> snapshot,
                     const std::vector<ScanChunkBuffer*>& chunks)
    : ReaderState(core),
      object_(std::move(object)),
      range_(storage::Range::FromPublic(options.range)),
      query_{.direction = options.direction,
             .keys_only = options.keys_only,
             .values = options.values.value_or(ValueRange{})},
      pool_(core.chunks),
      chunks_(chunks),
      snapshot_epoch_(snapshot->epoch()),
      snapshot_(std::move(snapshot)),
      unassigned_(range_),
      rows_left_(options.limit > 0 ? options.limit : std::numeric_limits<uint64_t>::max()) {
  if (unassigned_->Empty()) unassigned_.reset();
  lane_count_ = chunks_.size() >= 2 ? kScanLanes : 1;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    Lane& lane = lanes_[i % lane_count_];
    lane.scan = this;
    lane.spare.push_back(chunks_[i]);
    ++lane.chunks;
  }
}

ScanState::~ScanState() {
  for (ScanChunkBuffer* chunk : chunks_) chunk->strings.FreeAll();
  pool_->Return(chunks_);
  core_.scans.Remove(this);
}

void ScanState::PartAnswered(routing::Reply* reply, uint32_t ended) noexcept {
  auto* lane = static_cast<Lane*>(reply);
  ScanState* scan = lane->scan;
  if (ended == 0) {
    scan->Notify();
    return;
  }
  InFlight& in_flight = scan->core_.in_flight;
  lane->ended.store(true, std::memory_order_release);  // pairs with the acquire in TryNext
  scan->Notify();
  scan->Unref();
  in_flight.Leave();
}

void ScanState::Cancel(absl::Status reason) {
  {
    base::MutexLock lock(&mu_);
    Fail(std::move(reason));
  }
  Notify();
}

void ScanState::Fail(absl::Status reason) {
  if (error_.ok()) error_ = std::move(reason);
  CancelParts();
}

void ScanState::CancelParts() {
  for (uint32_t i = 0; i < lane_count_; ++i) {
    Lane& lane = lanes_[i];
    if (!lane.out) continue;
    lane.SetCancelled();
    core_.directory[lane.aeu].waker.Wake();
  }
}

void ScanState::ReturnChunk(uint32_t lane_index, ScanChunkBuffer* chunk) {
  base::MutexLock lock(&mu_);
  Lane& lane = lanes_[lane_index];
  --lane.with_reader;
  ReleaseSnapshot();
  chunk->strings.FreeAll();
  if (!lane.out) {
    lane.spare.push_back(chunk);
    return;
  }
  lane.GiveChunk(chunk);
  core_.directory[lane.aeu].waker.Wake();
}

std::optional<ScanState::NextResult> ScanState::TryNext() {
  for (;;) {
    ReleaseSnapshot();
    if (!error_.ok()) return NextResult(error_);
    if (finished_) return NextResult(std::nullopt);
    Lane& lane = lanes_[front_];
    if (!lane.assigned) {
      finished_ = true;
      continue;
    }
    // Before the ring is looked at: what is in it then is all there will be. acquire: pairs with
    // PartAnswered.
    const bool ended = lane.ended.load(std::memory_order_acquire);
    if (ScanChunkBuffer* chunk = lane.TakeFilled()) {
      if (chunk->rows.rows > 0) return MakeChunk(lane, chunk);
      if (ended) {
        lane.spare.push_back(chunk);
      } else {
        lane.GiveChunk(chunk);
      }
      continue;
    }
    if (ended) {
      PartEnded(lane);
      continue;
    }
    if (lane.with_reader == lane.chunks) {
      return NextResult(absl::FailedPreconditionError(absl::StrCat(
          "the reader keeps all ", lane.chunks, " chunks that this partition may fill")));
    }
    return std::nullopt;
  }
}

void ScanState::ReleaseSnapshot() {
  if (!finished_ && error_.ok()) return;
  for (uint32_t i = 0; i < lane_count_; ++i) {
    // acquire: pairs with PartAnswered. Only then does no AEU read at it any more.
    if (lanes_[i].out && !lanes_[i].ended.load(std::memory_order_acquire)) return;
  }
  snapshot_.reset();
}

bool ScanState::NothingBehind(const Lane& lane) const {
  if (unassigned_ || !lane.ended.load(std::memory_order_acquire) || lane.HasFilled()) return false;
  if (lane.outcome() != PartOutcome::kAnswered || lane.todo != lane.asked) return false;
  for (uint32_t i = 0; i < lane_count_; ++i) {
    if (&lanes_[i] != &lane && lanes_[i].assigned) return false;
  }
  return true;
}

ScanState::NextResult ScanState::MakeChunk(Lane& lane, ScanChunkBuffer* chunk) {
  const auto rows = static_cast<uint32_t>(std::min<uint64_t>(chunk->rows.rows, rows_left_));
  if (rows_left_ != std::numeric_limits<uint64_t>::max()) rows_left_ -= rows;
  const storage::ScanRows& columns = chunk->rows;
  std::optional<KeyRange> rest =
      RestBehind({columns.keys[rows - 1], columns.seconds ? columns.seconds[rows - 1] : 0});
  if (rest && (rows_left_ == 0 || NothingBehind(lane))) rest.reset();
  if (!rest) {
    finished_ = true;
    CancelParts();
    ReleaseSnapshot();
  }
  Ref();  // the chunk's
  Held held(*this);
  const auto index = static_cast<uint32_t>(&lane - lanes_.data());
  const bool bytes = object_->value_type == ColumnType::kString;
  auto buffer = std::make_shared<ScanChunk::Buffer>(
      this, index, chunk, rows, !query_.keys_only && !bytes, !query_.keys_only && bytes, rest);
  held.Keep();
  ++lane.with_reader;
  return std::optional<ScanChunk>(ScanChunk(std::move(buffer)));
}

void ScanState::PartEnded(Lane& lane) {
  lane.out = false;
  while (ScanChunkBuffer* chunk = lane.TakeEmpty()) lane.spare.push_back(chunk);
  switch (lane.outcome()) {
    case PartOutcome::kAnswered:
      if (lane.behind.Empty()) {
        lane.assigned = false;
        front_ = (front_ + 1) % lane_count_;
        AssignLanes();
      } else {
        lane.todo = lane.behind;
        SendPart(lane);
      }
      return;
    case PartOutcome::kMoved:
      moved_ = *lane.rest() == lane.asked ? moved_ + 1 : 0;
      if (moved_ > kMovedMax) {
        error_ = absl::UnavailableError(absl::StrCat("key ", NearFirstPartOf(*lane.rest()),
                                                     " was moved again and again between AEUs"));
        return;
      }
      if (query_.Backward()) {
        lane.todo.hi = lane.rest()->hi;
      } else {
        lane.todo.lo = lane.rest()->lo;
      }
      SendPart(lane);
      return;
    case PartOutcome::kNoObject:
      error_ = absl::NotFoundError(absl::StrCat("object \"", object_->name, "\" has been dropped"));
      return;
    case PartOutcome::kRefused:
      error_ = absl::ResourceExhaustedError(absl::StrCat(
          "the AEUs gave no outgoing buffer back for ", core_.limits.send_wait_ms_max, " ms"));
      return;
    case PartOutcome::kNoMemory:
      error_ = base::NoMemory("an AEU has no memory for its part of the scan");
      return;
    case PartOutcome::kAborted:
      error_ = SnapshotAborted(core_, snapshot_epoch_, snapshot_.get());
      return;
    case PartOutcome::kCancelled:
    case PartOutcome::kRunning:
      error_ = absl::CancelledError("the scan was cancelled");
      return;
  }
}

uint64_t ScanState::NearFirstPartOf(const storage::Range& range) const {
  return query_.Backward() ? storage::LastFirstPartOf(range) : range.lo.head;
}

void ScanState::CutAt(const storage::Range& partition, storage::Range& range,
                      storage::Range& rest) const {
  rest = {range.lo, range.lo};
  if (query_.Backward()) {
    if (partition.lo <= range.lo) return;
    rest.hi = partition.lo;
    range.lo = partition.lo;
  } else {
    if (!partition.hi || (range.hi && *range.hi <= *partition.hi)) return;
    rest = {*partition.hi, range.hi};
    range.hi = partition.hi;
  }
}

std::optional<KeyRange> ScanState::RestBehind(const storage::Key& key) const {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  storage::Range rest = range_;
  if (query_.Backward()) {
    rest.hi = key;
  } else if (object_->key_types.two_parts() && key.tail < kMax) {
    rest.lo = {key.head, key.tail + 1};
  } else if (key.head < kMax) {
    rest.lo = {key.head + 1, 0};
  } else {
    return std::nullopt;
  }
  if (rest.Empty()) return std::nullopt;
  return rest.ToPublic();
}

void ScanState::AssignLanes() {
  for (uint32_t i = 0; i < lane_count_ && unassigned_; ++i) {
    Lane& lane = lanes_[(front_ + i) % lane_count_];
    if (lane.assigned) continue;
    const std::shared_ptr<const routing::RangeTable> table = object_->route.Pin();
    const size_t partition = table->PartitionOf(NearFirstPartOf(*unassigned_));
    lane.todo = *unassigned_;
    CutAt(table->RangeOf(partition), lane.todo, *unassigned_);
    if (unassigned_->Empty()) unassigned_.reset();
    lane.assigned = true;
    SendPart(lane);
  }
}

void ScanState::SendPart(Lane& lane) {
  const std::shared_ptr<const routing::RangeTable> table = object_->route.Pin();
  const size_t partition = table->PartitionOf(NearFirstPartOf(lane.todo));
  lane.aeu = table->owners()[partition];
  lane.asked = lane.todo;
  CutAt(table->RangeOf(partition), lane.asked, lane.behind);

  if (!core_.in_flight.TryEnter()) {
    error_ = base::LeanStatus(absl::StatusCode::kUnavailable, "the engine is closing");
    return;
  }
  lane.Reset();
  lane.ended.store(false, std::memory_order_relaxed);  // the AEU gets the command after this
  lane.out = true;
  for (ScanChunkBuffer* chunk : lane.spare) lane.GiveChunk(chunk);
  lane.spare.clear();
  Ref();  // the part's
  const routing::ScanSegment segment{
      .range = lane.asked, .rows_max = rows_left_, .part = &lane, .query = query_};
  const routing::CommandHeader header{.type = routing::CommandType::kScan,
                                      .slot = object_->route.slot(),
                                      .object = object_->route.object(),
                                      .table_version = table->version(),
                                      .snapshot = snapshot_epoch_,
                                      .complete = &ScanState::PartAnswered,
                                      .context = &lane,
                                      .count = 1};
  const bool sent = core_.control->SendTo(
      lane.aeu, header, {reinterpret_cast<const std::byte*>(&segment), sizeof segment});
  if (!sent) {
    lane.Finish(PartOutcome::kRefused, std::nullopt);
    PartAnswered(&lane, 1);
  }
}

}  // namespace eris::engine
