#include "engine/reads/join_state.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "engine/reads/index_columns.h"
#include "engine/reads/read_chunk.h"
#include "eris/errors.h"

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

Schema SchemaOf(const ObjectEntry& outer) {
  return {.columns = {{.name = "outer_key", .type = outer.key_types.first},
                      {.name = "join_key", .type = ColumnType::kUint64},
                      {.name = "value", .type = ColumnType::kUint64}}};
}

}  // namespace

absl::StatusOr<JoinState*> JoinState::Create(Core& core, SessionNode& node, ObjectRef outer,
                                             ObjectRef inner, const JoinOptions& options,
                                             const JoinSizes& sizes) {
  auto* join = new JoinState(core, node, std::move(outer), std::move(inner), options);
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

JoinState::JoinState(Core& core, SessionNode& node, ObjectRef outer, ObjectRef inner,
                     const JoinOptions& options)
    : ReaderState(core, node, "join"),
      outer_(std::move(outer)),
      inner_(std::move(inner)),
      table_(outer_->route.Pin()),
      range_(storage::Range::FromPublic(options.range)),
      query_(QueryOf(options.inner_values)),
      pool_(core.chunks),
      schema_(SchemaOf(*outer_)),
      circulation_(core) {
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
      std::min<uint64_t>(uint64_t{routing::kPartChunksMax} * targets_.size(), sizes.blocks_max);
  const uint64_t chunks_wanted = (wanted + kJoinBlocksOfChunk - 1) / kJoinBlocksOfChunk;
  const uint32_t chunks_max = std::max(1u, pool_->chunks_max() / 4);
  chunks_ = pool_->Take(static_cast<uint32_t>(std::min<uint64_t>(chunks_wanted, chunks_max)));
  if (chunks_.empty()) {
    return Error(ErrorReason::kScanChunks,
                 absl::StrCat("all ", pool_->chunks_max(),
                              " scan chunks are in use by open scans and joins (option "
                              "scan_chunks_max, --scan-chunks-max): end some"));
  }
  const auto blocks =
      static_cast<uint32_t>(std::min<uint64_t>(wanted, chunks_.size() * kJoinBlocksOfChunk));
  circulation_.MakeBlocks(*this, answered_blocks_, blocks);
  keepable_ = blocks - 1;  // the last one goes round
  for (uint32_t i = 0; i < blocks; ++i) {
    Block& block = circulation_.block(i);
    const size_t rows = routing::kJoinBlockRows;
    uint64_t* const column = ScanChunkPool::WordsOf(chunks_[i / kJoinBlocksOfChunk]) +
                             (i % kJoinBlocksOfChunk) * (rows * kJoinRowBytes / sizeof(uint64_t));
    block.outer_keys = column;
    block.join_keys = column + rows;
    block.values = column + 2 * rows;
    block.states = reinterpret_cast<KeyState*>(column + 3 * rows);
    std::memset(block.states, 0, rows);  // kPending: no byte can be mistaken
                                         // for an answer
    block.capacity = sizes.block_rows;
    block.shown.resize(schema_.columns.size());
  }
  return absl::OkStatus();
}

void JoinState::PartEnded(routing::Reply* reply, uint32_t) noexcept {
  auto* part = static_cast<Part*>(reply);
  JoinState* const join = part->join;
  join->ended_.Push(part);  // the reader owns it: it may be out again
  join->Leave();
}

std::optional<JoinState::NextResult> JoinState::TryNext() {
  for (;;) {
    if (auto end = Ended()) return end;
    if (ended_list_ == nullptr) ended_list_ = ended_.TakeAll();
    if (Part* part = ended_list_) {
      ended_list_ = part->next;
      EndPart(*part);
      continue;
    }
    if (Block* block = circulation_.TakeAnswered(answered_blocks_)) {
      if (auto chunk = TakeBlock(*block)) return chunk;
      continue;
    }
    if (circulation_.blocks_away() > 0) return std::nullopt;
    if (parts_left_ > 0) {
      return NextResult(absl::FailedPreconditionError(absl::StrCat(
          "the reader keeps all ", circulation_.blocks(), " chunks that this join may fill")));
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
    // Never ahead of i, so a row is read before its place is overwritten.
    block.outer_keys[kept] = block.outer_keys[i];
    block.join_keys[kept] = block.join_keys[i];
    block.values[kept] = block.values[i];
    kept += states[i] == KeyState::kPresent ? 1 : 0;
  }
  if (kept == 0) {
    circulation_.PassOn(block);
    return std::nullopt;
  }
  block.shown[0] = DecodeKeys(schema_.columns[0].type, {block.outer_keys, kept});
  block.shown[1] = {.values = block.join_keys};
  block.shown[2] = {.values = block.values};
  Ref();  // the chunk's reference
  Held held(*this);
  auto chunk = std::make_shared<ReadChunk>(*this, block, kept, ResumePoint());
  held.Keep();
  return NextResult(std::move(chunk));
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
        return Fail(Dropped(*inner_));
      case KeyState::kRefused:
        return Fail(NoRoom(core_));
      case KeyState::kCancelled:
        return Fail(absl::CancelledError("the join was cancelled"));
      case KeyState::kNoMemory:
        return Fail(base::NoMemory("an AEU has no memory for lookups of the join"));
      case KeyState::kPending:
      case KeyState::kUnequal:
      case KeyState::kNoRoom:
        ERIS_DCHECK(false);  // no lookup ends with this state
        return Fail(absl::InternalError("a lookup of the join has no answer"));
    }
  }
  if (block.resends++ == kResendsMax) {
    return Fail(Error(ErrorReason::kKeysMoving,
                      absl::StrCat(moved.size(), " keys were moved again and again between AEUs")));
  }
  std::vector<uint64_t> keys;
  keys.reserve(moved.size());
  for (const uint32_t position : moved) keys.push_back(block.join_keys[position]);
  if (!EnterParts(1)) return;
  circulation_.GoesAgain(block);
  block.Owe(static_cast<uint32_t>(keys.size()));
  routing::KeyedCommand command{.type = routing::CommandType::kLookup,
                                .keys = keys,
                                .positions = moved,
                                .complete = &Block::Answered,
                                .context = &block};
  if (query_) command.query = std::as_bytes(std::span(&*query_, 1));
  core_.control->Send(inner_->route, command);
}

void JoinState::ReturnBuffer(ReaderBuffer& buffer) {
  base::MutexLock lock(&mu_);
  if (!Ended()) circulation_.PassOn(static_cast<Block&>(buffer));
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
          .begin_block = &Block::Begin,
          .complete_block = &Block::Answered};
}

void JoinState::Refuse(routing::JoinPart& part) {
  routing::JoinPartEnd end;
  end.outcome = PartOutcome::kRefused;
  part.Finish(end);
  PartEnded(&part, 1);
}

void JoinState::SendAll() {
  circulation_.MakeParts(targets_);
  for (size_t i = 0; i < targets_.size(); ++i) circulation_.part(i).join = this;
  std::vector<AeuId> refused;
  refused.reserve(targets_.size());
  if (!EnterParts(targets_.size())) return;
  parts_left_ = static_cast<uint32_t>(targets_.size());
  for (size_t i = 0; i < targets_.size(); ++i) circulation_.part(i).out = true;
  circulation_.GiveSpare(/*wake=*/false);  // there is no command to wake for
  const auto& parts = circulation_.part_list();
  const JoinData data{SegmentOf(parts, table_.get(), range_), QueryOrNone()};
  core_.control->Multicast(targets_, HeaderOf(*table_), BytesOf(data, query_.has_value()), refused);
  for (const AeuId target : refused) Refuse(*routing::PartOf(parts, target));
}

void JoinState::SendPart(Part& part) {
  AeuId aeu = part.owner;
  std::shared_ptr<const routing::RangeTable> table = table_;
  const routing::RangeTable* pieces_of = table_.get();
  storage::Range range;
  if (part.moved) {
    // The part of it that one AEU has now.
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
  if (!EnterParts(1)) return;
  part.aeu = aeu;
  part.out = true;
  const routing::JoinParts itself(&circulation_.part_list()[circulation_.IndexOf(part)], 1);
  const JoinData data{SegmentOf(itself, pieces_of, range), QueryOrNone()};
  if (!core_.control->SendTo(aeu, HeaderOf(*table), BytesOf(data, query_.has_value()))) {
    Refuse(part);
  }
}

void JoinState::EndPart(Part& part) {
  part.out = false;
  const routing::JoinPartEnd& end = part.end();
  if (end.unused != nullptr) circulation_.TakeBack(part, end.unused);
  circulation_.TakeAllBack(part);
  answered_ += end.answered;
  switch (end.outcome) {
    case PartOutcome::kAnswered:
      SendPart(part);
      break;
    case PartOutcome::kMoved:
      if (!moved_.Count(end.answered > 0)) return Fail(MovedAgain(end.moved->lo.head));
      // The requested range was before the rest.
      if (part.moved) {
        part.moved->lo = end.moved->lo;
      } else {
        part.moved = end.moved;
      }
      if (end.rest) part.rest = end.rest;
      SendPart(part);
      break;
    default:
      return Fail(StatusOf(end.outcome, core_, *outer_, what()));
  }
  circulation_.GiveSpare();
}

}  // namespace eris::engine
