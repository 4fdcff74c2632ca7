#include "storage/index/index_partition.h"

#include <new>

#include "base/check.h"
#include "storage/range_ops.h"

namespace eris::storage {
namespace {

KeyState StateOf(UpsertResult result) {
  switch (result) {
    case UpsertResult::kInserted:
      return KeyState::kAbsent;
    case UpsertResult::kReplaced:
      return KeyState::kPresent;
    case UpsertResult::kNoMemory:
      break;
  }
  return KeyState::kNoMemory;
}

}  // namespace

// Keys that are executed together, gathered from one or several parts.
struct IndexPartition::Group {
  uint32_t count = 0;
  uint64_t keys[kFindGroupMax];
  uint64_t values_in[kFindGroupMax];
  uint64_t* values_out[kFindGroupMax];
  KeyState* states_out[kFindGroupMax];
};

absl::StatusOr<std::unique_ptr<IndexPartition>> IndexPartition::Create(
    const Range& range, memory::LocalCache& cache, PrefixTree::FreeValues free_values) {
  if (absl::Status status = CheckWidth(range); !status.ok()) return status;
  std::unique_ptr<IndexPartition> partition(new (std::nothrow)
                                                IndexPartition(range, cache, free_values));
  if (partition == nullptr) return NoMemory("create a partition");
  return partition;
}

// A group of one would pay for the group's bookkeeping, which takes as long as a cache miss. With
// fewer instructions, more of the next key's misses overlap with this one's.
inline void IndexPartition::ExecuteOne(Operation operation, const BatchPart& part) {
  const uint64_t key = part.keys[0];
  KeyState& state = part.states_out[part.positions[0]];
  ERIS_DCHECK(range().ContainsU64(key));
  if (operation == Operation::kLookup) {
    const uint64_t* const value = rows_.tree().Find(key);
    if (value != nullptr) part.values_out[part.positions[0]] = *value;
    state = value != nullptr ? KeyState::kPresent : KeyState::kAbsent;
  } else if (operation == Operation::kUpsert) {
    state = StateOf(rows_.tree().Upsert(key, part.values_in[0]));
  } else {
    state = rows_.tree().Erase(key) ? KeyState::kPresent : KeyState::kAbsent;
  }
}

void IndexPartition::Execute(const Batch& batch) {
  if (IsConditional(batch.operation)) return ExecuteConditional(batch);
  if (batch.parts.size() == 1 && batch.parts[0].count == 1) {
    ExecuteOne(batch.operation, batch.parts[0]);
  } else {
    ExecuteGroups(batch);
  }
}

void IndexPartition::ExecuteGroups(const Batch& batch) {
  Group group;
  for (const BatchPart& part : batch.parts) {
    for (uint32_t i = 0; i < part.count; ++i) {
      ERIS_DCHECK(range().ContainsU64(part.keys[i]));
      const uint32_t at = group.count++;
      const uint32_t position = part.positions[i];
      group.keys[at] = part.keys[i];
      group.states_out[at] = part.states_out + position;
      // The request's columns are in another core's cache: fetch them while the tree is searched.
      __builtin_prefetch(group.states_out[at], 1);
      if (batch.operation == Operation::kLookup) {
        group.values_out[at] = part.values_out + position;
        __builtin_prefetch(group.values_out[at], 1);
      }
      if (batch.operation == Operation::kUpsert) group.values_in[at] = part.values_in[i];
      if (group.count == kFindGroupMax) RunGroup(batch.operation, group);
    }
  }
  if (group.count > 0) RunGroup(batch.operation, group);
}

void IndexPartition::RunGroup(Operation operation, Group& group) {
  // For writes too: it brings the paths into the cache in parallel.
  uint64_t* found[kFindGroupMax];
  rows_.tree().FindGroup(
      group.keys, group.count, found,
      operation == Operation::kUpsert ? PrefixTree::Purpose::kInsert : PrefixTree::Purpose::kRead);
  switch (operation) {
    case Operation::kLookup:
      for (uint32_t i = 0; i < group.count; ++i) {
        if (found[i] != nullptr) *group.values_out[i] = *found[i];
        *group.states_out[i] = found[i] != nullptr ? KeyState::kPresent : KeyState::kAbsent;
      }
      break;
    case Operation::kUpsert:
      UpsertGroup(group, found);
      break;
    case Operation::kErase:
      for (uint32_t i = 0; i < group.count; ++i) {
        // No operation in the group adds keys, so an absent key is still absent.
        const bool present = found[i] != nullptr && rows_.tree().Erase(group.keys[i]);
        *group.states_out[i] = present ? KeyState::kPresent : KeyState::kAbsent;
      }
      break;
    case Operation::kInsertIfAbsent:
    case Operation::kReplaceIfPresent:
    case Operation::kCompareAndSet:
    case Operation::kAdd:
    case Operation::kPutRows:
    case Operation::kLookupRows:
      ERIS_CHECK(false);  // Execute handles them elsewhere, or no session sends them
      break;
  }
  group.count = 0;
}

void IndexPartition::UpsertGroup(Group& group, uint64_t** found) {
  // Locations stay valid until the first insert.
  bool found_valid = true;
  for (uint32_t i = 0; i < group.count; ++i) {
    if (found_valid && found[i] != nullptr) {
      *found[i] = group.values_in[i];
      *group.states_out[i] = KeyState::kPresent;
      continue;
    }
    const UpsertResult result = rows_.tree().Upsert(group.keys[i], group.values_in[i]);
    if (result == UpsertResult::kInserted) found_valid = false;
    *group.states_out[i] = StateOf(result);
  }
}

}  // namespace eris::storage
