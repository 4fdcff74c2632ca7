#include "storage/version_table.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#include "base/check.h"
#include "storage/byte_value.h"
#include "storage/index_partition.h"
#include "storage/range_ops.h"
#include "storage/two_part_partition.h"

namespace eris::storage {
namespace {

constexpr uint64_t kLastWord = std::numeric_limits<uint64_t>::max();
// What a key costs in the tree of heads, about.
constexpr uint64_t kHeadBytes = 32;

constexpr std::array<uint32_t, VersionTable::kGroupMax> kPositions = [] {
  std::array<uint32_t, VersionTable::kGroupMax> positions{};
  for (uint32_t i = 0; i < VersionTable::kGroupMax; ++i) positions[i] = i;
  return positions;
}();

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

absl::StatusOr<std::unique_ptr<Partition>> VersionTable::NewHeads() const {
  if (two_parts_) return TwoPartPartition::Create(Range{}, *cache_);
  return IndexPartition::Create(Range{}, *cache_);
}

absl::StatusOr<std::unique_ptr<VersionTable>> VersionTable::Create(memory::LocalCache& cache,
                                                                   bool two_parts,
                                                                   bool byte_strings) {
  std::unique_ptr<VersionTable> table(new (std::nothrow)
                                          VersionTable(cache, two_parts, byte_strings));
  if (table == nullptr) return NoMemory("create a table of versions");
  absl::StatusOr<std::unique_ptr<Partition>> heads = table->NewHeads();
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
  void* const block = cache_->Allocate(sizeof(VersionRecord));
  if (block == nullptr) return nullptr;
  uint64_t value = old_value.value;
  if (byte_strings_ && old_value.present && !IsShort(value)) {
    const absl::string_view bytes = BytesOf(value);
    void* const copy = cache_->Allocate(BlockBytes(bytes.size()));
    if (copy == nullptr) {
      cache_->Free(block, sizeof(VersionRecord));
      return nullptr;
    }
    value = WriteRecord(copy, bytes);
  }
  auto* record = new (block) VersionRecord{nullptr, end << 1 | old_value.present, value};
  bytes_ += CostOf(*record);
  ++records_;
  ++added_since_pass_;
  newest_end_ = std::max(newest_end_, end);
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
                       .positions = kPositions.data(),
                       .values_out = words,
                       .states_out = states,
                       .seconds = group.seconds};
  heads_->Execute({.operation = Operation::kLookup, .parts = {&part, 1}});
  for (uint32_t i = 0; i < group.count; ++i) {
    newest[i] = states[i] == KeyState::kPresent ? RecordAt(words[i]) : nullptr;
  }
}

void VersionTable::Add(const KeyGroup& group, VersionRecord** newest, const OldValue* old_values,
                       uint64_t end, bool* kept) {
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
      head->older = record;
      continue;
    }
    keys[fresh] = group.keys[i];
    if (two_parts_) seconds[fresh] = group.seconds[i];
    words[fresh] = WordOf(record);
    index[fresh++] = i;
  }
  if (fresh == 0) return;
  uint64_t answers[kGroupMax];
  KeyState states[kGroupMax];
  const BatchPart part{.count = fresh,
                       .keys = keys,
                       .values_in = words,
                       .positions = kPositions.data(),
                       .values_out = answers,
                       .states_out = states,
                       .seconds = two_parts_ ? seconds : nullptr};
  heads_->Execute({.operation = Operation::kInsertIfAbsent, .parts = {&part, 1}});
  for (uint32_t i = 0; i < fresh; ++i) {
    if (states[i] == KeyState::kAbsent) {
      bytes_ += kHeadBytes;
      continue;
    }
    // No memory; or the key has got its record a moment ago, in this group.
    FreeRecord(RecordAt(words[i]));
    kept[index[i]] = states[i] == KeyState::kPresent;
  }
}

bool VersionTable::AddOldest(const Key& key, uint64_t end, const OldValue& old_value) {
  const KeyGroup group{1, &key.head, &key.tail};
  VersionRecord* newest = nullptr;
  Find(group, &newest);
  if (newest == nullptr) {
    bool kept = false;
    Add(group, &newest, &old_value, end, &kept);
    return kept;
  }
  VersionRecord* const record = NewRecord(end, old_value);
  if (record == nullptr) return false;
  while (newest->older != nullptr) newest = newest->older;
  newest->older = record;
  return true;
}

uint32_t VersionTable::Keys(const Range& range, ScanDirection direction, uint32_t keys_max,
                            KeptKey* out) const {
  ERIS_DCHECK(keys_max <= kGroupMax);
  if (Empty() || range.Empty()) return 0;
  uint64_t keys[kGroupMax];
  uint64_t seconds[kGroupMax];
  uint64_t words[kGroupMax];
  ScanCursor cursor{.rest = range};
  cursor.query.direction = direction;
  ScanRows rows{.keys = keys,
                .values = words,
                .capacity = keys_max,
                .seconds = two_parts_ ? seconds : nullptr};
  heads_->Scan(cursor, {}, rows);
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

VersionRecord* VersionTable::Trim(VersionRecord* newest, const SnapshotView& snapshots,
                                  uint32_t& looked) {
  // The newest one that is needed takes the place of the first, whose address the heads have.
  VersionRecord* last_kept = nullptr;
  for (VersionRecord* record = newest; record != nullptr;) {
    ++looked;
    VersionRecord* const older = record->older;
    // A snapshot that the view does not know begins at the view's epoch or later, and no record
    // ends later than that.
    if (snapshots.Needs(older == nullptr ? 0 : older->end(), record->end())) {
      if (last_kept == nullptr) {
        if (record != newest) std::swap(*newest, *record);
        last_kept = newest;
        last_kept->older = nullptr;
        if (record != newest) FreeRecord(record);
      } else {
        last_kept->older = record;
        last_kept = record;
        record->older = nullptr;
      }
    } else if (record != newest) {
      FreeRecord(record);
    }
    record = older;
  }
  if (last_kept == nullptr) FreeRecord(newest);
  return last_kept == nullptr ? nullptr : newest;
}

void VersionTable::EraseKeys(const KeptKey* keys, uint32_t count) {
  if (count == 0) return;
  uint64_t heads[kGroupMax];
  uint64_t seconds[kGroupMax];
  KeyState states[kGroupMax];
  for (uint32_t i = 0; i < count; ++i) {
    heads[i] = keys[i].key.head;
    seconds[i] = keys[i].key.tail;
  }
  const BatchPart part{.count = count,
                       .keys = heads,
                       .positions = kPositions.data(),
                       .states_out = states,
                       .seconds = two_parts_ ? seconds : nullptr};
  heads_->Execute({.operation = Operation::kErase, .parts = {&part, 1}});
  bytes_ -= std::min(bytes_, kHeadBytes * count);
  if (Empty()) bytes_ = records_ = 0;
}

bool VersionTable::PassWanted(const SnapshotView& snapshots) const {
  if (Empty()) return false;
  const uint64_t oldest = snapshots.active.empty() ? kLastWord : snapshots.active.front();
  // What a snapshot between others has left behind waits until it is worth a pass.
  return oldest != pass_oldest_ || added_since_pass_ > records_ / 4;
}

bool VersionTable::Free(const SnapshotView& snapshots, uint32_t records_max) {
  if (!pass_from_) {
    if (!PassWanted(snapshots)) return false;
    pass_from_ = Key{};
    pass_oldest_ = snapshots.active.empty() ? kLastWord : snapshots.active.front();
    added_since_pass_ = 0;
  }
  uint32_t looked = 0;
  while (looked < records_max) {
    KeptKey keys[kGroupMax];
    const uint32_t wanted = std::min(kGroupMax, records_max - looked);
    const uint32_t count = Keys({*pass_from_, std::nullopt}, ScanDirection::kForward, wanted, keys);
    const std::optional<Key> next =
        count < wanted ? std::nullopt : KeyAfter(keys[count - 1].key, two_parts_);
    uint32_t gone = 0;
    for (uint32_t i = 0; i < count; ++i) {
      auto* newest = const_cast<VersionRecord*>(keys[i].newest);
      if (Trim(newest, snapshots, looked) == nullptr) keys[gone++] = keys[i];
    }
    EraseKeys(keys, gone);
    pass_from_ = next;
    if (!next) return PassWanted(snapshots);
  }
  return true;
}

bool VersionTable::FreeRange(const Range& range, uint32_t records_max) {
  const SnapshotView nothing;
  KeptKey keys[kGroupMax];
  uint32_t looked = 0;
  while (looked < records_max) {
    const uint32_t wanted = std::min(kGroupMax, records_max - looked);
    const uint32_t count = Keys(range, ScanDirection::kForward, wanted, keys);
    if (count == 0) return false;
    for (uint32_t i = 0; i < count; ++i) {
      Trim(const_cast<VersionRecord*>(keys[i].newest), nothing, looked);
    }
    EraseKeys(keys, count);
  }
  return true;
}

void VersionTable::FreeAll() {
  if (heads_ != nullptr) FreeRange(Range{});
}

absl::Status VersionTable::Rehome(memory::LocalCache& cache) {
  if (absl::Status status = heads_->Rehome(cache); !status.ok()) return status;
  cache_ = &cache;
  return absl::OkStatus();
}

void VersionTable::Abandon() {
  heads_->Abandon();
  bytes_ = records_ = 0;
}

bool VersionTable::SplitAt(uint64_t key, VersionTable& upper) {
  ERIS_DCHECK(upper.Empty());
  if (Empty()) return true;
  const uint64_t keys = heads_->size();
  // Either side is a table of all keys again: the empty one gives both what they lack.
  absl::StatusOr<std::unique_ptr<Partition>> above = upper.heads_->SplitAt(Key::FromU64(key));
  if (!above.ok()) return false;
  absl::StatusOr<std::unique_ptr<Partition>> rows = heads_->SplitAt(Key::FromU64(key));
  if (!rows.ok()) {
    ERIS_CHECK(upper.heads_->Absorb(**above).ok());  // without a row it needs no memory
    return false;
  }
  ERIS_CHECK(heads_->Absorb(**above).ok());
  ERIS_CHECK((*rows)->Absorb(*upper.heads_).ok());
  upper.heads_ = *std::move(rows);
  upper.bytes_ = bytes_ * upper.heads_->size() / keys;
  upper.records_ = records_ * upper.heads_->size() / keys;
  upper.newest_end_ = newest_end_;
  bytes_ -= upper.bytes_;
  records_ -= upper.records_;
  if (Empty()) upper.bytes_ += std::exchange(bytes_, 0);
  pass_from_.reset();
  pass_oldest_ = 0;  // a pass is due on both sides
  return true;
}

bool VersionTable::Absorb(uint64_t key, VersionTable& upper) {
  if (Empty()) {
    heads_.swap(upper.heads_);
  } else if (!upper.Empty()) {
    absl::StatusOr<std::unique_ptr<Partition>> above = heads_->SplitAt(Key::FromU64(key));
    if (!above.ok()) return false;
    absl::StatusOr<std::unique_ptr<Partition>> rows = upper.heads_->SplitAt(Key::FromU64(key));
    const bool absorbed = rows.ok() && heads_->Absorb(**rows).ok();
    if (!absorbed) {
      if (rows.ok()) ERIS_CHECK(upper.heads_->Absorb(**rows).ok());  // which has no row
      ERIS_CHECK(heads_->Absorb(**above).ok());
      return false;
    }
    ERIS_CHECK(upper.heads_->Absorb(**above).ok());
  }
  bytes_ += std::exchange(upper.bytes_, 0);
  records_ += std::exchange(upper.records_, 0);
  newest_end_ = std::max(newest_end_, upper.newest_end_);
  pass_from_.reset();
  pass_oldest_ = 0;
  return true;
}

}  // namespace eris::storage
