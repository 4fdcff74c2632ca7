// Port::Send: splitting a keyed command by owner. Paper: ERIS 3.2, Figure 4.
#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>

#include "base/check.h"
#include "routing/port.h"

namespace eris::routing {
namespace {

// How many keys a record of at most `bytes` holds.
uint32_t KeysThatFit(CommandType type, size_t bytes, uint32_t query_bytes) {
  if (bytes < KeyedRecordBytes(type, 2, query_bytes)) {
    return bytes < KeyedRecordBytes(type, 1, query_bytes) ? 0 : 1;
  }
  // An even count needs no padding behind the positions.
  const size_t per_key = (KeyedRecordBytes(type, 2) - sizeof(CommandHeader)) / 2;
  const size_t keys = (bytes - query_bytes - sizeof(CommandHeader)) / per_key;
  return static_cast<uint32_t>(std::min<size_t>(keys, UINT32_MAX)) & ~1u;
}

}  // namespace

uint32_t Port::Send(const ObjectRoute& route, const KeyedCommand& command,
                    storage::KeyState if_no_room) {
  const size_t n = command.keys.size();
  ERIS_DCHECK(command.positions.empty() || command.positions.size() == n);
  ERIS_DCHECK(command.type != CommandType::kUpsert || command.values.size() == n);
  ERIS_DCHECK(command.query.size() % 8 == 0);
  const RangeTable& table = route.UnprotectedTable();
  const uint64_t version = table.version();
  CountByTarget(table, command.keys);

  left_.clear();
  if (touched_.size() == 1) {
    FillOneTarget(route, version, command);
  } else {
    FillRecords(route, version, command, {});
  }
  Wait wait;
  while (!left_.empty()) {
    // Nothing is half filled now: what is buffered may go, and its blocks may come home.
    SendAllOver();
    for (const uint32_t target : touched_) targets_[target].blocked = false;
    left_.swap(left_now_);
    left_.clear();
    FillRecords(route, version, command, left_now_);
    if (left_.size() < left_now_.size()) {
      wait = Wait();  // there is progress: the bound begins anew
    } else if (!wait.Pause(*this)) {
      break;
    }
  }
  for (const uint32_t key : left_) {
    command.context->states[command.positions.empty() ? key : command.positions[key]] = if_no_room;
  }
  for (const uint32_t target : touched_) {
    targets_[target].pending = 0;
    targets_[target].blocked = false;
  }
  counters_.sent.Add(n - left_.size());
  counters_.refused.Add(left_.size());
  return static_cast<uint32_t>(left_.size());
}

void Port::CountByTarget(const RangeTable& table, std::span<const uint64_t> keys) {
  const size_t n = keys.size();
  touched_.clear();
  if (target_of_key_.size() < n) target_of_key_.resize(n);
  if (table.size() == 1) {
    touched_.push_back(TargetOf(table.owners()[0]));
    targets_[touched_[0]].pending = static_cast<uint32_t>(n);
    std::fill_n(target_of_key_.begin(), n, AeuId{touched_[0]});
    return;
  }
  // The owners first; each is then replaced by its index in targets_.
  table.OwnersOf(keys, std::span(target_of_key_).first(n));
  for (size_t i = 0; i < n; ++i) {
    uint32_t target = target_of_[target_of_key_[i].value];
    if (target == 0) [[unlikely]]
      target = TargetOf(target_of_key_[i]) + 1;
    --target;
    target_of_key_[i].value = target;
    if (targets_[target].pending++ == 0) touched_.push_back(target);
  }
}

bool Port::OpenRecord(uint32_t target, const ObjectRoute& route, uint64_t version,
                      const KeyedCommand& command) {
  Target& to = targets_[target];
  const auto query_bytes = static_cast<uint32_t>(command.query.size());
  // What is left of the block, unless it would make a small piece of a large command.
  size_t room = to.block == nullptr ? 0 : to.block->room_bytes();
  if (room < options_.outgoing_bytes / 2 &&
      room < KeyedRecordBytes(command.type, to.pending, query_bytes)) {
    room = options_.outgoing_bytes;
  }
  const uint32_t count = std::min(to.pending, KeysThatFit(command.type, room, query_bytes));
  const size_t bytes = KeyedRecordBytes(command.type, count, query_bytes);
  std::byte* record = count == 0 ? nullptr : Reserve(target, bytes);
  if (record == nullptr) {
    to.blocked = true;
    return false;
  }
  auto* header = new (record) CommandHeader{.size_bytes = static_cast<uint32_t>(bytes),
                                            .type = command.type,
                                            .hops = command.hops,
                                            .slot = route.slot(),
                                            .object = route.object(),
                                            .table_version = version,
                                            .snapshot = command.snapshot,
                                            .complete = command.complete,
                                            .context = command.context,
                                            .count = count,
                                            .query_bytes = query_bytes};
  Cursor& cursor = cursors_[target];
  cursor.at = 0;
  cursor.end = count;
  cursor.keys = reinterpret_cast<uint64_t*>(header + 1);
  uint64_t* columns_end = cursor.keys + count;
  if (command.type == CommandType::kUpsert) {
    cursor.values = columns_end;
    columns_end += count;
  }
  cursor.positions = reinterpret_cast<uint32_t*>(columns_end);
  if (query_bytes > 0) std::memcpy(record + bytes - query_bytes, command.query.data(), query_bytes);
  to.pending -= count;
  return true;
}

void Port::FillRecords(const ObjectRoute& route, uint64_t version, const KeyedCommand& command,
                       std::span<const uint32_t> todo) {
  const auto fill = [&]<bool kValues, bool kPositions, bool kTodo>() {
    const size_t n = kTodo ? todo.size() : command.keys.size();
    for (size_t j = 0; j < n; ++j) {
      const uint32_t i = kTodo ? todo[j] : static_cast<uint32_t>(j);
      const uint32_t target = target_of_key_[i].value;
      Cursor& cursor = cursors_[target];
      if (cursor.at == cursor.end) [[unlikely]] {
        if (targets_[target].blocked || !OpenRecord(target, route, version, command)) {
          left_.push_back(i);
          continue;
        }
      }
      // A record's columns are sized for exactly its count, so each fills up from the front.
      const uint32_t at = cursor.at++;
      cursor.keys[at] = command.keys[i];
      if constexpr (kValues) cursor.values[at] = command.values[i];
      cursor.positions[at] = kPositions ? command.positions[i] : i;
    }
  };
  const bool values = command.type == CommandType::kUpsert;
  const bool positions = !command.positions.empty();
  if (!todo.empty()) {
    if (values) {
      positions ? fill.template operator()<true, true, true>()
                : fill.template operator()<true, false, true>();
    } else {
      positions ? fill.template operator()<false, true, true>()
                : fill.template operator()<false, false, true>();
    }
  } else if (values) {
    positions ? fill.template operator()<true, true, false>()
              : fill.template operator()<true, false, false>();
  } else {
    positions ? fill.template operator()<false, true, false>()
              : fill.template operator()<false, false, false>();
  }
}

void Port::FillOneTarget(const ObjectRoute& route, uint64_t version, const KeyedCommand& command) {
  const uint32_t target = touched_[0];
  const auto n = static_cast<uint32_t>(command.keys.size());
  for (uint32_t begin = 0; begin < n;) {
    if (!OpenRecord(target, route, version, command)) {
      for (uint32_t i = begin; i < n; ++i) left_.push_back(i);
      return;
    }
    Cursor& cursor = cursors_[target];
    const uint32_t count = cursor.end;
    std::memcpy(cursor.keys, &command.keys[begin], count * sizeof(uint64_t));
    if (command.type == CommandType::kUpsert) {
      std::memcpy(cursor.values, &command.values[begin], count * sizeof(uint64_t));
    }
    if (command.positions.empty()) {
      std::iota(cursor.positions, cursor.positions + count, begin);
    } else {
      std::memcpy(cursor.positions, &command.positions[begin], count * sizeof(uint32_t));
    }
    cursor.at = cursor.end;
    begin += count;
  }
}

}  // namespace eris::routing
