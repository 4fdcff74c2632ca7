#include "storage/index/two_part_partition.h"

#include <new>

#include "base/check.h"
#include "storage/conditional_write.h"
#include "storage/range_ops.h"

namespace eris::storage {
namespace {

constexpr bool MayInsert(Operation operation) {
  return operation == Operation::kUpsert || operation == Operation::kInsertIfAbsent ||
         operation == Operation::kAdd;
}

ConditionalWrite DecideWrite(Operation operation, const uint64_t* value, const BatchPart& part,
                             uint32_t index) {
  if (operation != Operation::kUpsert) return Decide(operation, value, part, index);
  return {.stores = true,
          .stored = part.values_in[index],
          .state = value == nullptr ? KeyState::kAbsent : KeyState::kPresent};
}

}  // namespace

// Keys that are executed together, gathered from one or several parts, and the words of their
// groups.
struct TwoPartPartition::Gathered {
  uint32_t count = 0;
  uint64_t firsts[kFindGroupMax];
  uint64_t seconds[kFindGroupMax];
  const BatchPart* parts[kFindGroupMax];
  uint32_t indices[kFindGroupMax];
  uint64_t* words[kFindGroupMax];   // nullptr: the first part is absent
  uint64_t* values[kFindGroupMax];  // of present rows

  KeyState& state(uint32_t i) const { return parts[i]->state(indices[i]); }

  // The end of the keys from `i` on that have the same first part and ascend: the usual case when
  // rows are loaded in order.
  uint32_t EndOfRun(uint32_t i) const {
    uint32_t end = i + 1;
    while (end < count && firsts[end] == firsts[i] && seconds[end] > seconds[end - 1]) ++end;
    return end;
  }
  // Second stage of prefetching: the groups, after their words. Groups that are trees are searched
  // in parallel, even if they are different trees.
  void FindGroups(bool to_write);
  void FindInBlocks();
};

void TwoPartPartition::Gathered::FindGroups(bool to_write) {
  TreeRef roots[kFindGroupMax];
  uint64_t tree_seconds[kFindGroupMax];
  uint64_t* tree_values[kFindGroupMax];
  uint8_t in_tree[kFindGroupMax];
  static_assert(kFindGroupMax <= 256);
  uint32_t trees = 0;
  for (uint32_t i = 0; i < count; ++i) {
    values[i] = nullptr;
    if (words[i] == nullptr) continue;
    const TwoPartGroup group(*words[i]);
    if (group.IsBlock()) {
      group.PrefetchBlock(to_write);
    } else {
      roots[trees] = group.root();
      tree_seconds[trees] = seconds[i];
      in_tree[trees++] = static_cast<uint8_t>(i);
    }
  }
  if (trees == 0) return;
  PrefixTree::FindInTrees(roots, tree_seconds, trees, tree_values,
                          to_write ? PrefixTree::Purpose::kInsert : PrefixTree::Purpose::kRead);
  for (uint32_t j = 0; j < trees; ++j) values[in_tree[j]] = tree_values[j];
}

absl::StatusOr<std::unique_ptr<TwoPartPartition>> TwoPartPartition::Create(
    const Range& range, memory::LocalCache& cache) {
  if (absl::Status status = CheckWidth(range); !status.ok()) return status;
  std::unique_ptr<TwoPartPartition> partition(new (std::nothrow) TwoPartPartition(range, cache));
  if (partition == nullptr) return NoMemory("create a partition");
  return partition;
}

void TwoPartPartition::Execute(const Batch& batch) {
  if (batch.operation == Operation::kLookup && batch.parts.size() == 1 &&
      batch.parts[0].count == 1) {
    return LookupOne(batch.parts[0]);
  }
  Gathered keys;
  for (const BatchPart& part : batch.parts) {
    ERIS_DCHECK(part.count == 0 || part.seconds != nullptr);
    for (uint32_t i = 0; i < part.count; ++i) {
      ERIS_DCHECK(range().ContainsU64(part.keys[i]));
      part.FetchAnswer(i, part.values_out != nullptr);
      keys.firsts[keys.count] = part.keys[i];
      keys.seconds[keys.count] = part.seconds[i];
      keys.parts[keys.count] = &part;
      keys.indices[keys.count++] = i;
      if (keys.count == kFindGroupMax) RunGathered(batch.operation, keys);
    }
  }
  if (keys.count > 0) RunGathered(batch.operation, keys);
}

// Without the bookkeeping of a group, which takes as long as a cache miss.
void TwoPartPartition::LookupOne(const BatchPart& part) {
  ERIS_DCHECK(range().ContainsU64(part.keys[0]));
  const uint64_t* const word = firsts_.tree().Find(part.keys[0]);
  const uint64_t* const value =
      word != nullptr ? FindRow(cache(), *word, part.seconds[0]) : nullptr;
  if (value != nullptr) part.answer(0) = *value;
  part.state(0) = value != nullptr ? KeyState::kPresent : KeyState::kAbsent;
}

void TwoPartPartition::RunGathered(Operation operation, Gathered& keys) {
  firsts_.tree().FindGroup(
      keys.firsts, keys.count, keys.words,
      MayInsert(operation) ? PrefixTree::Purpose::kInsert : PrefixTree::Purpose::kRead);
  keys.FindGroups(operation == Operation::kErase || MayInsert(operation));
  if (operation == Operation::kLookup) {
    Lookup(keys);
  } else if (operation == Operation::kErase) {
    Erase(keys);
  } else {
    Write(operation, keys);
  }
  keys.count = 0;
}

void TwoPartPartition::Gathered::FindInBlocks() {
  for (uint32_t i = 0; i < count; ++i) {
    if (words[i] == nullptr) continue;
    const TwoPartGroup group(*words[i]);
    if (!group.IsBlock()) continue;
    values[i] = group.FindInBlock(seconds[i]);
    if (!group.IsSmallBlock()) __builtin_prefetch(values[i]);
  }
}

void TwoPartPartition::Lookup(Gathered& keys) {
  keys.FindInBlocks();
  for (uint32_t i = 0; i < keys.count; ++i) {
    const uint64_t* const value = keys.values[i];
    const BatchPart& part = *keys.parts[i];
    if (value != nullptr) part.answer(keys.indices[i]) = *value;
    keys.state(i) = value != nullptr ? KeyState::kPresent : KeyState::kAbsent;
  }
}

void TwoPartPartition::Erase(Gathered& keys) {
  // Words stay in place while groups shrink, even those that become 0. Their first parts are
  // removed after all keys have been processed.
  bool emptied[kFindGroupMax];
  for (uint32_t i = 0; i < keys.count; ++i) {
    uint64_t* const word = keys.words[i];
    const bool present = word != nullptr && *word != 0 && EraseRow(cache(), *word, keys.seconds[i]);
    emptied[i] = present && *word == 0;
    if (present && !emptied[i]) firsts_.tree().Reweigh(keys.firsts[i], -1);
    keys.state(i) = present ? KeyState::kPresent : KeyState::kAbsent;
  }
  for (uint32_t i = 0; i < keys.count; ++i) {
    if (emptied[i]) firsts_.tree().Erase(keys.firsts[i]);
  }
}

void TwoPartPartition::Write(Operation operation, Gathered& keys) {
  // Keys with an existing first part come first: until a new one is inserted the words stay in
  // place. All keys of one first part were found or none, so each row's order is kept.
  keys.FindInBlocks();
  bool found_valid = true;  // locations stay valid until a row is added
  for (uint32_t i = 0; i < keys.count; ++i) {
    uint64_t* const word = keys.words[i];
    if (word == nullptr) continue;
    uint64_t* const value = found_valid ? keys.values[i] : FindRow(cache(), *word, keys.seconds[i]);
    if (WriteRow(operation, keys, i, word, value)) found_valid = false;
  }
  for (uint32_t i = 0; i < keys.count;) {
    i += keys.words[i] == nullptr ? WriteNewFirst(operation, keys, i) : 1;
  }
}

bool TwoPartPartition::WriteRow(Operation operation, Gathered& keys, uint32_t i, uint64_t* word,
                                uint64_t* value) {
  const BatchPart& part = *keys.parts[i];
  ConditionalWrite write = DecideWrite(operation, value, part, keys.indices[i]);
  bool added = false;
  if (write.stores && value != nullptr) {
    *value = write.stored;
  } else if (write.stores) {
    added = word != nullptr && AddRow(cache(), *word, keys.seconds[i], write.stored);
    if (added) {
      firsts_.tree().Reweigh(keys.firsts[i], 1);
    } else {
      write.Refuse();
    }
  }
  write.Answer(part, keys.indices[i]);
  return added;
}

uint32_t TwoPartPartition::WriteNewFirst(Operation operation, Gathered& keys, uint32_t i) {
  uint64_t* there = nullptr;  // an earlier key of the batch may have inserted it
  if (MayInsert(operation)) {
    const uint32_t rows = keys.EndOfRun(i) - i;
    if (InsertGroup(operation, keys, i, rows, there)) return rows;
    // If a group of several rows was refused, there may be memory for one.
    if (there == nullptr && rows > 1 && InsertGroup(operation, keys, i, 1, there)) return 1;
  }
  uint64_t* const value = there == nullptr ? nullptr : FindRow(cache(), *there, keys.seconds[i]);
  WriteRow(operation, keys, i, there, value);
  return 1;
}

bool TwoPartPartition::InsertGroup(Operation operation, Gathered& keys, uint32_t i, uint32_t rows,
                                   uint64_t*& there) {
  const auto decide = [&](uint32_t row) {
    return DecideWrite(operation, nullptr, *keys.parts[i + row], keys.indices[i + row]);
  };
  uint64_t values[kFindGroupMax];
  for (uint32_t row = 0; row < rows; ++row) values[row] = decide(row).stored;
  const uint64_t word = NewGroup(cache(), &keys.seconds[i], values, rows);
  if (word == 0) {
    firsts_.tree().FindGroup(&keys.firsts[i], 1, &there);
    return false;
  }
  if (!firsts_.tree().InsertIfAbsent(keys.firsts[i], word, there) || there != nullptr) {
    FreeGroup(cache(), word);
    return false;
  }
  if (rows > 1) firsts_.tree().Reweigh(keys.firsts[i], rows - 1);
  for (uint32_t row = 0; row < rows; ++row) {
    decide(row).Answer(*keys.parts[i + row], keys.indices[i + row]);
  }
  return true;
}

}  // namespace eris::storage
