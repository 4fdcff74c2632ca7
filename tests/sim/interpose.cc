// Planted bugs on the way to an AEU: what waits for its turn is taken out, tampered with and put
// back.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "tests/sim/aeu_peer.h"
#include "tests/sim/simulation.h"

namespace eris::sim {

using aeu::AeuTestPeer;
using routing::CommandHeader;
using routing::CommandType;
using storage::Key;
using storage::KeyState;

namespace {

// How often a planted bug strikes where it can.
constexpr uint64_t kOneIn = 10;

// Whether two commands write a key in common.
bool Overlap(Record& a, Record& b) {
  const auto one = routing::KeyedSegmentOf(HeaderOf(a));
  const auto other = routing::KeyedSegmentOf(HeaderOf(b));
  for (uint32_t i = 0; i < HeaderOf(a)->count; ++i) {
    const auto* end = other.keys + HeaderOf(b)->count;
    if (std::find(other.keys, end, one.keys[i]) != end) return true;
  }
  return false;
}

bool Stores(CommandType type) {
  return type == CommandType::kUpsert || type == CommandType::kPutRows;
}

}  // namespace

void Simulation::Interpose(uint32_t aeu) {
  // What other AEUs have sent may come later, as if it had found no room in the incoming buffer.
  std::vector<Record>& from_aeus = late_records_[aeu];
  world_.TakeIncoming(aeu, from_aeus);
  std::vector<Record> records;
  if (draining_ || !random_.OneIn(3)) records.swap(from_aeus);
  const bool keep_block = options_.bug == PlantedBug::kKeepBlock && random_.OneIn(kOneIn);
  world_.TakeIngress(aeu, keep_block, records);
  for (size_t i = 0; i < delayed_.size();) {
    if (delayed_[i].aeu == aeu && random_.OneIn(3)) {
      records.push_back(std::move(delayed_[i].record));
      delayed_.erase(delayed_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  for (size_t i = 0; i < late_rows_.size();) {
    if (late_rows_[i].due > now_) {
      ++i;
      continue;
    }
    LateRows late = std::move(late_rows_[i]);
    late_rows_.erase(late_rows_.begin() + static_cast<ptrdiff_t>(i));
    for (size_t row = 0; row < late.rows.keys.size(); ++row) {
      const Key key{late.rows.keys[row], late.rows.seconds.empty() ? 0 : late.rows.seconds[row]};
      if (late.object->is_table()) {
        uint64_t value = 0;
        const std::string& values = late.rows.rows.columns[kValueColumn].values;
        std::memcpy(&value, values.data() + row * sizeof value, sizeof value);
        WriteBehindTheBack(*late.object, key, value);
      } else if (late.rows.offsets.empty()) {
        WriteBehindTheBack(*late.object, key, late.rows.values[row]);
      } else {
        const std::string text = late.rows.bytes.substr(late.rows.offsets[row]);
        WriteBehindTheBack(*late.object, key, std::strtoull(text.c_str(), nullptr, 10));
      }
    }
  }
  TamperStep(records);
  for (size_t at = 0; at < records.size(); ++at) {
    const CommandType type = HeaderOf(records[at])->type;
    const bool appends = type == CommandType::kAppendRows;
    if ((!routing::IsKeyed(type) && !appends) || !random_.OneIn(kOneIn)) continue;
    if (appends ? TamperAppend(records, at) : Tamper(aeu, records, at)) break;
  }
  world_.PutRecords(aeu, records);
}

bool Simulation::Tamper(uint32_t aeu, std::vector<Record>& records, size_t at) {
  const auto erase = [&] { records.erase(records.begin() + static_cast<ptrdiff_t>(at)); };
  CommandHeader* command = HeaderOf(records[at]);
  const routing::KeyedSegment segment = routing::KeyedSegmentOf(command);
  aeu::ObjectSlot* any = AeuTestPeer::AnySlot(world_[aeu], command->slot);
  aeu::ObjectSlot* slot = any != nullptr && any->object() == command->object ? any : nullptr;
  uint32_t foreign = 0;
  for (uint32_t i = 0; slot != nullptr && i < command->count; ++i) {
    foreign += slot->Find(segment.keys[i]) == nullptr;
  }
  switch (options_.bug) {
    case PlantedBug::kLoseRecord:
      erase();
      return true;
    case PlantedBug::kDoubleRecord:
      records.push_back(Record(records[at]));
      return true;
    case PlantedBug::kSwapRecords:
      for (size_t other = at + 1; other < records.size(); ++other) {
        CommandHeader* second = HeaderOf(records[other]);
        // Those of scans into other tables have no client.
        if (command->complete != &SimRequest::Answered ||
            second->complete != &SimRequest::Answered || second->type != command->type ||
            !Stores(command->type) || second->object != command->object ||
            !Overlap(records[at], records[other])) {
          continue;
        }
        const auto client_of = [](const CommandHeader* of) {
          return static_cast<SimRequest*>(of->context)->batch->client;
        };
        if (client_of(second) != client_of(command)) continue;
        std::swap(records[at], records[other]);
        return true;
      }
      return false;
    case PlantedBug::kAnswerForeignKeys:
      // The record goes on, so that the counters add up: only what was answered shows the bug.
      if (plan_.form != Form::kIndex || foreign < command->count) return false;
      for (uint32_t i = 0; i < command->count; ++i) {
        command->context->states[segment.positions[i]] = KeyState::kAbsent;
      }
      command->complete(command->context, command->count);
      AnswerNobody(*command);
      return true;
    case PlantedBug::kForwardAndAnswer:
      if (foreign == 0) return false;
      for (uint32_t i = 0; i < command->count; ++i) {
        if (slot->Find(segment.keys[i]) == nullptr)
          command->context->states[segment.positions[i]] = KeyState::kAbsent;
      }
      command->complete(command->context, foreign);
      return true;
    case PlantedBug::kAcknowledgeEarly: {
      if (plan_.form != Form::kIndex || slot == nullptr || foreign > 0 ||
          (command->type != CommandType::kUpsert && command->type != CommandType::kErase)) {
        return false;
      }
      std::map<uint64_t, KeyState> presence;
      for (uint32_t i = 0; i < command->count; ++i) {
        const uint64_t key = segment.keys[i];
        if (!presence.contains(key)) {
          const uint32_t position = 0;
          uint64_t value = 0;
          KeyState state = KeyState::kPending;
          const storage::BatchPart part{.count = 1,
                                        .keys = &key,
                                        .positions = &position,
                                        .values_out = &value,
                                        .states_out = &state};
          slot->Find(key)->partition->Execute({storage::Operation::kLookup, std::span(&part, 1)});
          presence[key] = state;
        }
        command->context->states[segment.positions[i]] = presence[key];
        presence[key] =
            command->type == CommandType::kUpsert ? KeyState::kPresent : KeyState::kAbsent;
      }
      command->complete(command->context, command->count);
      AnswerNobody(*command);
      delayed_.push_back({aeu, records[at]});
      erase();
      return true;
    }
    case PlantedBug::kWrongGeneration:
      if (any == nullptr || slot != nullptr) return false;
      command->object = any->object();
      return true;
    default:
      return false;
  }
}

void Simulation::AnswerNobody(CommandHeader& command) {
  if (sink_ == nullptr) sink_ = std::make_unique<test::TestReply>(4096);
  command.context = sink_.get();
  command.complete = &test::TestReply::Answered;
}

bool Simulation::TamperAppend(std::vector<Record>& records, size_t at) {
  CommandHeader* const command = HeaderOf(records[at]);
  auto* const append = reinterpret_cast<routing::AppendSegment*>(command + 1);
  // Nobody looks at its answers; the rows are the request's.
  const auto sink = [&]() -> routing::Reply* {
    append_sinks_.push_back(std::make_unique<test::TestReply>(append->position + 1));
    append_sinks_.back()->rows = command->context->rows;
    return append_sinks_.back().get();
  };
  switch (options_.bug) {
    case PlantedBug::kAppendTwice: {
      // In the same block, so that the request is there still.
      Record again = records[at];
      HeaderOf(again)->context = sink();
      HeaderOf(again)->complete = &test::TestReply::Answered;
      records.insert(records.begin() + static_cast<ptrdiff_t>(at), std::move(again));
      return true;
    }
    case PlantedBug::kAppendInPart:
      if (append->count == 1) return false;
      --append->count;
      return true;
    case PlantedBug::kStoreRefusedAppend:
      if (!plan_.may_refuse() || plan_.free_at_once) return false;
      command->context->states[append->position] = KeyState::kRefused;
      command->complete(command->context, 1);
      command->context = sink();
      command->complete = &test::TestReply::Answered;
      return true;
    default:
      return false;
  }
}

void Simulation::HurtOthersByDrop(uint32_t aeu) {
  for (const auto& object : objects_) {
    if (aeu::ObjectSlot* const slot = AeuTestPeer::SlotOf(world_[aeu], object->world.route)) {
      AeuTestPeer::EndTransfers(world_[aeu], *slot);
    }
  }
}

void Simulation::WriteBehindTheBack(SimObject& object, const Key& key, uint64_t value,
                                    storage::Operation operation) {
  const uint64_t word = WordOf(object, value);
  for (uint32_t i = 0; i < world_.aeus(); ++i) {
    aeu::ObjectSlot* slot = AeuTestPeer::SlotOf(world_[i], object.world.route);
    aeu::OwnedRange* owned = slot == nullptr ? nullptr : slot->Find(key.head);
    if (owned == nullptr) continue;
    AeuTestPeer::FailAllocationsFrom(*slot, 0);
    const uint32_t position = 0;
    uint64_t answer = 0;
    KeyState state = KeyState::kPending;
    TableRows rows;
    rows.Add(key, value);
    const bool stores = object.is_table() && operation != storage::Operation::kErase;
    if (stores) operation = storage::Operation::kPutRows;
    const storage::BatchPart part{.count = 1,
                                  .keys = &key.head,
                                  .values_in = &word,
                                  .positions = &position,
                                  .values_out = &answer,
                                  .states_out = &state,
                                  .seconds = object.two_parts ? &key.tail : nullptr,
                                  .rows = stores ? &rows.Batch() : nullptr};
    owned->partition->Execute({operation, std::span(&part, 1)});
    return;
  }
}

}  // namespace eris::sim
