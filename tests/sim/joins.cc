// Joins of indexes. Each outer row is a lookup of its key while its part was out, each answer a
// lookup of the inner key between the block's first command and its last answer. Once the join has
// ended, outer keys of its range that it has not told of were absent at some time.
#include "tests/sim/joins.h"

#include <algorithm>
#include <span>
#include <utility>

namespace eris::sim {

using routing::CommandHeader;
using routing::CommandType;
using routing::JoinPartEnd;
using routing::PartOutcome;
using storage::Key;
using storage::KeyState;
using storage::Range;

namespace {

// The data segment of a join, with its query or without.
struct JoinData {
  routing::JoinSegment segment;
  routing::LookupQuery query;
};

JoinData DataOf(const SimJoin& join, routing::JoinParts parts, const routing::RangeTable* table,
                const Range& range) {
  return {{.range = range,
           .table = table,
           .inner = &join.inner->world.route,
           .parts = parts.data(),
           .part_count = parts.size(),
           .begin_block = &SimJoinBlock::Begin,
           .complete_block = &SimJoinBlock::Answered},
          {join.values.lo, join.values.last}};
}

bool Filters(const SimJoin& join) { return join.values != ValueRange{}; }

std::span<const std::byte> BytesOf(const SimJoin& join, const JoinData& data) {
  return std::as_bytes(std::span(&data, 1))
      .first(Filters(join) ? sizeof data : sizeof data.segment);
}

CommandHeader HeaderOf(const SimJoin& join, const routing::RangeTable& table) {
  return {.type = CommandType::kJoin,
          .slot = join.outer->world.route.slot(),
          .object = join.outer->world.route.object(),
          .table_version = table.version(),
          .complete = &SimJoinPart::Ended,
          .count = 1,
          .query_bytes = Filters(join) ? uint32_t{sizeof(routing::LookupQuery)} : 0};
}

void GiveBlock(SimJoinPart& part, routing::JoinBlock& block) {
  part.GiveChunk(&block);
  ++part.with_aeu;
}

}  // namespace

void SimJoinBlock::Begin(routing::JoinBlock* reply, uint32_t keys) noexcept {
  auto* const block = static_cast<SimJoinBlock*>(reply);
  block->owed = keys;
  block->sent = *block->now;
  block->join->begun.push_back(block);
}

void SimJoinBlock::Answered(routing::Reply* reply, uint32_t keys) noexcept {
  auto* const block = static_cast<SimJoinBlock*>(reply);
  block->owed -= keys;
  block->answered = *block->now;
  if (block->owed == 0) block->join->answered.push_back(block);
}

void Simulation::StartJoin(uint32_t client, SimObject& outer) {
  SimObject* const inner = PickLive();
  if (inner == nullptr) return;
  auto join = std::make_unique<SimJoin>();
  join->outer = &outer;
  join->inner = inner;
  join->client = client;
  join->began = now_;
  join->seen.resize(outer.universe.size());
  const auto pick = [&] {
    return Key::FromU64(outer.universe[random_.Below(outer.universe.size())].head +
                        random_.Below(2));
  };
  if (random_.OneIn(4)) join->range.lo = pick();
  if (random_.OneIn(4)) join->range.hi = pick();
  if (join->range.Empty()) return;
  if (random_.OneIn(4)) {
    join->values.lo = 1 + random_.Below(next_value_);
    join->values.last = join->values.lo + random_.Below(100);
  }
  Note("client starts a join", client, join->range.lo.head);
  outcome_.coverage.Add(Event::kJoins);
  join->table = ViewOf(clients_[client], outer).Pin();
  const routing::RangeTable& table = *join->table;
  std::vector<AeuId> targets;
  for (size_t i = table.PartitionOf(join->range.lo.head); i < table.size(); ++i) {
    if (join->range.hi && table.starts()[i] >= join->range.hi->head) break;
    targets.push_back(table.owners()[i]);
  }
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  const auto room = static_cast<uint32_t>(random_.Between(1, 9));
  const uint64_t blocks = random_.Between(1, 2);  // of each part
  for (const AeuId target : targets) {
    auto part = std::make_unique<SimJoinPart>();
    part->owner = target;
    for (uint64_t i = 0; i < blocks; ++i) {
      auto block = std::make_unique<SimJoinBlock>(room);
      block->join = join.get();
      block->part = part.get();
      block->now = &now_;
      GiveBlock(*part, *block);
      join->blocks.push_back(std::move(block));
    }
    part->sent = 1;
    part->sent_at = now_;
    join->part_list.push_back(part.get());
    join->parts.push_back(std::move(part));
  }
  std::vector<AeuId> refused;
  const JoinData data = DataOf(*join, join->part_list, &table, join->range);
  control_->Multicast(targets, HeaderOf(*join, table), BytesOf(*join, data), refused);
  control_->Flush();
  for (const AeuId aeu : refused) RefuseJoinPart(*routing::PartOf(join->part_list, aeu));
  join->waiting.Begin(turns_, now_);
  clients_[client].join = std::move(join);
  ObserveJoin(*clients_[client].join);
}

void Simulation::RefuseJoinPart(routing::JoinPart& part) {
  outcome_.coverage.Add(Event::kScanPartsRefused);
  JoinPartEnd end;
  end.outcome = PartOutcome::kRefused;
  part.Finish(end);
  SimJoinPart::Ended(&part, 1);
}

void Simulation::ObserveJoin(SimJoin& join) {
  bool moved = !join.begun.empty();
  for (SimJoinBlock* const block : std::exchange(join.begun, {})) {
    outcome_.coverage.Add(Event::kJoinRows, block->rows);
    --block->part->with_aeu;
    block->sent_at.assign(block->rows, block->sent);
    for (uint32_t i = 0; i < block->rows && !failed(); ++i) ObserveOuterRow(join, *block, i);
  }
  for (const auto& part : join.parts) {
    if (part->ended > part->sent) Fail("a part of a join has ended twice");
    if (part->sent == 0 || part->end_seen || part->ended < part->sent || failed()) continue;
    part->end_seen = true;
    moved = true;
    Note("a part of a join ends", part->owner.value, static_cast<uint64_t>(part->end().outcome));
  }
  moved |= !join.answered.empty();
  // Under a stub it is the transfer that is waited for.
  if (moved || Transfers(*join.outer)) join.waiting.Begin(turns_, now_);
}

void Simulation::ObserveOuterRow(SimJoin& join, const SimJoinBlock& block, uint32_t row) {
  SimObject& outer = *join.outer;
  const Key key = Key::FromU64(block.outer_keys[row]);
  const uint32_t index = outer.IndexOf(key);
  if (index == outer.universe.size() || outer.universe[index] != key || !join.range.Contains(key)) {
    return Fail("a join found key " + TextOf(key) + ", which it could not");
  }
  if (std::exchange(join.seen[index], 1)) return Fail("a join found key " + TextOf(key) + " twice");
  Note("a join finds", block.outer_keys[row], block.join_keys[row]);
  KeyEvent event;
  event.found = true;
  event.value = block.join_keys[row];
  event.sent = block.part->sent_at;
  event.answered = block.sent;
  outer.histories[index].push_back(event);
}

void Simulation::ObserveInner(SimJoin& join, const SimJoinBlock& block, uint32_t row, bool found) {
  SimObject& inner = *join.inner;
  const Key key = Key::FromU64(block.join_keys[row]);
  const uint32_t index = inner.IndexOf(key);
  if (index == inner.universe.size() || inner.universe[index] != key) {
    if (found) Fail("a join found inner key " + TextOf(key) + ", which nobody ever wrote");
    return;
  }
  if (found) outcome_.coverage.Add(Event::kJoinMatches);
  KeyEvent event;
  event.found = found;
  event.value = found ? block.values[row] : kNoRow;
  event.filter = join.values;
  event.sent = block.sent_at[row];
  event.answered = block.answered;
  inner.histories[index].push_back(event);
}

bool Simulation::ReadJoin(uint32_t client) {
  if (clients_[client].join == nullptr) return false;
  SimJoin& join = *clients_[client].join;
  ObserveJoin(join);
  for (const auto& part : join.parts) {
    if (part->sent > 0 && part->end_seen && !failed()) EndJoinPart(join, *part);
  }
  for (SimJoinBlock* const block : std::exchange(join.answered, {})) {
    if (!failed()) TakeJoinBlock(join, *block);
  }
  if (!join.PartsOut() && !join.HasRowsOut()) {
    EndJoin(client);
  } else if (!draining_ && plan_.cancels && !join.cancelled && random_.OneIn(8)) {
    Note("client cancels its join", client);
    outcome_.coverage.Add(Event::kScansCancelled);
    join.cancelled = true;
    GiveJoinUp(join);
  }
  return true;
}

void Simulation::GiveJoinUp(SimJoin& join) {
  join.failed = true;
  for (const auto& part : join.parts) part->SetCancelled();
  for (const auto& block : join.blocks) block->SetCancelled();
}

void Simulation::TakeJoinBlock(SimJoin& join, SimJoinBlock& block) {
  std::vector<uint32_t> moved;
  for (uint32_t i = 0; i < block.rows; ++i) {
    const KeyState state = std::exchange(block.states[i], KeyState::kPending);
    switch (state) {
      case KeyState::kPending:  // answered before
        break;
      case KeyState::kAbsent:
      case KeyState::kPresent:
        ObserveInner(join, block, i, state == KeyState::kPresent);
        break;
      case KeyState::kMoved:
        if (!plan_.may_move()) Fail("a join's key moved, but no range ever does");
        if (options_.bug == PlantedBug::kTakeMovedForAbsent) {
          ObserveInner(join, block, i, /*found=*/false);
        } else {
          moved.push_back(i);
        }
        break;
      case KeyState::kNoObject:
        if (join.inner->phase == SimObject::Phase::kLive) Fail("the inner index is there");
        GiveJoinUp(join);
        break;
      case KeyState::kCancelled:
        if (!join.failed) Fail("a join's keys were cancelled by nobody");
        break;
      case KeyState::kRefused:
        GiveJoinUp(join);
        break;
      default:
        Fail("a lookup of a join ended as state " + std::to_string(static_cast<int>(state)));
    }
  }
  join.waiting.Begin(turns_, now_);
  if (!moved.empty() && !join.failed) return SendJoinAgain(join, block, moved);
  if (!block.part->end_seen) GiveBlock(*block.part, block);
}

void Simulation::SendJoinAgain(SimJoin& join, SimJoinBlock& block,
                               const std::vector<uint32_t>& moved) {
  std::vector<uint64_t> keys;
  for (const uint32_t i : moved) {
    keys.push_back(block.join_keys[i]);
    block.sent_at[i] = now_;
  }
  outcome_.coverage.Add(Event::kJoinRowsSentAgain, moved.size());
  block.owed = static_cast<uint32_t>(moved.size());
  const routing::LookupQuery query{join.values.lo, join.values.last};
  routing::KeyedCommand command{.type = CommandType::kLookup,
                                .keys = keys,
                                .positions = moved,
                                .complete = &SimJoinBlock::Answered,
                                .context = &block};
  if (Filters(join)) command.query = std::as_bytes(std::span(&query, 1));
  const uint32_t refused = control_->Send(join.inner->world.route, command, KeyState::kRefused);
  control_->Flush();
  if (refused > 0) SimJoinBlock::Answered(&block, refused);
}

void Simulation::EndJoinPart(SimJoin& join, SimJoinPart& part) {
  const JoinPartEnd end = part.end();
  // Its blocks are the client's again.
  std::vector<routing::JoinBlock*> blocks;
  if (end.unused != nullptr) blocks.push_back(end.unused);
  while (routing::JoinBlock* const block = part.TakeEmpty()) blocks.push_back(block);
  part.sent = part.ended = part.with_aeu = 0;
  join.width += end.answered;
  switch (end.outcome) {
    case PartOutcome::kAnswered:
      break;
    case PartOutcome::kMoved:
      if (!plan_.may_move()) return Fail("a part of a join moved, but no range ever does");
      outcome_.coverage.Add(Event::kJoinPartsMoved);
      // What was asked for lay before what is still to be asked for.
      if (part.moved) {
        part.moved->lo = end.moved->lo;
      } else {
        part.moved = end.moved;
      }
      if (end.rest) part.rest = end.rest;
      break;
    case PartOutcome::kNoObject:
      if (join.outer->phase == SimObject::Phase::kLive) return Fail("the outer index is there");
      return GiveJoinUp(join);
    case PartOutcome::kRefused:
      return GiveJoinUp(join);
    case PartOutcome::kCancelled:
      if (!join.failed) Fail("a part of a join was cancelled by nobody");
      return;
    case PartOutcome::kAborted:
    case PartOutcome::kNoMemory:  // of the general heap, which fails nowhere here
    case PartOutcome::kRunning:
      return Fail("a part of a join ended as outcome " +
                  std::to_string(static_cast<int>(end.outcome)));
  }
  if (join.failed) return;
  for (routing::JoinBlock* const block : blocks) GiveBlock(part, *block);
  // Blocks whose answers are still out come back to it, too.
  SendJoinPart(join, part);
}

void Simulation::SendJoinPart(SimJoin& join, SimJoinPart& part) {
  AeuId aeu = part.owner;
  std::shared_ptr<const routing::RangeTable> table = join.table;
  const routing::RangeTable* pieces_of = table.get();
  Range range;
  if (part.moved) {
    // As far as one AEU has it now.
    if (draining_ || random_.OneIn(2)) RefreshView(clients_[join.client], *join.outer);
    table = ViewOf(clients_[join.client], *join.outer).Pin();
    pieces_of = nullptr;
    const size_t partition = table->PartitionOf(part.moved->lo.head);
    const Range owned = table->RangeOf(partition);
    aeu = table->owners()[partition];
    range = *part.moved;
    if (owned.hi && (!range.hi || *owned.hi < *range.hi)) {
      range.hi = owned.hi;
      part.moved->lo = *owned.hi;
      if (options_.bug == PlantedBug::kSkipJoinRange) part.moved.reset();
    } else {
      part.moved.reset();
    }
  } else if (part.rest) {
    range = *std::exchange(part.rest, std::nullopt);
  } else {
    return;
  }
  part.sent = 1;
  part.sent_at = now_;
  part.end_seen = false;
  const auto place = std::find_if(join.parts.begin(), join.parts.end(),
                                  [&](const auto& one) { return one.get() == &part; });
  routing::JoinPart* const* const itself =
      &join.part_list[static_cast<size_t>(place - join.parts.begin())];
  const JoinData data = DataOf(join, {itself, 1}, pieces_of, range);
  if (!control_->SendTo(aeu, HeaderOf(join, *table), BytesOf(join, data))) RefuseJoinPart(part);
  control_->Flush();
  join.waiting.Begin(turns_, now_);
  ObserveJoin(join);
}

void Simulation::EndJoin(uint32_t client) {
  SimJoin& join = *clients_[client].join;
  if (!join.failed) {
    outcome_.coverage.Add(Event::kJoinsAnswered);
    if (join.width != routing::WidthOf(join.range)) {
      return Fail("the parts of a join do not make up its range");
    }
    SimObject& outer = *join.outer;
    for (uint32_t i = 0; i < outer.universe.size(); ++i) {
      if (join.seen[i] || !join.range.Contains(outer.universe[i])) continue;
      KeyEvent event;
      event.sent = join.began;
      event.answered = now_;
      outer.histories[i].push_back(event);
    }
  }
  clients_[client].join.reset();
}

}  // namespace eris::sim
