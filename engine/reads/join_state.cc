#include "engine/reads/join_state.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/reads/join_chunk.h"
#include "engine/reads/moved_max.h"

namespace eris::engine {
namespace {

using routing::PartOutcome;
using storage::KeyState;

// The data segment of a join command.
struct JoinData {
  routing::JoinSegment segment;
  routing::LookupQuery query;
};
static_assert(sizeof(JoinData) == sizeof(routing::JoinSegment) + sizeof(routing::LookupQuery));

std::span<const std::byte> BytesOf(const JoinData& data, bool query) {
  return std::as_bytes(std::span(&data, 1)).first(query ? sizeof data : sizeof data.segment);
}

std::optional<routing::LookupQuery> QueryOf(const std::optional<KeyRange>& values) {
  if (!values) return std::nullopt;
  return routing::LookupQuery{values->lo,
                              values->hi ? *values->hi - 1 : std::numeric_limits<uint64_t>::max()};
}

}  // namespace

absl::StatusOr<JoinState*> JoinState::Create(Core& core, ObjectRef outer, ObjectRef inner,
                                             const JoinOptions& options, const JoinSizes& sizes) {
  auto* join = new JoinState(core, std::move(outer), std::move(inner), options);
  Held held(*join);
  core.joins.Add(join);
  absl::Status status;
  {
    base::MutexLock lock(&join->mu_);
    if (options.range.Empty() || (options.inner_values && options.inner_values->Empty())) {
      join->finished_ = true;
    } else {
      status = join->MakeBlocks(sizes);
      if (status.ok()) {
        join->SendAll();
        status = join->error_;
      }
    }
  }
  if (!status.ok()) return status;
  held.Keep();
  return join;
}

JoinState::JoinState(Core& core, ObjectRef outer, ObjectRef inner, const JoinOptions& options)
    : ReaderState(core),
      outer_(std::move(outer)),
      inner_(std::move(inner)),
      table_(outer_->route.Pin()),
      range_(storage::Range::FromPublic(options.range)),
      query_(QueryOf(options.inner_values)),
      pool_(core.chunks) {
  for (size_t i = table_->PartitionOf(range_.lo.head); i < table_->size(); ++i) {
    if (range_.hi && table_->starts()[i] >= range_.hi->head) break;
    targets_.push_back(table_->owners()[i]);
  }
  std::sort(targets_.begin(), targets_.end());
  targets_.erase(std::unique(targets_.begin(), targets_.end()), targets_.end());
}

JoinState::~JoinState() {
  pool_->Return(chunks_);
  core_.joins.Remove(this);
}

absl::Status JoinState::MakeBlocks(const JoinSizes& sizes) {
  ERIS_DCHECK(sizes.block_rows % 8 == 0 && sizes.block_rows <= routing::kJoinBlockRows);
  const uint64_t wanted =
      std::min<uint64_t>(uint64_t{routing::kPartBlocksMax} * targets_.size(), sizes.blocks_max);
  const uint64_t chunks_wanted = (wanted + kJoinBlocksOfChunk - 1) / kJoinBlocksOfChunk;
  const uint32_t chunks_max = std::max(1u, pool_->chunks_max() / 4);
  chunks_ = pool_->Take(static_cast<uint32_t>(std::min<uint64_t>(chunks_wanted, chunks_max)));
  if (chunks_.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "all ", pool_->chunks_max(), " scan chunks are in use by open scans and joins"));
  }
  block_count_ =
      static_cast<uint32_t>(std::min<uint64_t>(wanted, chunks_.size() * kJoinBlocksOfChunk));
  blocks_ = std::make_unique<Block[]>(block_count_);
  for (uint32_t i = 0; i < block_count_; ++i) {
    Block& block = blocks_[i];
    const size_t rows = routing::kJoinBlockRows;
    uint64_t* const column = ScanChunkPool::WordsOf(chunks_[i / kJoinBlocksOfChunk]) +
                             (i % kJoinBlocksOfChunk) * (rows * kJoinRowBytes / sizeof(uint64_t));
    block.outer_keys = column;
    block.join_keys = column + rows;
    block.values = column + 2 * rows;
    block.states = reinterpret_cast<KeyState*>(column + 3 * rows);
    std::memset(block.states, 0, rows);  // kPending: nothing stands there that could be taken for
                                         // an answer
    block.capacity = sizes.block_rows;
    block.join = this;
    spare_.push_back(&block);
  }
  return absl::OkStatus();
}

void JoinState::PartEnded(routing::Reply* reply, uint32_t) noexcept {
  auto* part = static_cast<Part*>(reply);
  JoinState* join = part->join;
  InFlight& in_flight = join->core_.in_flight;
  join->ended_.Push(part);  // the reader's: it may be out again
  join->Notify();
  join->Unref();
  in_flight.Leave();
}

void JoinState::BeginBlock(routing::JoinBlock* reply, uint32_t keys) noexcept {
  auto* block = static_cast<Block*>(reply);
  // Who calls this holds a part that is out.
  block->join->Ref();
  block->join->core_.in_flight.EnterAgain();
  // relaxed: published to the AEUs by the buffers the look-ups travel in.
  block->owed.store(keys, std::memory_order_relaxed);
}

void JoinState::BlockAnswered(routing::Reply* reply, uint32_t keys) noexcept {
  auto* block = static_cast<Block*>(reply);
  // Another one may be the last, and the join's end.
  JoinState* join = block->join;
  InFlight& in_flight = join->core_.in_flight;
  // acq_rel: the last one sees the columns as all the others wrote them.
  const uint32_t before = block->owed.fetch_sub(keys, std::memory_order_acq_rel);
  ERIS_DCHECK(before >= keys);
  if (before != keys) return;
  join->answered_blocks_.Push(block);
  join->Notify();
  join->Unref();
  in_flight.Leave();
}

void JoinState::Cancel(absl::Status reason) {
  {
    base::MutexLock lock(&mu_);
    if (error_.ok()) Fail(std::move(reason));
  }
  Notify();
}

void JoinState::Fail(absl::Status reason) {
  error_ = std::move(reason);
  // Inner AEUs skip what they have not begun, outer ones end their parts.
  for (uint32_t i = 0; i < block_count_; ++i) blocks_[i].SetCancelled();
  for (size_t i = 0; i < part_list_.size(); ++i) {
    Part& part = parts_[i];
    part.SetCancelled();
    if (part.out) core_.directory[part.aeu].waker.Wake();
  }
}

std::optional<JoinState::NextResult> JoinState::TryNext() {
  for (;;) {
    if (!error_.ok()) return NextResult(error_);
    if (finished_) return NextResult(std::nullopt);
    if (ended_list_ == nullptr) ended_list_ = ended_.TakeAll();
    if (Part* part = ended_list_) {
      ended_list_ = part->next;
      EndPart(*part);
      continue;
    }
    if (answered_list_ == nullptr) answered_list_ = answered_blocks_.TakeAll();
    if (Block* block = answered_list_) {
      answered_list_ = block->next;
      --blocks_away_;
      --block->part->given;
      if (auto chunk = TakeBlock(*block)) return chunk;
      continue;
    }
    if (blocks_away_ > 0) return std::nullopt;
    if (parts_left_ > 0) {
      return NextResult(absl::FailedPreconditionError(
          absl::StrCat("the reader keeps all ", block_count_, " chunks that this join may fill")));
    }
    if (answered_ != routing::WidthOf(range_)) {
      ERIS_DCHECK(false);  // the answered ranges are disjoint and make up the whole
      Fail(absl::InternalError("the parts of the join do not make up its range"));
      continue;
    }
    finished_ = true;
  }
}

std::optional<JoinState::NextResult> JoinState::TakeBlock(Block& block) {
  const KeyState* const states = block.states;
  const uint32_t rows = block.rows;
  bool looked_up = true;
  for (uint32_t i = 0; i < rows; ++i) {
    looked_up &= states[i] == KeyState::kAbsent || states[i] == KeyState::kPresent;
  }
  if (!looked_up) {
    SendAgainOrFail(block);
    return std::nullopt;
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    // Never ahead of i, so that a row is read before its place is written.
    block.outer_keys[kept] = block.outer_keys[i];
    block.join_keys[kept] = block.join_keys[i];
    block.values[kept] = block.values[i];
    kept += states[i] == KeyState::kPresent ? 1 : 0;
  }
  if (kept == 0) {
    PassOn(block);
    return std::nullopt;
  }
  Ref();  // the chunk's
  Held held(*this);
  auto buffer = std::make_shared<JoinChunk::Buffer>(this, &block, kept);
  held.Keep();
  return NextResult(JoinChunk(std::move(buffer)));
}

void JoinState::SendAgainOrFail(Block& block) {
  std::vector<uint32_t> moved;
  for (uint32_t i = 0; i < block.rows; ++i) {
    switch (block.states[i]) {
      case KeyState::kAbsent:
      case KeyState::kPresent:
        break;
      case KeyState::kMoved:
        moved.push_back(i);
        break;
      case KeyState::kNoObject:
        Fail(absl::NotFoundError(absl::StrCat("object \"", inner_->name, "\" has been dropped")));
        return;
      case KeyState::kRefused:
        Fail(NoRoom());
        return;
      case KeyState::kCancelled:
        Fail(absl::CancelledError("the join was cancelled"));
        return;
      case KeyState::kNoMemory:
        Fail(base::NoMemory("an AEU has no memory for lookups of the join"));
        return;
      case KeyState::kPending:
      case KeyState::kUnequal:
      case KeyState::kNoRoom:
        ERIS_DCHECK(false);  // no look-up ends so
        Fail(absl::InternalError("a look-up of the join has no answer"));
        return;
    }
  }
  if (block.resends++ == kResendsMax) {
    Fail(absl::UnavailableError(
        absl::StrCat(moved.size(), " keys were moved again and again between AEUs")));
    return;
  }
  std::vector<uint64_t> keys;
  keys.reserve(moved.size());
  for (const uint32_t position : moved) keys.push_back(block.join_keys[position]);
  if (!core_.in_flight.TryEnter()) {
    Fail(absl::UnavailableError("the engine is closing"));
    return;
  }
  ++blocks_away_;
  ++block.part->given;
  BeginBlock(&block, static_cast<uint32_t>(keys.size()));
  core_.in_flight.Leave();  // it has entered again
  routing::KeyedCommand command{.type = routing::CommandType::kLookup,
                                .keys = keys,
                                .positions = moved,
                                .complete = &JoinState::BlockAnswered,
                                .context = &block};
  if (query_) command.query = std::as_bytes(std::span(&*query_, 1));
  core_.control->Send(inner_->route, command);
}

absl::Status JoinState::NoRoom() const {
  return absl::ResourceExhaustedError(absl::StrCat("the AEUs gave no outgoing buffer back for ",
                                                   core_.limits.send_wait_ms_max, " ms"));
}

void JoinState::ReturnBlock(Block* block) {
  base::MutexLock lock(&mu_);
  if (error_.ok() && !finished_) PassOn(*block);
}

void JoinState::PassOn(Block& block) {
  block.resends = 0;
  if (block.part->out && block.part->given < routing::kPartBlocksMax) {
    Give(block, *block.part);
    core_.directory[block.part->aeu].waker.Wake();
  } else {
    spare_.push_back(&block);
    GiveSpare();
  }
}

void JoinState::Give(Block& block, Part& part) {
  block.part = &part;
  ++part.given;
  ++blocks_away_;
  part.GiveBlock(&block);
}

void JoinState::GiveSpare() {
  // Each part has one before any gets a second.
  for (uint32_t most = 1; most <= routing::kPartBlocksMax; ++most) {
    for (size_t i = 0; i < part_list_.size() && !spare_.empty(); ++i) {
      Part& part = parts_[next_part_];
      next_part_ = (next_part_ + 1) % part_list_.size();
      if (!part.out || part.given >= most) continue;
      Block* const block = spare_.back();
      spare_.pop_back();
      Give(*block, part);
      core_.directory[part.aeu].waker.Wake();
    }
  }
}

routing::CommandHeader JoinState::HeaderOf(const routing::RangeTable& table) const {
  return {.type = routing::CommandType::kJoin,
          .slot = outer_->route.slot(),
          .object = outer_->route.object(),
          .table_version = table.version(),
          .complete = &JoinState::PartEnded,
          .count = 1,
          .query_bytes = query_ ? uint32_t{sizeof(routing::LookupQuery)} : 0};
}

routing::JoinSegment JoinState::SegmentOf(routing::JoinParts parts,
                                          const routing::RangeTable* table,
                                          const storage::Range& range) const {
  return {.range = range,
          .table = table,
          .inner = &inner_->route,
          .parts = parts.data(),
          .part_count = parts.size(),
          .begin_block = &JoinState::BeginBlock,
          .complete_block = &JoinState::BlockAnswered};
}

void JoinState::Refuse(routing::JoinPart& part) {
  routing::JoinPartEnd end;
  end.outcome = PartOutcome::kRefused;
  part.Finish(end);
  PartEnded(&part, 1);
}

void JoinState::PartIsOut(Part& part, AeuId aeu) {
  part.aeu = aeu;
  part.out = true;
  Ref();  // the part's
}

void JoinState::SendAll() {
  const size_t parts = targets_.size();
  parts_ = std::make_unique<Part[]>(parts);
  for (size_t i = 0; i < parts; ++i) {
    parts_[i].join = this;
    parts_[i].owner = targets_[i];
    part_list_.push_back(&parts_[i]);
  }
  std::vector<AeuId> refused;
  refused.reserve(parts);
  for (size_t i = 0; i < parts; ++i) {
    if (!core_.in_flight.TryEnter()) {
      for (; i > 0; --i) core_.in_flight.Leave();
      Fail(absl::UnavailableError("the engine is closing"));
      return;
    }
  }
  parts_left_ = static_cast<uint32_t>(parts);
  for (size_t i = 0; i < parts; ++i) PartIsOut(parts_[i], targets_[i]);
  // One each before any gets a second. Nobody is woken before there is a command.
  for (uint32_t round = 0; round < routing::kPartBlocksMax; ++round) {
    for (size_t i = 0; i < parts && !spare_.empty(); ++i) {
      Give(*spare_.back(), parts_[i]);
      spare_.pop_back();
    }
  }
  const JoinData data{SegmentOf(part_list_, table_.get(), range_), QueryOrNone()};
  core_.control->Multicast(targets_, HeaderOf(*table_), BytesOf(data, query_.has_value()), refused);
  for (const AeuId target : refused) Refuse(*routing::PartOf(part_list_, target));
}

void JoinState::SendPart(Part& part) {
  AeuId aeu = part.owner;
  std::shared_ptr<const routing::RangeTable> table = table_;
  const routing::RangeTable* pieces_of = table_.get();
  storage::Range range;
  if (part.moved) {
    // As far as one AEU has it now.
    table = outer_->route.Pin();
    pieces_of = nullptr;
    const size_t partition = table->PartitionOf(part.moved->lo.head);
    const storage::Range owned = table->RangeOf(partition);
    aeu = table->owners()[partition];
    range = *part.moved;
    if (owned.hi && (!range.hi || *owned.hi < *range.hi)) {
      range.hi = owned.hi;
      part.moved->lo = *owned.hi;
    } else {
      part.moved.reset();
    }
  } else if (part.rest) {
    range = *part.rest;
    part.rest.reset();
  } else {
    --parts_left_;
    return;
  }
  if (!core_.in_flight.TryEnter()) {
    Fail(absl::UnavailableError("the engine is closing"));
    return;
  }
  PartIsOut(part, aeu);
  const routing::JoinParts itself(&part_list_[static_cast<size_t>(&part - parts_.get())], 1);
  const JoinData data{SegmentOf(itself, pieces_of, range), QueryOrNone()};
  if (!core_.control->SendTo(aeu, HeaderOf(*table), BytesOf(data, query_.has_value()))) {
    Refuse(part);
  }
}

void JoinState::TakeBack(Part& part, routing::JoinBlock* block) {
  --part.given;
  --blocks_away_;
  spare_.push_back(static_cast<Block*>(block));
}

void JoinState::EndPart(Part& part) {
  part.out = false;
  const routing::JoinPartEnd& end = part.end();
  if (end.unused != nullptr) TakeBack(part, end.unused);
  while (routing::JoinBlock* block = part.TakeEmpty()) TakeBack(part, block);
  answered_ += end.answered;
  switch (end.outcome) {
    case PartOutcome::kAnswered:
      SendPart(part);
      break;
    case PartOutcome::kMoved:
      moved_ = end.answered == 0 ? moved_ + 1 : 0;
      if (moved_ > kMovedMax) {
        return Fail(absl::UnavailableError(
            absl::StrCat("key ", end.moved->lo.head, " was moved again and again between AEUs")));
      }
      // What was asked for lay before what is still to be asked for.
      if (part.moved) {
        part.moved->lo = end.moved->lo;
      } else {
        part.moved = end.moved;
      }
      if (end.rest) part.rest = end.rest;
      SendPart(part);
      break;
    case PartOutcome::kNoObject:
      return Fail(
          absl::NotFoundError(absl::StrCat("object \"", outer_->name, "\" has been dropped")));
    case PartOutcome::kRefused:
      return Fail(NoRoom());
    case PartOutcome::kNoMemory:
      return Fail(base::NoMemory("an AEU has no memory for its part of the join"));
    case PartOutcome::kCancelled:
    case PartOutcome::kAborted:  // it has no snapshot
    case PartOutcome::kRunning:
      return Fail(absl::CancelledError("the join was cancelled"));
  }
  GiveSpare();
}

}  // namespace eris::engine
