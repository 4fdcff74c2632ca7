// IndexPartition's conditional writes. The keys of a group are looked for side by side, as for
// every operation; a key is looked for again by itself once an insert may have moved what was
// found. Each key sees what the keys before it in the batch have made of it.
#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "storage/conditional_write.h"
#include "storage/index_partition.h"

namespace eris::storage {

void IndexPartition::ExecuteConditional(const Batch& batch) {
  switch (batch.operation) {
    case Operation::kInsertIfAbsent:
      return WriteParts(batch.parts, [](const uint64_t* value, const BatchPart& part, uint32_t i) {
        return InsertIfAbsent(value, part.values_in[i]);
      });
    case Operation::kReplaceIfPresent:
      return WriteParts(batch.parts, [](const uint64_t* value, const BatchPart& part, uint32_t i) {
        return ReplaceIfPresent(value, part.values_in[i]);
      });
    case Operation::kCompareAndSet:
      return WriteParts(batch.parts, [](const uint64_t* value, const BatchPart& part, uint32_t i) {
        return CompareAndSet(value, part.values_in[i], part.expected[i]);
      });
    case Operation::kAdd:
      return WriteParts(batch.parts, [](const uint64_t* value, const BatchPart& part, uint32_t i) {
        return Add(value, part.values_in[i]);
      });
    case Operation::kLookup:
    case Operation::kUpsert:
    case Operation::kErase:
      break;
  }
  ERIS_CHECK(false);  // Execute runs these
}

template <class Rule>
void IndexPartition::WriteParts(std::span<const BatchPart> parts, Rule rule) {
  // Gathered over the parts, so that many small commands run as fast as a large one.
  struct Gathered {
    const BatchPart* part;
    uint32_t index;
  };
  Gathered group[kFindGroupMax];
  uint64_t keys[kFindGroupMax];
  uint64_t* found[kFindGroupMax];
  uint32_t count = 0;
  const auto run = [&] {
    tree_.FindGroup(keys, count, found);
    bool found_valid = true;
    for (uint32_t i = 0; i < count; ++i) {
      if (!found_valid) tree_.FindGroup(&keys[i], 1, &found[i]);
      const BatchPart& part = *group[i].part;
      ConditionalWrite write = rule(found[i], part, group[i].index);
      if (write.stores && found[i] != nullptr) {
        *found[i] = write.stored;
      } else if (write.stores) {
        found_valid = false;
        if (tree_.Upsert(keys[i], write.stored) == UpsertResult::kNoMemory) {
          write.state = KeyState::kNoMemory;
          write.answers = false;
        }
      }
      const uint32_t position = part.positions[group[i].index];
      if (write.answers) part.values_out[position] = write.answer;
      part.states_out[position] = write.state;
    }
    count = 0;
  };
  for (const BatchPart& part : parts) {
    for (uint32_t i = 0; i < part.count; ++i) {
      ERIS_DCHECK(range_.ContainsU64(part.keys[i]));
      // The request's columns lie in another core's cache: they come while the tree is searched.
      __builtin_prefetch(part.states_out + part.positions[i], 1);
      __builtin_prefetch(part.values_out + part.positions[i], 1);
      keys[count] = part.keys[i];
      group[count++] = {&part, i};
      if (count == kFindGroupMax) run();
    }
  }
  if (count > 0) run();
}

}  // namespace eris::storage
