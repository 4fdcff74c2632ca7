#include "storage/index/version_table.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#include "base/check.h"
#include "storage/byte_value.h"
#include "storage/index/index_partition.h"
#include "storage/index/two_part_partition.h"
#include "storage/range_ops.h"

namespace eris::storage {
namespace {

constexpr uint64_t kLastWord = std::numeric_limits<uint64_t>::max();
// What a key costs in the tree of heads, about.
constexpr uint64_t kHeadBytes = 32;

VersionRecord* RecordAt(uint64_t word) {
  return reinterpret_cast<VersionRecord*>(word);  // NOLINT: what the heads hold
}
uint64_t WordOf(const VersionRecord* record) { return reinterpret_cast<uint64_t>(record); }

}  // namespace

std::optional<Key> KeyAfter(const Key& key, bool two_parts) {
  if (two_parts && key.tail < kLastWord) return Key{key.head, key.tail + 1};
  if (key.head < kLastWord) return Key{key.head + 1, 0};
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<OrderedPartition>> VersionTable::NewHeads() const {
  if (two_parts_) return TwoPartPartition::Create(Range{}, *cache_);
  return IndexPartition::Create(Range{}, *cache_);
}

absl::StatusOr<std::unique_ptr<VersionTable>> VersionTable::Create(memory::LocalCache& cache,
                                                                   bool two_parts,
                                                                   bool byte_strings) {
  std::unique_ptr<VersionTable> table(new (std::nothrow)
                                          VersionTable(cache, two_parts, byte_strings));
  if (table == nullptr) return NoMemory("create a table of versions");
  absl::StatusOr<std::unique_ptr<OrderedPartition>> heads = table->NewHeads();
  if (!heads.ok()) return heads.status();
  table->heads_ = *std::move(heads);
  return table;
}

uint64_t VersionTable::CostOf(const VersionRecord& record) const {
  uint64_t cost = cache_->ClassBytes(sizeof(VersionRecord));
  if (byte_strings_ && record.present() && !IsShort(record.value)) {
    cost += cache_->ClassBytes(BlockBytes(BytesOf(record.value).size()));
  }
  return cost;
}

VersionRecord* VersionTable::NewRecord(uint64_t end, const OldValue& old_value) {
  if (byte_strings_ && old_value.present) return NewRecord(end, true, BytesOf(old_value.value));
  void* const block = cache_->Allocate(sizeof(VersionRecord));
  if (block == nullptr) return nullptr;
  return CountRecord(new (block)
                         VersionRecord{nullptr, end << 1 | old_value.present, old_value.value});
}

VersionRecord* VersionTable::NewRecord(uint64_t end, bool present, absl::string_view bytes) {
  void* const block = cache_->Allocate(sizeof(VersionRecord));
  if (block == nullptr) return nullptr;
  uint64_t value = 0;
  if (present && bytes.size() <= kShortBytesMax) {
    value = ShortWord(bytes);
  } else if (present) {
    void* const copy = cache_->Allocate(BlockBytes(bytes.size()));
    if (copy == nullptr) {
      cache_->Free(block, sizeof(VersionRecord));
      return nullptr;
    }
    value = WriteRecord(copy, bytes);
  }
  return CountRecord(new (block) VersionRecord{nullptr, end << 1 | present, value});
}

VersionRecord* VersionTable::CountRecord(VersionRecord* record) {
  bytes_ += CostOf(*record);
  ++records_;
  ++added_since_pass_;
  newest_end_ = std::max(newest_end_, record->end());
  return record;
}

void VersionTable::FreeRecord(VersionRecord* record) {
  bytes_ -= std::min(bytes_, CostOf(*record));
  records_ -= std::min<uint64_t>(records_, 1);
  if (byte_strings_ && record->present() && !IsShort(record->value)) {
    cache_->Free(RecordOf(record->value), BlockBytes(BytesOf(record->value).size()));
  }
  cache_->Free(record, sizeof(VersionRecord));
}

void VersionTable::Find(const KeyGroup& group, VersionRecord** newest) const {
  if (Empty()) {
    std::fill(newest, newest + group.count, nullptr);
    return;
  }
  uint64_t words[kGroupMax];
  KeyState states[kGroupMax];
  const BatchPart part{.count = group.count,
                       .keys = group.keys,
                       .values_out = words,
                       .states_out = states,
                       .seconds = group.seconds};
  heads_->Execute({.operation = Operation::kLookup, .parts = {&part, 1}});
  for (uint32_t i = 0; i < group.count; ++i) {
    newest[i] = states[i] == KeyState::kPresent ? RecordAt(words[i]) : nullptr;
  }
}

void VersionTable::Add(const KeyGroup& group, VersionRecord** newest, const OldValue* old_values,
                       const SnapshotView& snapshots, bool* kept) {
  const uint64_t end = snapshots.epoch;
  uint64_t keys[kGroupMax];
  uint64_t seconds[kGroupMax];
  uint64_t words[kGroupMax];
  uint32_t index[kGroupMax];
  uint32_t fresh = 0;  // keys without a record so far
  for (uint32_t i = 0; i < group.count; ++i) {
    kept[i] = true;
    if (!old_values[i].keep) continue;
    VersionRecord* const head = newest[i];
    if (head != nullptr && head->end() == end) continue;  // the key's second time in this group
    VersionRecord* const record = NewRecord(end, old_values[i]);
    kept[i] = record != nullptr;
    if (record == nullptr) continue;
    if (head != nullptr) {
      // The newest one stays where it is, so that the heads do not change.
      ERIS_DCHECK(head->end() < end);
      std::swap(*head, *record);
      VersionRecord* const older = record->older;
      if (snapshots.Needs(older == nullptr ? 0 : older->end(), record->end())) {
        head->older = record;
      } else {
        head->older = older;
        FreeRecord(record);
      }
      continue;
    }
    keys[fresh] = group.keys[i];
    if (two_parts_) seconds[fresh] = group.seconds[i];
    words[fresh] = WordOf(record);
    index[fresh++] = i;
  }
  if (fresh == 0) return;
  VersionRecord* there[kGroupMax];
  KeyState states[kGroupMax];
  InsertHeads({fresh, keys, two_parts_ ? seconds : nullptr}, words, there, states);
  for (uint32_t i = 0; i < fresh; ++i) {
    if (states[i] == KeyState::kAbsent) continue;
    // No memory; or the key has got its record a moment ago, in this group.
    FreeRecord(RecordAt(words[i]));
    kept[index[i]] = states[i] == KeyState::kPresent;
  }
}

void VersionTable::InsertHeads(const KeyGroup& group, const uint64_t* words, VersionRecord** there,
                               KeyState* states) {
  uint64_t answers[kGroupMax];
  const BatchPart part{.count = group.count,
                       .keys = group.keys,
                       .values_in = words,
                       .values_out = answers,
                       .states_out = states,
                       .seconds = group.seconds};
  heads_->Execute({.operation = Operation::kInsertIfAbsent, .parts = {&part, 1}});
  for (uint32_t i = 0; i < group.count; ++i) {
    if (states[i] == KeyState::kAbsent) bytes_ += kHeadBytes;
    there[i] = states[i] == KeyState::kPresent ? RecordAt(answers[i]) : nullptr;
  }
}

bool VersionTable::AddChains(const VersionColumns& versions) {
  uint64_t keys[kGroupMax];
  uint64_t seconds[kGroupMax];
  uint64_t words[kGroupMax];
  uint32_t count = 0;
  VersionRecord* last = nullptr;  // of the chain of the last key
  bool enough = true;             // memory
  const auto insert = [&] {
    VersionRecord* there[kGroupMax];
    KeyState states[kGroupMax];
    InsertHeads({count, keys, two_parts_ ? seconds : nullptr}, words, there, states);
    for (uint32_t i = 0; i < count; ++i) {
      if (there[i] != nullptr) {
        while (there[i]->older != nullptr) there[i] = there[i]->older;
        there[i]->older = RecordAt(words[i]);
      } else if (states[i] != KeyState::kAbsent) {
        uint64_t all = kAllRecords;
        FreeChain(RecordAt(words[i]), all);
        enough = false;
      }
    }
    count = 0;
  };
  for (size_t i = 0; i < versions.keys.size() && enough; ++i) {
    const uint64_t end = versions.ends[i] >> 1;
    const bool present = (versions.ends[i] & 1) != 0;
    VersionRecord* record = nullptr;
    if (!byte_strings_) {
      record = NewRecord(end, {.present = present, .value = versions.values[i]});
    } else {
      record = NewRecord(end, present,
                         {versions.bytes.data() + versions.offsets[i],
                          versions.offsets[i + 1] - versions.offsets[i]});
    }
    if (record == nullptr) {
      enough = false;
      break;
    }
    const uint64_t second = two_parts_ ? versions.seconds[i] : 0;
    if (count > 0 && keys[count - 1] == versions.keys[i] && seconds[count - 1] == second) {
      last->older = record;
    } else {
      if (count == kGroupMax) insert();
      keys[count] = versions.keys[i];
      seconds[count] = second;
      words[count++] = WordOf(record);
    }
    last = record;
  }
  if (count > 0) insert();
  return enough;
}

uint32_t VersionTable::Keys(const Range& range, ScanDirection direction, uint32_t keys_max,
                            KeptKey* out) const {
  return KeysOf(*heads_, range, direction, keys_max, out);
}

uint32_t VersionTable::KeysOf(OrderedPartition& heads, const Range& range, ScanDirection direction,
                              uint32_t keys_max, KeptKey* out) const {
  ERIS_DCHECK(keys_max <= kGroupMax);
  if (heads.size() == 0 || range.Empty()) return 0;
  uint64_t keys[kGroupMax];
  uint64_t seconds[kGroupMax];
  uint64_t words[kGroupMax];
  ScanCursor cursor{.rest = range};
  cursor.query.direction = direction;
  ScanRows rows{.keys = keys,
                .values = words,
                .capacity = keys_max,
                .seconds = two_parts_ ? seconds : nullptr};
  heads.Scan(cursor, {}, rows);
  for (uint32_t i = 0; i < rows.rows; ++i) {
    out[i] = {{keys[i], two_parts_ ? seconds[i] : 0}, RecordAt(words[i])};
  }
  return rows.rows;
}

const VersionRecord* VersionTable::At(const VersionRecord* newest, uint64_t snapshot) {
  const VersionRecord* found = nullptr;
  for (; newest != nullptr && newest->end() > snapshot; newest = newest->older) found = newest;
  return found;
}

void VersionTable::EraseKeys(OrderedPartition& heads, const KeptKey* keys, uint32_t count) {
  if (count == 0) return;
  uint64_t firsts[kGroupMax];
  uint64_t seconds[kGroupMax];
  KeyState states[kGroupMax];
  for (uint32_t i = 0; i < count; ++i) {
    firsts[i] = keys[i].key.head;
    seconds[i] = keys[i].key.tail;
  }
  const BatchPart part{.count = count,
                       .keys = firsts,
                       .states_out = states,
                       .seconds = two_parts_ ? seconds : nullptr};
  heads.Execute({.operation = Operation::kErase, .parts = {&part, 1}});
  bytes_ -= std::min(bytes_, kHeadBytes * count);
  if (Empty() && DetachedKeys() == 0) bytes_ = records_ = 0;
}

}  // namespace eris::storage
