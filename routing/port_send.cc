// Port::Send: splitting a keyed command by owner. Paper: ERIS 3.2, Figure 4.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "routing/port.h"
#include "routing/ranges/split_kernels.h"

namespace eris::routing {
namespace {

// How many keys a record of at most `bytes` holds.
uint32_t KeysThatFit(CommandType type, uint8_t key_parts, size_t bytes, size_t query_bytes,
                     AnswersTo answers) {
  const auto bytes_of = [&](uint32_t keys) {
    return KeyedRecordBytes(type, keys, static_cast<uint32_t>(query_bytes), key_parts, answers);
  };
  // Such a count needs no padding after states and positions.
  const uint32_t unpadded = answers == AnswersTo::kRecord ? 8 : 2;
  if (bytes < bytes_of(unpadded)) {
    uint32_t keys = unpadded - 1;
    while (keys > 0 && bytes < bytes_of(keys)) --keys;
    return keys;
  }
  const size_t per_key = (bytes_of(unpadded) - bytes_of(0)) / unpadded;
  const size_t keys = (bytes - bytes_of(0)) / per_key;
  return static_cast<uint32_t>(std::min<size_t>(keys, UINT32_MAX)) & ~(unpadded - 1);
}

// With at most kRangesByVector ranges and at least this many keys, comparing all keys with each
// start is faster than a search for each key. With even fewer ranges, gathering each range's keys
// is faster than placing each key by itself (bench/routing/split_bench.cc).
constexpr size_t kRangesByVector = 32;
constexpr size_t kKeysByVector = 32;
constexpr size_t kKeysPerRangeByVector = 4;
constexpr size_t kRangesToGather = 4;
// The input of one round fits in the nearest cache.
constexpr uint32_t kChunkKeysMax = 2048;

// Memory for more keys than this is freed after the batch.
constexpr size_t kKeptKeys = 64 << 10;

// A Port copies tables of at most this many ranges, about 100 KB: there may be thousands of
// sessions.
constexpr size_t kOwnRangesMax = 4096;

uint8_t KeyPartsOf(const KeyedCommand& command) { return command.seconds.empty() ? 1 : 2; }

// The range that contains all keys, for clients that send related keys together; table.size() if
// there is none. Gives up after a few keys if they are spread.
size_t OnlyRange(const RangeTable& table, std::span<const uint64_t> keys) {
  constexpr size_t kFew = 16;
  const size_t range = table.PartitionOf(keys[0]);
  const uint64_t first = table.starts()[range];
  const uint64_t last = range + 1 < table.size() ? table.starts()[range + 1] - 1
                                                 : std::numeric_limits<uint64_t>::max();
  const size_t few = std::min(keys.size(), kFew);
  const bool all =
      AllInside(keys.first(few), first, last) && AllInside(keys.subspan(few), first, last);
  return all ? range : table.size();
}

// The result of GatherRange if every key is in the range.
void CopyColumns(const KeyColumns& from, const KeyColumnsOut& to) {
  std::memcpy(to.keys, from.keys, from.count * sizeof(uint64_t));
  if (from.values != nullptr) std::memcpy(to.values, from.values, from.count * sizeof(uint64_t));
  if (from.positions != nullptr) {
    std::memcpy(to.positions, from.positions, from.count * sizeof(uint32_t));
  } else {
    std::iota(to.positions, to.positions + from.count, from.first_position);
  }
}

}  // namespace

const RangeTable& Port::NearCopyOf(const RangeTable& table, ObjectId object, size_t keys) {
  if (object != table_object_ || table.version() != table_version_) {
    table_object_ = object;
    table_version_ = table.version();
    keys_by_table_ = 0;
    own_table_.reset();
  } else if (!own_table_ && keys_by_table_ >= table.size() && table.size() <= kOwnRangesMax) {
    keys_by_table_ = 0;  // without memory it is tried again after as many keys
    try {
      own_table_.emplace(table);
    } catch (const std::bad_alloc&) {
    }
  }
  keys_by_table_ += keys;
  return own_table_ ? *own_table_ : table;
}

void Port::ReserveFor(const RangeTable& table, size_t keys) {
  const size_t targets = std::min(table.size(), directory_.size());
  GrowTargets(std::min(targets_.size() + std::min(keys, targets), directory_.size()));
  touched_.reserve(targets);
  left_.reserve(keys);
  left_now_.reserve(keys);
  target_of_key_.reserve(keys);  // filled only by some of its users
}

uint32_t Port::Send(const ObjectRoute& route, const KeyedCommand& command,
                    storage::KeyState if_no_room) {
  // The slot shows it until the next call: so an idle Port keeps at most one version alive.
  return SendBy(table_reader_.Acquire(route), route, command, if_no_room);
}

uint32_t Port::SendBy(const RangeTable& shown, const ObjectRoute& route,
                      const KeyedCommand& command, storage::KeyState if_no_room, bool waits) {
  const size_t n = command.keys.size();
  ERIS_DCHECK(command.positions.empty() || command.positions.size() == n);
  ERIS_DCHECK(!HasValues(command.type) || command.values.size() == n);
  ERIS_DCHECK(!HasExpected(command.type) || command.expected.size() == n);
  ERIS_DCHECK(command.seconds.empty() || command.seconds.size() == n);
  ERIS_DCHECK(command.query.size() % 8 == 0);
  const RangeTable& table = NearCopyOf(shown, route.object(), n);
  ReserveFor(table, n);
  touched_.clear();
  left_.clear();
  const uint32_t record_keys =
      KeysThatFit(command.type, KeyPartsOf(command), options_.outgoing_bytes, command.query.size(),
                  command.answers);
  const size_t keys = std::min<size_t>(n, record_keys);
  if (SplitsByVector() && table.size() <= kRangesByVector && keys >= kKeysByVector &&
      keys >= kKeysPerRangeByVector * table.size() && !HasExpected(command.type) &&
      command.seconds.empty()) {
    SplitByRange(route, table, command, std::min(record_keys, kChunkKeysMax));
  } else {
    SplitByKey(route, table, command);
  }
  return EndSend(route, table.version(), command, if_no_room, waits);
}

uint32_t Port::SendAlong(AeuId target, uint64_t version, const ObjectRoute& route,
                         const KeyedCommand& command, storage::KeyState if_no_room) {
  const size_t n = command.keys.size();
  ERIS_DCHECK(!HasValues(command.type) || command.values.size() == n);
  touched_.reserve(1);
  left_.reserve(n);
  left_now_.reserve(n);
  if (target_of_key_.size() < n) target_of_key_.resize(n);
  const uint32_t index = TargetOf(target);
  touched_.assign(1, index);
  left_.clear();
  std::fill_n(target_of_key_.begin(), n, AeuId{index});
  targets_[index].pending = static_cast<uint32_t>(n);
  Fill(route, version, command, {});
  return EndSend(route, version, command, if_no_room, /*waits=*/true);
}

uint32_t Port::EndSend(const ObjectRoute& route, uint64_t version, const KeyedCommand& command,
                       storage::KeyState if_no_room, bool waits) {
  const size_t n = command.keys.size();
  Wait wait;
  while (!left_.empty()) {
    // No record is half filled now: buffered ones may be sent, and their blocks may be returned.
    SendAllOver();
    for (const uint32_t target : touched_) targets_[target].blocked = false;
    left_.swap(left_now_);
    left_.clear();
    Fill(route, version, command, left_now_);
    if (left_.size() < left_now_.size()) {
      wait = Wait();  // there is progress: the limit begins again
    } else if (!waits || !wait.Pause(*this)) {
      break;
    }
  }
  storage::KeyState* const states = command.answers == AnswersTo::kHome
                                        ? KeyedSegmentOf(command.home).states
                                        : command.context->states;
  for (const uint32_t key : left_) {
    states[command.positions.empty() ? key : command.positions[key]] = if_no_room;
  }
  for (const uint32_t target : touched_) {
    targets_[target].pending = 0;
    targets_[target].blocked = false;
  }
  counters_.sent.Add(n - left_.size());
  counters_.refused.Add(left_.size());
  if (n > kKeptKeys) {  // a batch may have a million keys, and the next one may come much later
    target_of_key_ = {};
    left_now_ = {};
    if (left_.empty()) left_ = {};
  }
  return static_cast<uint32_t>(left_.size());
}

// The AEUs of a table of few ranges, each with the record of the chunk at hand.
struct Port::RangeSplit {
  struct Part {
    uint32_t target = 0;
    uint32_t keys = 0;  // of the chunk, that are still to be put into the record
    KeyColumnsOut record;
  };
  std::array<Part, kRangesByVector> parts;
  size_t part_count = 0;
  // By range.
  std::array<Part*, kRangesByVector> part_of;
  std::array<KeyColumnsOut*, kRangesByVector> record_of;
  std::array<uint32_t, kRangesByVector> counts;  // of the chunk's keys
  // By key of the chunk: its range.
  std::array<uint8_t, kChunkKeysMax + 8> range_of;

  std::span<Part> all_parts() { return std::span(parts).first(part_count); }
};

void Port::SplitByRange(const ObjectRoute& route, const RangeTable& table,
                        const KeyedCommand& command, uint32_t chunk_keys) {
  RangeSplit split;
  const size_t ranges = table.size();
  for (size_t range = 0; range < ranges; ++range) {
    const uint32_t target = TargetOf(table.owners()[range]);
    RangeSplit::Part* part =
        std::find_if(split.parts.begin(), split.parts.begin() + split.part_count,
                     [&](const RangeSplit::Part& one) { return one.target == target; });
    if (part == split.parts.begin() + split.part_count) {
      split.parts[split.part_count++].target = target;
    }
    split.part_of[range] = part;
    split.record_of[range] = &part->record;
  }

  const size_t n = command.keys.size();
  for (size_t begin = 0; begin < n; begin += chunk_keys) {
    const KeyColumns chunk{
        .keys = &command.keys[begin],
        .values = HasValues(command.type) ? &command.values[begin] : nullptr,
        .positions = command.positions.empty() ? nullptr : &command.positions[begin],
        .first_position = static_cast<uint32_t>(begin),
        .count = std::min<size_t>(chunk_keys, n - begin)};
    if (const size_t range = OnlyRange(table, {chunk.keys, chunk.count}); range < ranges) {
      split.counts.fill(0);
      split.counts[range] = static_cast<uint32_t>(chunk.count);
    } else {
      CountByRange({chunk.keys, chunk.count}, table.starts(),
                   ranges <= kRangesToGather ? nullptr : split.range_of.data(),
                   std::span(split.counts).first(ranges));
    }
    if (!OpenRecords(split, route, table, command, chunk) || ranges <= kRangesToGather) {
      GatherRanges(split, table, command, chunk);
    } else if (std::ranges::any_of(split.all_parts(),
                                   [](const RangeSplit::Part& part) { return part.keys != 0; })) {
      ScatterByRange(chunk, split.range_of.data(), split.record_of.data());
    }
  }
}

bool Port::OpenRecords(RangeSplit& split, const ObjectRoute& route, const RangeTable& table,
                       const KeyedCommand& command, const KeyColumns& chunk) {
  for (RangeSplit::Part& part : split.all_parts()) part.keys = 0;
  for (size_t range = 0; range < table.size(); ++range) {
    split.part_of[range]->keys += split.counts[range];
  }
  bool all_open = true;
  for (RangeSplit::Part& part : split.all_parts()) {
    if (part.keys == 0) continue;
    Target& to = targets_[part.target];
    to.pending += part.keys;
    // Keys of earlier chunks that wait for room go first: one thread's order is kept.
    all_open &= !to.blocked && OpenRecord(part.target, route, table.version(), command);
    Cursor& record = cursors_[part.target];
    part.record = {record.keys, chunk.values == nullptr ? nullptr : record.values, record.positions,
                   0};
    record.at = record.end;  // it is filled here
    if (part.keys == chunk.count && !to.blocked) {
      CopyColumns(chunk, part.record);
      part.keys = 0;
    }
  }
  return all_open;
}

void Port::GatherRanges(RangeSplit& split, const RangeTable& table, const KeyedCommand& command,
                        const KeyColumns& chunk) {
  const size_t ranges = table.size();
  for (size_t range = 0; range < ranges; ++range) {
    RangeSplit::Part& part = *split.part_of[range];
    const uint32_t count = split.counts[range];
    if (count == 0 || part.keys == 0) continue;
    const uint64_t first = table.starts()[range];
    const uint64_t last =
        range + 1 < ranges ? table.starts()[range + 1] - 1 : std::numeric_limits<uint64_t>::max();
    if (targets_[part.target].blocked) {
      LeaveRange(command.keys, chunk.first_position, chunk.count, first, last, part.target);
      continue;
    }
    part.record.count = count;
    GatherRange(chunk, first, last, part.record);
    part.record.keys += count;
    if (part.record.values != nullptr) part.record.values += count;
    part.record.positions += count;
  }
}

void Port::LeaveRange(std::span<const uint64_t> keys, size_t begin, size_t count, uint64_t first,
                      uint64_t last, uint32_t target) {
  if (target_of_key_.size() < keys.size()) target_of_key_.resize(keys.size());
  if (std::find(touched_.begin(), touched_.end(), target) == touched_.end()) {
    touched_.push_back(target);
  }
  for (size_t i = begin; i < begin + count; ++i) {
    if (keys[i] < first || keys[i] > last) continue;
    target_of_key_[i] = AeuId{target};
    left_.push_back(static_cast<uint32_t>(i));
  }
}

void Port::SplitByKey(const ObjectRoute& route, const RangeTable& table,
                      const KeyedCommand& command) {
  CountByTarget(table, command.keys);
  Fill(route, table.version(), command, {});
}

void Port::CountByTarget(const RangeTable& table, std::span<const uint64_t> keys) {
  const size_t n = keys.size();
  if (target_of_key_.size() < n) target_of_key_.resize(n);
  if (table.size() == 1) {
    touched_.push_back(TargetOf(table.owners()[0]));
    targets_[touched_[0]].pending = static_cast<uint32_t>(n);
    std::fill_n(target_of_key_.begin(), n, AeuId{touched_[0]});
    return;
  }
  // First the owners; each is then replaced by its index in targets_.
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
  const uint8_t key_parts = KeyPartsOf(command);
  const uint32_t count = KeyedRecordBytes(command.type, to.pending, query_bytes, key_parts,
                                          command.answers) <= options_.outgoing_bytes
                             ? to.pending
                             : KeysThatFit(command.type, key_parts, options_.outgoing_bytes,
                                           query_bytes, command.answers);
  const size_t bytes =
      KeyedRecordBytes(command.type, count, query_bytes, key_parts, command.answers);
  std::byte* record = count == 0 ? nullptr : Reserve(target, bytes);
  if (record == nullptr) {
    to.blocked = true;
    return false;
  }
  auto* header = new (record) CommandHeader{.size_bytes = static_cast<uint32_t>(bytes),
                                            .type = command.type,
                                            .key_parts = key_parts,
                                            .lane = command.lane.value_or(lane_),
                                            .answers = command.answers,
                                            .slot = route.slot(),
                                            .object = route.object(),
                                            .table_version = version,
                                            .snapshot = command.snapshot,
                                            .complete = command.complete,
                                            .context = command.context,
                                            .count = count,
                                            .query_bytes = query_bytes};
  cursors_[target] = CursorAt(header, to.block);
  if (command.answers == AnswersTo::kHome) *KeyedSegmentOf(header).home = command.home;
  if (query_bytes > 0) std::memcpy(record + bytes - query_bytes, command.query.data(), query_bytes);
  to.pending -= count;
  to.sent->Add(count);
  return true;
}

Port::Cursor Port::CursorAt(CommandHeader* header, Block* block) const {
  const uint32_t count = header->count;
  Cursor cursor{.end = count, .keys = reinterpret_cast<uint64_t*>(header + 1)};
  uint64_t* columns_end = cursor.keys + count;
  const auto next_column = [&] { return std::exchange(columns_end, columns_end + count); };
  if (HasValues(header->type)) cursor.values = next_column();
  if (HasExpected(header->type)) cursor.expected = next_column();
  if (header->key_parts == 2) cursor.seconds = next_column();
  if (header->answers == AnswersTo::kRecord) {
    ERIS_DCHECK(options_.home != nullptr);
    block->home = options_.home;
    const KeyedSegment answers = KeyedSegmentOf(header);
    *answers.block = block;
    std::fill_n(answers.states, count, storage::KeyState::kPending);
  }
  columns_end += AnswerBytes(count, header->answers) / sizeof(uint64_t);
  cursor.positions = reinterpret_cast<uint32_t*>(columns_end);
  return cursor;
}

void Port::Fill(const ObjectRoute& route, uint64_t version, const KeyedCommand& command,
                std::span<const uint32_t> todo) {
  command.seconds.empty() ? FillRecords(route, version, command, todo)
                          : FillTwoPartRecords(route, version, command, todo);
}

void Port::FillRecords(const ObjectRoute& route, uint64_t version, const KeyedCommand& command,
                       std::span<const uint32_t> todo) {
  const auto fill = [&]<size_t kColumns, bool kPositions, bool kTodo>() {
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
      // A record's columns have exactly its count, so each is filled from the front.
      const uint32_t at = cursor.at++;
      cursor.keys[at] = command.keys[i];
      if constexpr (kColumns > 1) cursor.values[at] = command.values[i];
      if constexpr (kColumns > 2) cursor.expected[at] = command.expected[i];
      cursor.positions[at] = kPositions ? command.positions[i] : i;
    }
  };
  const bool positions = !command.positions.empty();
  const auto fill_columns = [&]<size_t kColumns>() {
    if (!todo.empty()) {
      positions ? fill.template operator()<kColumns, true, true>()
                : fill.template operator()<kColumns, false, true>();
    } else {
      positions ? fill.template operator()<kColumns, true, false>()
                : fill.template operator()<kColumns, false, false>();
    }
  };
  switch (U64ColumnsOf(command.type)) {
    case 1:
      return fill_columns.template operator()<1>();
    case 2:
      return fill_columns.template operator()<2>();
    default:
      return fill_columns.template operator()<3>();
  }
}

void Port::FillTwoPartRecords(const ObjectRoute& route, uint64_t version,
                              const KeyedCommand& command, std::span<const uint32_t> todo) {
  const size_t n = todo.empty() ? command.keys.size() : todo.size();
  for (size_t j = 0; j < n; ++j) {
    const uint32_t i = todo.empty() ? static_cast<uint32_t>(j) : todo[j];
    const uint32_t target = target_of_key_[i].value;
    Cursor& cursor = cursors_[target];
    if (cursor.at == cursor.end &&
        (targets_[target].blocked || !OpenRecord(target, route, version, command))) {
      left_.push_back(i);
      continue;
    }
    const uint32_t at = cursor.at++;
    cursor.keys[at] = command.keys[i];
    if (HasValues(command.type)) cursor.values[at] = command.values[i];
    if (HasExpected(command.type)) cursor.expected[at] = command.expected[i];
    cursor.seconds[at] = command.seconds[i];
    cursor.positions[at] = command.positions.empty() ? i : command.positions[i];
  }
}

}  // namespace eris::routing
