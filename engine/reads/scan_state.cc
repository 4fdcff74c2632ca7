#include "engine/reads/scan_state.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/core/snapshot.h"
#include "engine/reads/index_columns.h"
#include "engine/reads/read_chunk.h"
#include "eris/errors.h"

namespace eris::engine {

using routing::PartOutcome;
using routing::ScanChunkBuffer;

absl::StatusOr<ScanState*> ScanState::Create(Core& core, SessionNode& node, Request request) {
  ERIS_ASSIGN_OR_RETURN(request.snapshot, SnapshotFor(core, request.snapshot));
  // A scan that fits in one chunk needs no more.
  const bool two_parts = request.object->key_types.two_parts();
  const bool small = request.limit > 0 && request.limit <= routing::ScanChunkRowsOf(two_parts);
  std::vector<ScanChunkBuffer*> chunks =
      core.chunks->Take(small ? 1 : kScanChunksWanted, two_parts);
  if (chunks.empty()) {
    return Error(ErrorReason::kScanChunks,
                 absl::StrCat("all ", core.chunks->chunks_max(),
                              " scan chunks are in use by open scans (option scan_chunks_max, "
                              "--scan-chunks-max): read them to their ends, or cancel some"));
  }
  ScanState* scan = nullptr;
  try {
    scan = new ScanState(core, node, std::move(request), chunks);
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

ScanState::ScanState(Core& core, SessionNode& node, Request request,
                     const std::vector<ScanChunkBuffer*>& chunks)
    : ReaderState(core, node, "scan"),
      request_(std::move(request)),
      range_(storage::Range::FromPublic(request_.range)),
      strings_(IsByteString(request_.object->value_type) && !request_.query.keys_only),
      pool_(core.chunks),
      chunks_(chunks),
      buffers_(chunks.size()),
      snapshot_epoch_(request_.snapshot->epoch()),
      snapshot_(std::move(request_.snapshot)),
      unassigned_(range_),
      rows_left_(request_.limit > 0 ? request_.limit : std::numeric_limits<uint64_t>::max()) {
  if (unassigned_->Empty()) unassigned_.reset();
  lane_count_ = chunks_.size() >= 2 ? kScanLanes : 1;
  for (uint32_t i = 0; i < chunks_.size(); ++i) {
    buffers_[i].chunk = chunks_[i];
    buffers_[i].lane = i % lane_count_;
    buffers_[i].shown.resize(request_.schema.columns.size());
    Lane& lane = lanes_[i % lane_count_];
    lane.scan = this;
    lane.spare.reserve(chunks_.size());  // a returned chunk then needs no memory
    lane.spare.push_back(chunks_[i]);
    ++lane.chunks;
  }
  // All that are kept may be those of one lane; the last lane has the fewest.
  keepable_ = lanes_[lane_count_ - 1].chunks - 1;
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
  lane->ended.store(true, std::memory_order_release);  // pairs with the acquire in TryNext
  scan->Leave();
}

std::shared_ptr<Snapshot> ScanState::snapshot() {
  base::MutexLock lock(&mu_);
  return snapshot_;
}

void ScanState::CancelParts() {
  for (uint32_t i = 0; i < lane_count_; ++i) {
    Lane& lane = lanes_[i];
    if (!lane.out) continue;
    lane.SetCancelled();
    core_.directory[lane.owner].waker.Wake();
  }
}

void ScanState::ReturnBuffer(ReaderBuffer& returned) {
  const auto& buffer = static_cast<const Buffer&>(returned);
  base::MutexLock lock(&mu_);
  Lane& lane = lanes_[buffer.lane];
  --lane.with_reader;
  ReleaseSnapshot();
  if (!lane.out) {
    lane.spare.push_back(buffer.chunk);
    return;
  }
  lane.GiveChunk(buffer.chunk);
  core_.directory[lane.owner].waker.Wake();
}

void ScanState::ReleaseBuffers() {
  base::MutexLock lock(&mu_);
  if (!Ended()) return;
  for (const Lane& lane : lanes_) {
    // acquire: pairs with PartAnswered.
    const bool out = lane.out && !lane.ended.load(std::memory_order_acquire);
    if (out || lane.with_reader > 0) return;
  }
  for (ScanChunkBuffer* chunk : chunks_) chunk->strings.FreeAll();
  pool_->Return(chunks_);
  chunks_.clear();
}

std::optional<ScanState::NextResult> ScanState::TryNext() {
  for (;;) {
    ReleaseSnapshot();
    if (auto end = Ended()) return end;
    Lane& lane = lanes_[front_];
    if (!lane.assigned) {
      finished_ = true;
      continue;
    }
    // Read before the ring: if it has ended, the ring has everything. acquire: pairs with
    // PartAnswered.
    const bool ended = lane.ended.load(std::memory_order_acquire);
    if (ScanChunkBuffer* chunk = lane.TakeFilled()) {
      if (chunk->rows.rows > 0) return HandOut(lane, chunk);
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
    // acquire: pairs with PartAnswered. Only then does no AEU read at the snapshot any more.
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

void ScanState::ShowColumns(Buffer& buffer, uint32_t rows) const {
  storage::ScanRows& filled = buffer.chunk->rows;
  const auto& columns = request_.schema.columns;
  size_t next = 0;
  const auto show_keys = [&](uint64_t* keys) {
    buffer.shown[next] = DecodeKeys(columns[next].type, {keys, rows});
    ++next;
  };
  show_keys(filled.keys);
  if (filled.seconds != nullptr) show_keys(filled.seconds);
  if (request_.query.keys_only) return;
  if (strings_) {
    buffer.shown[next] = GatherStrings({filled.values, rows}, buffer.strings);
    buffer.chunk->strings.FreeAll();
  } else {
    buffer.shown[next] = {.values = filled.values};
  }
}

ScanState::NextResult ScanState::HandOut(Lane& lane, ScanChunkBuffer* chunk) {
  const auto rows = static_cast<uint32_t>(std::min<uint64_t>(chunk->rows.rows, rows_left_));
  if (rows_left_ != std::numeric_limits<uint64_t>::max()) rows_left_ -= rows;
  const storage::ScanRows& columns = chunk->rows;
  std::optional<KeyRange> rest =
      RestBehind({columns.keys[rows - 1], columns.seconds ? columns.seconds[rows - 1] : 0});
  if (rest && (rows_left_ == 0 || NothingBehind(lane))) rest.reset();
  ResumePoint resume;
  if (rest) {
    resume = IndexResume{request_.object->route.object(), request_.fingerprint, *rest};
  } else {
    finished_ = true;
    CancelParts();
    ReleaseSnapshot();
  }
  Buffer& buffer = *std::find_if(buffers_.begin(), buffers_.end(),
                                 [&](const Buffer& one) { return one.chunk == chunk; });
  ShowColumns(buffer, rows);
  Ref();  // the chunk's reference
  Held held(*this);
  auto result = std::make_shared<ReadChunk>(*this, buffer, rows, std::move(resume));
  held.Keep();
  ++lane.with_reader;
  return NextResult(std::move(result));
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
      if (!moved_.Count(*lane.rest() != lane.asked)) {
        return Fail(MovedAgain(NearFirstPartOf(*lane.rest())));
      }
      if (request_.query.Backward()) {
        lane.todo.hi = lane.rest()->hi;
      } else {
        lane.todo.lo = lane.rest()->lo;
      }
      return SendPart(lane);
    default:
      return Fail(StatusOf(lane.outcome(), core_, *request_.object, what(), snapshot_epoch_,
                           snapshot_.get()));
  }
}

uint64_t ScanState::NearFirstPartOf(const storage::Range& range) const {
  return request_.query.Backward() ? storage::LastFirstPartOf(range) : range.lo.head;
}

void ScanState::CutAt(const storage::Range& partition, storage::Range& range,
                      storage::Range& rest) const {
  rest = {range.lo, range.lo};
  if (request_.query.Backward()) {
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
  if (request_.query.Backward()) {
    rest.hi = key;
  } else if (request_.object->key_types.two_parts() && key.tail < kMax) {
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
    const std::shared_ptr<const routing::RangeTable> table = request_.object->route.Pin();
    const size_t partition = table->PartitionOf(NearFirstPartOf(*unassigned_));
    lane.todo = *unassigned_;
    CutAt(table->RangeOf(partition), lane.todo, *unassigned_);
    if (unassigned_->Empty()) unassigned_.reset();
    lane.assigned = true;
    SendPart(lane);
  }
}

void ScanState::SendPart(Lane& lane) {
  const std::shared_ptr<const routing::RangeTable> table = request_.object->route.Pin();
  const size_t partition = table->PartitionOf(NearFirstPartOf(lane.todo));
  lane.owner = table->owners()[partition];
  lane.asked = lane.todo;
  CutAt(table->RangeOf(partition), lane.asked, lane.behind);

  if (!EnterParts(1)) return;
  lane.Reset();
  lane.ended.store(false, std::memory_order_relaxed);  // the AEU gets the command after this
  lane.out = true;
  for (ScanChunkBuffer* chunk : lane.spare) lane.GiveChunk(chunk);
  lane.spare.clear();
  const routing::ScanSegment segment{
      .range = lane.asked, .rows_max = rows_left_, .part = &lane, .query = request_.query};
  const routing::CommandHeader header{.type = routing::CommandType::kScan,
                                      .slot = request_.object->route.slot(),
                                      .object = request_.object->route.object(),
                                      .table_version = table->version(),
                                      .snapshot = snapshot_epoch_,
                                      .complete = &ScanState::PartAnswered,
                                      .context = &lane,
                                      .count = 1};
  const bool sent = core_.control->SendTo(
      lane.owner, header, {reinterpret_cast<const std::byte*>(&segment), sizeof segment});
  if (!sent) {
    lane.Finish(PartOutcome::kRefused, std::nullopt);
    PartAnswered(&lane, 1);
  }
}

}  // namespace eris::engine
