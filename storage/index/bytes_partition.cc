#include "storage/index/bytes_partition.h"

#include <new>
#include <utility>

#include "base/check.h"
#include "base/lean_status.h"
#include "storage/reply_room.h"

namespace eris::storage {
// Keys that are executed together, gathered from one or several parts, and where they were found.
struct BytesPartition::Group {
  uint32_t count = 0;
  uint64_t keys[kFindGroupMax];
  const BatchPart* parts[kFindGroupMax];
  uint32_t indices[kFindGroupMax];
  uint64_t* found[kFindGroupMax];
  bool found_valid = true;
  uint64_t copied = 0;

  uint64_t given(uint32_t i) const { return parts[i]->values_in[indices[i]]; }
  KeyState& state(uint32_t i) const { return parts[i]->state(indices[i]); }
  uint64_t& answer(uint32_t i) const { return parts[i]->answer(indices[i]); }
  // The first key after `i` that belongs to another part.
  uint32_t EndOfPart(uint32_t i) const {
    uint32_t end = i + 1;
    while (end < count && parts[end] == parts[i]) ++end;
    return end;
  }
  // Second stage of prefetching: the records, behind the words.
  void PrefetchRecords() const {
    for (uint32_t i = 0; i < count; ++i) {
      if (found[i] != nullptr) PrefetchRecord(*found[i]);
    }
  }
  // The bytes that the current answers of keys [i, end) need.
  size_t RoomFor(uint32_t i, uint32_t end) const {
    size_t bytes = 0;
    for (; i < end; ++i) {
      if (found[i] == nullptr || IsShort(*found[i])) continue;
      const absl::string_view one = BytesOf(*found[i]);
      __builtin_prefetch(one.data() + base::kCacheLineBytes);
      bytes += RecordBytes(one.size());
    }
    return bytes;
  }
};

namespace {

void FreeRecord(memory::LocalCache& cache, uint64_t stored) {
  if (!IsShort(stored)) cache.Free(RecordOf(stored), BlockBytes(BytesOf(stored).size()));
}

// A long record is a separate allocation, and freeing it costs more than freeing a row.
uint64_t FreeRecords(memory::LocalCache& cache, const uint64_t* words, uint32_t count) {
  constexpr uint64_t kBytesPerRow = 1024;
  uint64_t rows = count;
  // A record's length is stored in the record.
  for (uint32_t i = 0; i < count; ++i) PrefetchRecord(words[i]);
  for (uint32_t i = 0; i < count; ++i) {
    if (!IsShort(words[i])) rows += BytesOf(words[i]).size() / kBytesPerRow;
    FreeRecord(cache, words[i]);
  }
  return rows;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BytesPartition>> BytesPartition::Create(const Range& range,
                                                                       memory::LocalCache& cache) {
  absl::StatusOr<std::unique_ptr<IndexPartition>> rows =
      IndexPartition::Create(range, cache, FreeRecords);
  if (!rows.ok()) return rows.status();
  std::unique_ptr<BytesPartition> partition(new (std::nothrow) BytesPartition(*std::move(rows)));
  if (partition == nullptr) return base::NoMemory("no memory to create a partition");
  return partition;
}

uint64_t BytesPartition::Keep(uint64_t given) {
  if (IsShort(given)) return given;
  const absl::string_view bytes = BytesOf(given);
  void* const block = cache().Allocate(BlockBytes(bytes.size()));
  return block == nullptr ? 0 : WriteRecord(block, bytes);
}

void BytesPartition::Free(uint64_t stored) { FreeRecord(cache(), stored); }

bool BytesPartition::Replace(uint64_t* stored, uint64_t given) {
  if (!IsShort(*stored) && !IsShort(given)) {
    const absl::string_view bytes = BytesOf(given);
    if (cache().ClassBytes(BlockBytes(BytesOf(*stored).size())) ==
        cache().ClassBytes(BlockBytes(bytes.size()))) {
      WriteRecord(RecordOf(*stored), bytes);
      return true;
    }
  }
  const uint64_t word = Keep(given);
  if (word == 0) return false;
  Free(*stored);
  *stored = word;
  return true;
}

void BytesPartition::Execute(const Batch& batch) {
  Group group;
  for (const BatchPart& part : batch.parts) {
    for (uint32_t i = 0; i < part.count; ++i) {
      ERIS_DCHECK(range().ContainsU64(part.keys[i]));
      part.FetchAnswer(i, false);
      if (part.values_in != nullptr) PrefetchRecord(part.values_in[i]);
      group.keys[group.count] = part.keys[i];
      group.parts[group.count] = &part;
      group.indices[group.count++] = i;
      if (group.count == kFindGroupMax) RunGroup(batch, group);
    }
  }
  if (group.count > 0) RunGroup(batch, group);
}

void BytesPartition::RunGroup(const Batch& batch, Group& group) {
  const Operation operation = batch.operation;
  const bool inserts = operation == Operation::kUpsert || operation == Operation::kInsertIfAbsent;
  rows_->tree().FindGroup(group.keys, group.count, group.found,
                          inserts ? PrefixTree::Purpose::kInsert : PrefixTree::Purpose::kRead);
  group.found_valid = true;
  group.copied = 0;
  group.PrefetchRecords();
  switch (operation) {
    case Operation::kLookup:
      LookupGroup(group);
      break;
    case Operation::kUpsert:
      UpsertGroup(group);
      break;
    case Operation::kErase:
      EraseGroup(group);
      break;
    case Operation::kInsertIfAbsent:
    case Operation::kReplaceIfPresent:
    case Operation::kCompareAndSet:
      ConditionalGroup(operation, group);
      break;
    case Operation::kAdd:
    case Operation::kPutRows:
    case Operation::kLookupRows:
      ERIS_CHECK(false);  // no session sends it
      break;
  }
  if (batch.bytes_copied != nullptr) *batch.bytes_copied += group.copied;
  group.count = 0;
}

void BytesPartition::LookupGroup(Group& group) {
  ReplyRoom room;
  for (uint32_t begin = 0; begin < group.count;) {
    const uint32_t end = group.EndOfPart(begin);
    room.Open(group.parts[begin]->bytes_out, group.RoomFor(begin, end));
    for (uint32_t i = begin; i < end; ++i) {
      if (group.found[i] == nullptr) {
        group.state(i) = KeyState::kAbsent;
      } else {
        group.state(i) =
            room.Put(*group.found[i], group.answer(i)) ? KeyState::kPresent : KeyState::kNoRoom;
      }
    }
    begin = end;
  }
  group.copied = room.copied();
}

void BytesPartition::UpsertGroup(Group& group) {
  // Found keys first: until the first insert their locations stay valid. A key that occurs twice in
  // the group is found twice or not at all, so its order is kept.
  for (uint32_t i = 0; i < group.count; ++i) {
    if (group.found[i] == nullptr) continue;
    group.state(i) =
        Replace(group.found[i], group.given(i)) ? KeyState::kPresent : KeyState::kNoMemory;
    group.copied += BytesOf(group.given(i)).size();
  }
  uint64_t stored[kFindGroupMax] = {};  // of new keys, while they are in the tree
  for (uint32_t i = 0; i < group.count; ++i) {
    if (group.found[i] != nullptr) continue;
    const uint64_t word = Keep(group.given(i));
    if (word == 0) {
      group.state(i) = KeyState::kNoMemory;
      continue;
    }
    switch (rows_->tree().Upsert(group.keys[i], word)) {
      case UpsertResult::kInserted:
        group.state(i) = KeyState::kAbsent;
        break;
      case UpsertResult::kReplaced:  // inserted by a key of this group just now
        group.state(i) = KeyState::kPresent;
        for (uint32_t before = i; before-- > 0;) {
          if (group.keys[before] != group.keys[i] || stored[before] == 0) continue;
          Free(std::exchange(stored[before], 0));
          break;
        }
        break;
      case UpsertResult::kNoMemory:
        Free(word);
        group.state(i) = KeyState::kNoMemory;
        continue;
    }
    stored[i] = word;
    group.copied += BytesOf(word).size();
  }
}

void BytesPartition::EraseGroup(Group& group) {
  // Read the words first: the first erase may move the others.
  uint64_t words[kFindGroupMax];
  for (uint32_t i = 0; i < group.count; ++i) {
    words[i] = group.found[i] == nullptr ? 0 : *group.found[i];
  }
  for (uint32_t i = 0; i < group.count; ++i) {
    // No operation in the group adds keys, so an absent key is still absent.
    const bool present = words[i] != 0 && rows_->tree().Erase(group.keys[i]);
    if (present) Free(words[i]);
    group.state(i) = present ? KeyState::kPresent : KeyState::kAbsent;
  }
}

void BytesPartition::ConditionalGroup(Operation operation, Group& group) {
  ReplyRoom room;
  for (uint32_t begin = 0; begin < group.count;) {
    const uint32_t end = group.EndOfPart(begin);
    // After an insert, the locations no longer tell the sizes.
    room.Open(group.parts[begin]->bytes_out, group.found_valid ? group.RoomFor(begin, end) : 0);
    for (uint32_t i = begin; i < end; ++i) {
      if (!group.found_valid) rows_->tree().FindGroup(&group.keys[i], 1, &group.found[i]);
      group.state(i) = WriteOne(operation, group, i, room);
    }
    begin = end;
  }
  group.copied += room.copied();
}

KeyState BytesPartition::WriteOne(Operation operation, Group& group, uint32_t i, ReplyRoom& room) {
  uint64_t* const stored = group.found[i];
  const uint64_t given = group.given(i);
  if (stored == nullptr) {
    if (operation != Operation::kInsertIfAbsent) return KeyState::kAbsent;
    const uint64_t word = Keep(given);
    if (word == 0) return KeyState::kNoMemory;
    group.found_valid = false;
    if (rows_->tree().Upsert(group.keys[i], word) == UpsertResult::kNoMemory) {
      Free(word);
      return KeyState::kNoMemory;
    }
    group.copied += BytesOf(word).size();
    return KeyState::kAbsent;
  }
  // The answer before the write: a key whose answer has no room is not written.
  uint64_t answer = 0;
  if (!room.PutChanged(*stored, answer)) return KeyState::kNoRoom;
  KeyState state = KeyState::kPresent;
  if (operation == Operation::kCompareAndSet) {
    const uint64_t expected = group.parts[i]->expected[group.indices[i]];
    if (BytesOf(*stored) != BytesOf(expected)) state = KeyState::kUnequal;
  }
  if (operation != Operation::kInsertIfAbsent && state == KeyState::kPresent) {
    if (!Replace(stored, given)) return KeyState::kNoMemory;
    group.copied += BytesOf(given).size();
  }
  group.answer(i) = answer;
  return state;
}

}  // namespace eris::storage
