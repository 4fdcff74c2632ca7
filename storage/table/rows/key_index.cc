#include "storage/table/rows/key_index.h"

#include <array>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "storage/index/two_part_partition.h"

namespace eris::storage {
KeyIndex::KeyIndex(std::unique_ptr<OrderedPartition> rows, bool two_words)
    : rows_(std::move(rows)), two_words_(two_words) {
  if (!two_words_) one_word_ = static_cast<IndexPartition*>(rows_.get());
}

absl::StatusOr<KeyIndex> KeyIndex::Create(memory::LocalCache& cache, bool two_words) {
  if (two_words) {
    auto rows = TwoPartPartition::Create(Range{}, cache);
    if (!rows.ok()) return rows.status();
    return KeyIndex(*std::move(rows), true);
  }
  auto rows = IndexPartition::Create(Range{}, cache);
  if (!rows.ok()) return rows.status();
  return KeyIndex(*std::move(rows), false);
}

void KeyIndex::Run(Operation operation, const KeyPick& keys, const uint64_t* in, uint64_t* out,
                   KeyState* states) {
  ERIS_DCHECK(keys.count <= kPieceRows);
  if (keys.count == 0) return;
  const BatchPart part{.count = keys.count,
                       .keys = keys.heads,
                       .values_in = in,
                       .values_out = out,
                       .states_out = states,
                       .seconds = two_words_ ? keys.tails : nullptr};
  rows_->Execute(Batch{.operation = operation, .parts = {&part, 1}});
}

void KeyIndex::Find(const KeyPick& keys, uint64_t* words, KeyState* states) {
  Run(Operation::kLookup, keys, nullptr, words, states);
}

void KeyIndex::InsertIfAbsent(const KeyPick& keys, const uint64_t* words, uint64_t* there,
                              KeyState* states) {
  if (two_words_) return Run(Operation::kInsertIfAbsent, keys, words, there, states);
  // Keys are first searched in parallel, which brings the paths into the cache, then one by one: an
  // insert may move locations, and keys may occur twice.
  PrefixTree& tree = one_word_->tree();
  for (uint32_t begin = 0; begin < keys.count; begin += kFindGroupMax) {
    const uint32_t count = std::min(keys.count - begin, kFindGroupMax);
    uint64_t* found[kFindGroupMax];
    tree.FindGroup(keys.heads + begin, count, found, PrefixTree::Purpose::kInsert);
    for (uint32_t i = begin; i < begin + count; ++i) {
      uint64_t* at = nullptr;
      if (!tree.InsertIfAbsent(keys.heads[i], words[i], at)) {
        states[i] = KeyState::kNoMemory;
      } else if (at != nullptr) {
        there[i] = *at;
        states[i] = KeyState::kPresent;
      } else {
        states[i] = KeyState::kAbsent;
      }
    }
  }
}

void KeyIndex::Point(const KeyPick& keys, const uint64_t* words) {
  KeyState states[kPieceRows];
  Run(Operation::kUpsert, keys, words, nullptr, states);
  for (uint32_t i = 0; i < keys.count; ++i) ERIS_CHECK(states[i] == KeyState::kPresent);
}

void KeyIndex::Erase(const KeyPick& keys, KeyState* states) {
  Run(Operation::kErase, keys, nullptr, nullptr, states);
}

}  // namespace eris::storage
