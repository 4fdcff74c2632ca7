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

// Keys that are executed together: where they are in a part, or gathered from several.
struct IndexPartition::GroupKeys {
  uint32_t count = 0;
  const uint64_t* keys = nullptr;
  const uint64_t* values_in = nullptr;  // of upserts
};

// Answers beside the keys of a part whose answers have their order.
struct IndexPartition::InOrder {
  uint64_t* values_out;
  KeyState* states_out;
  uint64_t& value(uint32_t i) const { return values_out[i]; }
  KeyState& state(uint32_t i) const { return states_out[i]; }
};

struct IndexPartition::Gathered {
  uint32_t count = 0;
  uint64_t keys[kFindGroupMax];
  uint64_t values_in[kFindGroupMax];
  uint64_t* values_out[kFindGroupMax];
  KeyState* states_out[kFindGroupMax];
  uint64_t& value(uint32_t i) const { return *values_out[i]; }
  KeyState& state(uint32_t i) const { return *states_out[i]; }
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
  KeyState& state = part.state(0);
  ERIS_DCHECK(range().ContainsU64(key));
  if (operation == Operation::kLookup) {
    const uint64_t* const value = rows_.tree().Find(key);
    if (value != nullptr) part.answer(0) = *value;
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
  Gathered group;
  const auto run = [&] {
    RunGroup(batch.operation, {group.count, group.keys, group.values_in}, group);
    group.count = 0;
  };
  for (const BatchPart& part : batch.parts) {
    uint32_t i = 0;
    // Not if keys of parts before it wait: writes keep their order.
    if (part.positions == nullptr && group.count == 0) i = ExecuteInOrder(batch.operation, part);
    for (; i < part.count; ++i) {
      ERIS_DCHECK(range().ContainsU64(part.keys[i]));
      const uint32_t at = group.count++;
      const uint32_t position = part.At(i);
      group.keys[at] = part.keys[i];
      group.states_out[at] = part.states_out + position;
      part.FetchAnswer(i, batch.operation == Operation::kLookup);
      if (batch.operation == Operation::kLookup) group.values_out[at] = part.values_out + position;
      if (batch.operation == Operation::kUpsert) group.values_in[at] = part.values_in[i];
      if (group.count == kFindGroupMax) run();
    }
  }
  if (group.count > 0) run();
}

uint32_t IndexPartition::ExecuteInOrder(Operation operation, const BatchPart& part) {
  uint32_t done = 0;
  for (; part.count - done >= kFindGroupMax; done += kFindGroupMax) {
    const BatchPart piece = part.Piece(done, kFindGroupMax);
    RunGroup(operation, {piece.count, piece.keys, piece.values_in},
             InOrder{piece.values_out, piece.states_out});
  }
  return done;
}

template <class Answers>
void IndexPartition::RunGroup(Operation operation, const GroupKeys& group, const Answers& answers) {
  // For writes too: it brings the paths into the cache in parallel.
  uint64_t* found[kFindGroupMax];
  rows_.tree().FindGroup(
      group.keys, group.count, found,
      operation == Operation::kUpsert ? PrefixTree::Purpose::kInsert : PrefixTree::Purpose::kRead);
  switch (operation) {
    case Operation::kLookup:
      for (uint32_t i = 0; i < group.count; ++i) {
        if (found[i] != nullptr) answers.value(i) = *found[i];
        answers.state(i) = found[i] != nullptr ? KeyState::kPresent : KeyState::kAbsent;
      }
      break;
    case Operation::kUpsert:
      UpsertGroup(group, found, answers);
      break;
    case Operation::kErase:
      for (uint32_t i = 0; i < group.count; ++i) {
        // No operation in the group adds keys, so an absent key is still absent.
        const bool present = found[i] != nullptr && rows_.tree().Erase(group.keys[i]);
        answers.state(i) = present ? KeyState::kPresent : KeyState::kAbsent;
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
}

template <class Answers>
void IndexPartition::UpsertGroup(const GroupKeys& group, uint64_t** found, const Answers& answers) {
  // Locations stay valid until the first insert.
  bool found_valid = true;
  for (uint32_t i = 0; i < group.count; ++i) {
    if (found_valid && found[i] != nullptr) {
      *found[i] = group.values_in[i];
      answers.state(i) = KeyState::kPresent;
      continue;
    }
    const UpsertResult result = rows_.tree().Upsert(group.keys[i], group.values_in[i]);
    if (result == UpsertResult::kInserted) found_valid = false;
    answers.state(i) = StateOf(result);
  }
}

}  // namespace eris::storage
