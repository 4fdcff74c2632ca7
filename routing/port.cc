#include "routing/port.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>

#include "base/check.h"
#include "routing/scan_part.h"

namespace eris::routing {
namespace {

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A first look at a full buffer costs nothing; then the AEU is given the core, then time.
constexpr int kYields = 16;
constexpr int64_t kSleepNs = 50'000;

uint32_t KeysThatFit(CommandType type, size_t bytes) {
  if (bytes < KeyedRecordBytes(type, 2)) return 0;
  // An even count needs no padding behind the positions.
  const size_t per_key = (KeyedRecordBytes(type, 2) - sizeof(CommandHeader)) / 2;
  return static_cast<uint32_t>((bytes - sizeof(CommandHeader)) / per_key) & ~1u;
}

}  // namespace

Port::Port(const EndpointDirectory& directory, size_t outgoing_bytes, int64_t wait_ns)
    : directory_(directory),
      outgoing_bytes_(outgoing_bytes),
      wait_ns_(wait_ns),
      targets_(directory.size()) {
  dirty_.reserve(directory.size());
  touched_.reserve(directory.size());
}

void Port::MarkDirty(uint32_t target) {
  if (targets_[target].dirty) return;
  targets_[target].dirty = true;
  dirty_.push_back(target);
}

bool Port::FlushTarget(uint32_t target) {
  OutgoingBuffer& buffer = targets_[target].buffer;
  if (buffer.empty()) return true;
  AeuEndpoint& endpoint = *directory_[target];
  int attempt = 0;
  for (; !endpoint.TrySend(buffer.records()); ++attempt) {
    if (wait_ns_ == 0) return false;
    const int64_t now_ns = NowNs();
    if (deadline_ns_ == 0) deadline_ns_ = now_ns + wait_ns_;
    if (now_ns >= deadline_ns_) return false;
    if (attempt < kYields) {
      std::this_thread::yield();
      continue;
    }
    const timespec pause{0, kSleepNs};
    nanosleep(&pause, nullptr);
  }
  if (attempt > 0) BeginWait();
  buffer.Clear();
  return true;
}

bool Port::MakeRoom(uint32_t target, size_t bytes) {
  OutgoingBuffer& buffer = targets_[target].buffer;
  if (bytes > outgoing_bytes_ || !buffer.Prepare(outgoing_bytes_)) return false;
  return bytes <= buffer.room_bytes() || FlushTarget(target);
}

bool Port::OpenRecord(uint32_t target, const ObjectRoute& route, const RangeTable& table,
                      const KeyedCommand& command) {
  Target& to = targets_[target];
  const uint32_t count = std::min(to.pending, KeysThatFit(command.type, outgoing_bytes_));
  const size_t bytes = KeyedRecordBytes(command.type, count);
  if (count == 0 || !MakeRoom(target, bytes)) return false;
  std::byte* record = to.buffer.Append(bytes);
  to.open = new (record) CommandHeader{.size_bytes = static_cast<uint32_t>(bytes),
                                       .type = command.type,
                                       .hops = command.hops,
                                       .slot = route.slot(),
                                       .object = route.object(),
                                       .table_version = table.version(),
                                       .snapshot = command.snapshot,
                                       .complete = command.complete,
                                       .context = command.context,
                                       .count = count};
  to.open_capacity = count;
  MarkDirty(target);
  return true;
}

uint32_t Port::Send(const ObjectRoute& route, const KeyedCommand& command,
                    storage::KeyState if_no_room) {
  BeginWait();
  const size_t n = command.keys.size();
  ERIS_DCHECK(command.positions.empty() || command.positions.size() == n);
  ERIS_DCHECK(command.type != CommandType::kUpsert || command.values.size() == n);
  const RangeTable& table = route.table();
  owners_.resize(n);
  table.OwnersOf(command.keys, owners_);

  touched_.clear();
  for (const AeuId owner : owners_) {
    Target& to = targets_[owner.value];
    if (to.pending++ == 0) touched_.push_back(owner.value);
  }

  uint32_t refused = 0;
  uint64_t* keys_out = nullptr;
  for (size_t i = 0; i < n; ++i) {
    Target& to = targets_[owners_[i].value];
    const uint32_t position =
        command.positions.empty() ? static_cast<uint32_t>(i) : command.positions[i];
    if (to.open_capacity == 0 && !to.blocked) {
      to.blocked = !OpenRecord(owners_[i].value, route, table, command);
    }
    if (to.blocked) [[unlikely]] {
      command.context->states[position] = if_no_room;
      ++refused;
      continue;
    }
    // The columns of a record are sized for exactly its count, so each fills up from the front.
    const uint32_t count = to.open->count;
    const uint32_t at = count - to.open_capacity;
    keys_out = reinterpret_cast<uint64_t*>(to.open + 1);
    keys_out[at] = command.keys[i];
    uint64_t* columns_end = keys_out + count;
    if (command.type == CommandType::kUpsert) {
      columns_end[at] = command.values[i];
      columns_end += count;
    }
    reinterpret_cast<uint32_t*>(columns_end)[at] = position;
    --to.pending;
    --to.open_capacity;
  }
  for (const uint32_t target : touched_) {
    Target& to = targets_[target];
    to.pending = 0;
    to.open = nullptr;
    to.open_capacity = 0;
    to.blocked = false;
  }
  return refused;
}

bool Port::SendTo(AeuId target, CommandHeader header, std::span<const std::byte> segment) {
  ERIS_DCHECK(segment.size() % 8 == 0);
  BeginWait();
  header.size_bytes = static_cast<uint32_t>(sizeof(CommandHeader) + segment.size());
  if (!MakeRoom(target.value, header.size_bytes)) return false;
  std::byte* record = targets_[target.value].buffer.Append(header.size_bytes);
  std::memcpy(record, &header, sizeof header);
  std::memcpy(record + sizeof header, segment.data(), segment.size());
  MarkDirty(target.value);
  return true;
}

bool Port::Flush() {
  BeginWait();
  size_t kept = 0;
  for (const uint32_t target : dirty_) {
    if (FlushTarget(target)) {
      targets_[target].dirty = false;
    } else {
      dirty_[kept++] = target;
    }
  }
  dirty_.resize(kept);
  return kept == 0;
}

void Port::RefuseBuffered(storage::KeyState state) {
  for (const uint32_t target : dirty_) {
    OutgoingBuffer& buffer = targets_[target].buffer;
    std::span<const std::byte> rest = buffer.records();
    while (!rest.empty()) {
      const auto* command = reinterpret_cast<const CommandHeader*>(rest.data());
      uint32_t answered = 1;
      if (IsKeyed(command->type)) {
        const KeyedSegment segment = KeyedSegmentOf(command);
        for (uint32_t i = 0; i < command->count; ++i) {
          command->context->states[segment.positions[i]] = state;
        }
        answered = command->count;
      } else if (command->type == CommandType::kScan) {
        const auto* scan = reinterpret_cast<const ScanSegment*>(DataSegment(command));
        scan->part->Finish(PartOutcome::kRefused, scan->range);
      } else if (command->type == CommandType::kInstall) {
        const auto* install = reinterpret_cast<const InstallSegment*>(DataSegment(command));
        command->context->states[install->position] = state;
      } else {
        const auto* drop = reinterpret_cast<const DropSegment*>(DataSegment(command));
        command->context->states[drop->position] = state;
      }
      command->complete(command->context, answered);
      rest = rest.subspan(command->size_bytes);
    }
    buffer.Clear();
    targets_[target].dirty = false;
  }
  dirty_.clear();
}

}  // namespace eris::routing
