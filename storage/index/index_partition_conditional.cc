// IndexPartition's conditional writes. The keys of a group are searched in parallel, as for every
// operation. A key is searched again, by itself, once an insert may have invalidated its location.
// Each key sees the effect of the keys before it in the batch.
#include <cstdint>

#include "base/check.h"
#include "storage/conditional_write.h"
#include "storage/index/index_partition.h"

namespace eris::storage {

// Keys that are executed together, gathered from one or several parts.
struct IndexPartition::ConditionalGroup {
  struct From {
    const BatchPart* part;
    uint32_t index;
  };
  uint32_t count = 0;
  uint64_t keys[kFindGroupMax];
  From from[kFindGroupMax];
};

void IndexPartition::ExecuteConditional(const Batch& batch) {
  ConditionalGroup group;
  for (const BatchPart& part : batch.parts) {
    for (uint32_t i = 0; i < part.count; ++i) {
      ERIS_DCHECK(range().ContainsU64(part.keys[i]));
      part.FetchAnswer(i, true);
      group.keys[group.count] = part.keys[i];
      group.from[group.count++] = {&part, i};
      if (group.count == kFindGroupMax) RunConditional(batch.operation, group);
    }
  }
  if (group.count > 0) RunConditional(batch.operation, group);
}

void IndexPartition::RunConditional(Operation operation, ConditionalGroup& group) {
  uint64_t* found[kFindGroupMax];
  const bool inserts = operation == Operation::kInsertIfAbsent || operation == Operation::kAdd;
  rows_.tree().FindGroup(group.keys, group.count, found,
                         inserts ? PrefixTree::Purpose::kInsert : PrefixTree::Purpose::kRead);
  bool found_valid = true;
  for (uint32_t i = 0; i < group.count; ++i) {
    if (!found_valid) rows_.tree().FindGroup(&group.keys[i], 1, &found[i]);
    const BatchPart& part = *group.from[i].part;
    const uint32_t index = group.from[i].index;
    ConditionalWrite write = Decide(operation, found[i], part, index);
    if (write.stores && found[i] != nullptr) {
      *found[i] = write.stored;
    } else if (write.stores) {
      found_valid = false;
      if (rows_.tree().Upsert(group.keys[i], write.stored) == UpsertResult::kNoMemory)
        write.Refuse();
    }
    write.Answer(part, index);
  }
  group.count = 0;
}

}  // namespace eris::storage
