#include "storage/index_partition.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/range_ops.h"
#include "storage/tree_scanner.h"

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

// Keys that run together, gathered from one or several parts.
struct IndexPartition::Group {
  uint32_t count = 0;
  uint64_t keys[kFindGroupMax];
  uint64_t values_in[kFindGroupMax];
  uint64_t* values_out[kFindGroupMax];
  KeyState* states_out[kFindGroupMax];
};

absl::StatusOr<std::unique_ptr<IndexPartition>> IndexPartition::Create(const Range& range,
                                                                       memory::LocalCache& cache) {
  if (absl::Status status = CheckWidth(range); !status.ok()) return status;
  std::unique_ptr<IndexPartition> partition(new (std::nothrow) IndexPartition(range, cache));
  if (partition == nullptr) return NoMemory("create a partition");
  return partition;
}

// A group of one would pay for the group's bookkeeping, which is as long as a cache miss. The fewer
// instructions, the more of the next key's misses overlap with this one's.
inline void IndexPartition::ExecuteOne(Operation operation, const BatchPart& part) {
  const uint64_t key = part.keys[0];
  KeyState& state = part.states_out[part.positions[0]];
  ERIS_DCHECK(range_.ContainsU64(key));
  if (operation == Operation::kLookup) {
    const uint64_t* const value = tree_.Find(key);
    if (value != nullptr) part.values_out[part.positions[0]] = *value;
    state = value != nullptr ? KeyState::kPresent : KeyState::kAbsent;
  } else if (operation == Operation::kUpsert) {
    state = StateOf(tree_.Upsert(key, part.values_in[0]));
  } else {
    state = tree_.Erase(key) ? KeyState::kPresent : KeyState::kAbsent;
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
      ERIS_DCHECK(range_.ContainsU64(part.keys[i]));
      const uint32_t at = group.count++;
      const uint32_t position = part.positions[i];
      group.keys[at] = part.keys[i];
      group.states_out[at] = part.states_out + position;
      // The request's columns lie in another core's cache: they come while the tree is searched.
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
  // For writes, too: it brings the paths into the cache side by side.
  uint64_t* found[kFindGroupMax];
  tree_.FindGroup(
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
        // Nothing in the group adds keys, so one that was not found cannot have come since.
        const bool present = found[i] != nullptr && tree_.Erase(group.keys[i]);
        *group.states_out[i] = present ? KeyState::kPresent : KeyState::kAbsent;
      }
      break;
    case Operation::kInsertIfAbsent:
    case Operation::kReplaceIfPresent:
    case Operation::kCompareAndSet:
    case Operation::kAdd:
    case Operation::kPutRows:
    case Operation::kLookupRows:
      ERIS_CHECK(false);  // Execute has sent them elsewhere, or no session sends them
      break;
  }
  group.count = 0;
}

void IndexPartition::UpsertGroup(Group& group, uint64_t** found) {
  // What was found stays where it is until the first insert.
  bool found_valid = true;
  for (uint32_t i = 0; i < group.count; ++i) {
    if (found_valid && found[i] != nullptr) {
      *found[i] = group.values_in[i];
      *group.states_out[i] = KeyState::kPresent;
      continue;
    }
    const UpsertResult result = tree_.Upsert(group.keys[i], group.values_in[i]);
    if (result == UpsertResult::kInserted) found_valid = false;
    *group.states_out[i] = StateOf(result);
  }
}

absl::StatusOr<std::unique_ptr<Partition>> IndexPartition::SplitAt(const Key& key) {
  if (absl::Status status = CheckWidth(key); !status.ok()) return status;
  if (key <= range_.lo || !range_.Contains(key)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot split ", Text(range_), " at ", key.head));
  }
  absl::StatusOr<std::unique_ptr<IndexPartition>> upper =
      Create(Range{key, range_.hi}, tree_.cache());
  if (!upper.ok()) return upper.status();
  if (!tree_.SplitAt(key.head, (*upper)->tree_)) return NoMemory("split a partition");
  range_.hi = key;
  return std::unique_ptr<Partition>(*std::move(upper));
}

absl::Status IndexPartition::Absorb(Partition& other) {
  auto* index = dynamic_cast<IndexPartition*>(&other);
  if (index == nullptr) return absl::InvalidArgumentError("not a partition of an index");
  if (index == this) return absl::InvalidArgumentError("a partition cannot absorb itself");
  if (!Adjacent(index->range_, range_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(index->range_), " is not adjacent to ", Text(range_)));
  }
  if (&index->tree_.cache() != &tree_.cache()) {
    return absl::InvalidArgumentError("the partitions have different caches");
  }
  if (!tree_.Absorb(index->tree_)) return NoMemory("absorb a partition");
  Widen(range_, index->range_);
  MakeEmpty(index->range_);
  return absl::OkStatus();
}

absl::Status IndexPartition::PrepareExtract(const Range& leaving) {
  if (leaving.lo == range_.lo && !leaving.Empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the rows of an index leave from the low end of ", Text(range_), ", not as ", Text(leaving)));
}

absl::Status IndexPartition::Extract(uint32_t rows_max, ExchangeChunk& out) {
  ExchangeChunk chunk;
  const uint64_t rows = std::min<uint64_t>(rows_max, size());
  try {  // the copy stands on the general heap, whose only word for "no" is an exception
    chunk.keys.resize(rows);
    chunk.values.resize(rows);
  } catch (const std::bad_alloc&) {
    return NoMemory(absl::StrCat("extract ", rows, " rows"));
  }
  TreeScanner scanner(tree_, 0);
  scanner.Read(std::numeric_limits<uint64_t>::max(), chunk.keys.data(), chunk.values.data(),
               static_cast<uint32_t>(rows));
  chunk.covers = range_;
  if (rows == size()) {
    tree_.Clear();
    MakeEmpty(range_);
  } else {
    // More rows follow, so the last one of the chunk is not the last key there is.
    const uint64_t cut = rows == 0 ? range_.lo.head : chunk.keys.back() + 1;
    DropBelow(cut, chunk.keys);
    chunk.covers.hi = Key::FromU64(cut);
    range_.lo = Key::FromU64(cut);
  }
  out = std::move(chunk);
  return absl::OkStatus();
}

void IndexPartition::DropBelow(uint64_t cut, const std::vector<uint64_t>& keys) {
  PrefixTree rest(tree_.cache());
  if (tree_.SplitAt(cut, rest)) {
    tree_.Swap(rest);  // the end of `rest` frees the rows
  } else {
    for (const uint64_t key : keys) tree_.Erase(key);
  }
}

absl::Status IndexPartition::Ingest(const ExchangeChunk& chunk) {
  if (absl::Status status = CheckChunk(chunk); !status.ok()) return status;
  if (!Adjacent(chunk.covers, range_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk ", Text(chunk.covers), " is not adjacent to ", Text(range_)));
  }
  PrefixTree rows(tree_.cache());
  if (!rows.Build(chunk.keys.data(), chunk.values.data(), chunk.keys.size()) ||
      !tree_.Absorb(rows)) {
    return NoMemory(absl::StrCat("ingest ", chunk.keys.size(), " rows"));
  }
  Widen(range_, chunk.covers);
  return absl::OkStatus();
}

}  // namespace eris::storage
