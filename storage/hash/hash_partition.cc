#include "storage/hash/hash_partition.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/range_ops.h"
#include "storage/scan_budget.h"
#include "storage/tree/tree_scanner.h"

namespace eris::storage {

// Keys that are executed together, gathered from one or several parts.
struct HashPartition::Group {
  uint32_t count = 0;
  uint64_t keys[kHashGroupMax];
  uint64_t values_in[kHashGroupMax];
  uint64_t* values_out[kHashGroupMax];
  KeyState* states_out[kHashGroupMax];
};

absl::StatusOr<std::unique_ptr<HashPartition>> HashPartition::Create(const Range& range,
                                                                     memory::LocalCache& cache,
                                                                     uint64_t seed) {
  if (absl::Status status = CheckWidth(range); !status.ok()) return status;
  std::unique_ptr<HashPartition> partition(new (std::nothrow) HashPartition(range, cache, seed));
  if (partition == nullptr) return NoMemory("create a partition");
  return partition;
}

HashPartition::~HashPartition() {
  PrefixTree none(table_.cache());
  loan_.FreeAll(leaving_ == nullptr ? none : leaving_->rows);
}

uint64_t HashPartition::size() const { return table_.size() + prepared_rows(); }

void HashPartition::Abandon() {
  if (leaving_ != nullptr) leaving_->rows.Abandon();
  leaving_.reset();
  loan_.Abandon();
  table_.Abandon();
}

void HashPartition::Execute(const Batch& batch) {
  if (IsConditional(batch.operation)) return ExecuteConditional(batch);
  const Operation operation = batch.operation;
  Group group;
  for (const BatchPart& part : batch.parts) {
    uint32_t i = 0;
    if (operation == Operation::kLookup && leaving_ == nullptr && !table_.empty()) {
      for (; part.count - i >= kHashGroupMax; i += kHashGroupMax) LookupWholeGroup(part, i);
    }
    for (; i < part.count; ++i) {
      const uint64_t key = part.keys[i];
      ERIS_DCHECK(range_.ContainsU64(key));
      const uint32_t position = part.At(i);
      KeyState* const state_out = part.states_out + position;
      uint64_t* const value_out =
          operation == Operation::kLookup ? part.values_out + position : nullptr;
      const uint64_t value_in = operation == Operation::kUpsert ? part.values_in[i] : 0;
      if (IsLeaving(key)) [[unlikely]] {
        *state_out = ExecuteLeaving(operation, key, value_in, value_out);
        continue;
      }
      part.FetchAnswer(i, operation == Operation::kLookup);
      const uint32_t at = group.count++;
      group.keys[at] = key;
      group.values_in[at] = value_in;
      group.values_out[at] = value_out;
      group.states_out[at] = state_out;
      if (group.count == kHashGroupMax) Run(operation, group);
    }
  }
  Run(operation, group);
}

void HashPartition::Run(Operation operation, Group& group) {
  switch (operation) {
    case Operation::kLookup:
      RunLookups(group);
      break;
    case Operation::kUpsert:
      RunUpserts(group);
      break;
    case Operation::kErase:
      RunErases(group);
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

namespace {

// An absent key's element keeps its own value: no branch on the result.
void AnswerLookup(const uint64_t* value, uint32_t absent, uint64_t* value_out,
                  KeyState* state_out) {
  *value_out = *(absent != 0 ? value_out : value);
  *state_out = static_cast<KeyState>(static_cast<uint32_t>(KeyState::kPresent) - absent);
}
static_assert(static_cast<uint32_t>(KeyState::kPresent) ==
              static_cast<uint32_t>(KeyState::kAbsent) + 1);

}  // namespace

void HashPartition::LookupWholeGroup(const BatchPart& part, uint32_t begin) const {
  for (uint32_t i = 0; part.positions != nullptr && i < kHashGroupMax; ++i) {
    part.FetchAnswer(begin + i, true);
  }
  table_.SearchGroup(part.keys + begin, kHashGroupMax,
                     [&part, begin](uint32_t i, const uint64_t* value, uint32_t absent) {
                       AnswerLookup(value, absent, &part.answer(begin + i), &part.state(begin + i));
                     });
}

void HashPartition::RunLookups(const Group& group) const {
  if (table_.empty()) {
    for (uint32_t i = 0; i < group.count; ++i) *group.states_out[i] = KeyState::kAbsent;
    return;
  }
  table_.SearchGroup(group.keys, group.count,
                     [&group](uint32_t i, const uint64_t* value, uint32_t absent) {
                       AnswerLookup(value, absent, group.values_out[i], group.states_out[i]);
                     });
}

void HashPartition::RunUpserts(const Group& group) {
  uint64_t* found[kHashGroupMax];
  table_.FindGroup(group.keys, group.count, found);
  const uint64_t moves = table_.moves();
  for (uint32_t i = 0; i < group.count; ++i) {
    KeyState state = KeyState::kPresent;
    if (found[i] != nullptr && table_.moves() == moves) {
      *found[i] = group.values_in[i];
    } else {
      state = table_.Upsert(group.keys[i], group.values_in[i]);
    }
    *group.states_out[i] = state;
  }
}

void HashPartition::RunErases(const Group& group) {
  uint64_t hashes[kHashGroupMax];
  for (uint32_t i = 0; i < group.count; ++i) hashes[i] = table_.FetchToErase(group.keys[i]);
  for (uint32_t i = 0; i < group.count; ++i) {
    const bool present = table_.EraseHashed(hashes[i], group.keys[i]);
    *group.states_out[i] = present ? KeyState::kPresent : KeyState::kAbsent;
  }
}

}  // namespace eris::storage
