// HashPartition's conditional writes. The buckets of a group are fetched in parallel. Then each key
// is decided in the order of the batch, so that it sees the effect of the keys before it.
#include <cstdint>

#include "base/check.h"
#include "storage/conditional_write.h"
#include "storage/hash/hash_partition.h"

namespace eris::storage {

// Keys that are executed together, gathered from one or several parts.
struct HashPartition::ConditionalGroup {
  struct From {
    const BatchPart* part;
    uint32_t index;
  };
  uint32_t count = 0;
  uint64_t keys[kHashGroupMax];
  From from[kHashGroupMax];
};

void HashPartition::ExecuteConditional(const Batch& batch) {
  ConditionalGroup group;
  for (const BatchPart& part : batch.parts) {
    for (uint32_t i = 0; i < part.count; ++i) {
      ERIS_DCHECK(range_.ContainsU64(part.keys[i]));
      if (IsLeaving(part.keys[i])) [[unlikely]] {
        WriteLeaving(batch.operation, part, i);
        continue;
      }
      part.FetchAnswer(i, true);
      group.keys[group.count] = part.keys[i];
      group.from[group.count++] = {&part, i};
      if (group.count == kHashGroupMax) RunConditional(batch.operation, group);
    }
  }
  RunConditional(batch.operation, group);
}

void HashPartition::RunConditional(Operation operation, ConditionalGroup& group) {
  uint64_t* found[kHashGroupMax];
  table_.FindGroup(group.keys, group.count, found);
  const uint64_t moves = table_.moves();
  bool inserted = false;
  for (uint32_t i = 0; i < group.count; ++i) {
    const auto [part, index] = group.from[i];
    const uint64_t key = group.keys[i];
    // An absent key may have been inserted since, and a present one may have moved.
    const bool stale = table_.moves() != moves || (inserted && found[i] == nullptr);
    uint64_t* const value = stale ? table_.Find(key) : found[i];
    ConditionalWrite write = Decide(operation, value, *part, index);
    if (write.stores && value != nullptr) {
      *value = write.stored;
    } else if (write.stores) {
      inserted = true;
      if (table_.Upsert(key, write.stored) == KeyState::kNoMemory) write.Refuse();
    }
    write.Answer(*part, index);
  }
  group.count = 0;
}

void HashPartition::WriteLeaving(Operation operation, const BatchPart& part, uint32_t index) {
  const uint64_t key = part.keys[index];
  uint64_t* const value = FindLeaving(key);
  ConditionalWrite write = Decide(operation, value, part, index);
  if (write.stores && value != nullptr) {
    *value = write.stored;
  } else if (write.stores && !InsertLeaving(key, write.stored)) {
    write.Refuse();
  }
  write.Answer(part, index);
}

}  // namespace eris::storage
