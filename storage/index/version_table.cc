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

uint64_t VersionTable::WeightOf(const VersionRecord& record) const {
  if (!byte_strings_ || !record.present() || IsShort(record.value)) return 1;
  return 1 + BytesOf(record.value).size() / kBytesPerRecord;
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
                       .positions = kPositions.data(),
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

bool VersionTable::Trim(VersionRecord* newest, const SnapshotView& snapshots, uint64_t& left,
                        bool& none) {
  none = false;
  VersionRecord* last_kept = std::exchange(pass_at_, nullptr);
  VersionRecord* record = last_kept == nullptr ? newest : last_kept->older;
  while (record != nullptr) {
    if (left == 0) {
      pass_at_ = last_kept;
      return false;
    }
    left -= std::min(left, WeightOf(*record));
    VersionRecord* const older = record->older;
    // A snapshot that the view does not know begins at the view's epoch or later, and no record
    // ends later than that.
    if (snapshots.Needs(older == nullptr ? 0 : older->end(), record->end())) {
      last_kept = record;
      record = older;
    } else if (last_kept != nullptr) {
      last_kept->older = older;
      FreeRecord(record);
      record = older;
    } else if (older != nullptr) {
      // The next one takes the place of the newest, whose address the heads have.
      std::swap(*newest, *older);
      FreeRecord(older);
    } else {
      FreeRecord(newest);
      none = true;
      return true;
    }
  }
  return true;
}

bool VersionTable::FreeChain(VersionRecord* newest, uint64_t& left) {
  while (newest->older != nullptr && left > 0) {
    VersionRecord* const record = newest->older;
    newest->older = record->older;
    left -= std::min(left, WeightOf(*record));
    FreeRecord(record);
  }
  if (left == 0) return false;
  left -= std::min(left, WeightOf(*newest));
  FreeRecord(newest);
  return true;
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
                       .positions = kPositions.data(),
                       .states_out = states,
                       .seconds = two_parts_ ? seconds : nullptr};
  heads.Execute({.operation = Operation::kErase, .parts = {&part, 1}});
  bytes_ -= std::min(bytes_, kHeadBytes * count);
  if (Empty() && DetachedKeys() == 0) bytes_ = records_ = 0;
}

bool VersionTable::PassWanted(const SnapshotView& snapshots) const {
  if (Empty()) return false;
  const uint64_t oldest = snapshots.active.empty() ? kLastWord : snapshots.active.front();
  // What a snapshot between others has left behind waits until it is worth a pass.
  return oldest != pass_oldest_ || added_since_pass_ > records_ / 4;
}

bool VersionTable::Free(const SnapshotView& snapshots, uint32_t records_max) {
  uint64_t left = records_max;
  if (FreeDetachedPiece(left)) return true;
  if (!pass_from_) {
    if (!PassWanted(snapshots)) return false;
    pass_from_ = Key{};
    pass_at_ = nullptr;
    pass_oldest_ = snapshots.active.empty() ? kLastWord : snapshots.active.front();
    added_since_pass_ = 0;
  }
  while (left > 0) {
    KeptKey keys[kGroupMax];
    const auto wanted = static_cast<uint32_t>(std::min<uint64_t>(kGroupMax, left));
    const uint32_t count = Keys({*pass_from_, std::nullopt}, ScanDirection::kForward, wanted, keys);
    std::optional<Key> next =
        count < wanted ? std::nullopt : KeyAfter(keys[count - 1].key, two_parts_);
    uint32_t gone = 0;
    for (uint32_t i = 0; i < count; ++i) {
      bool none = false;
      if (left == 0 || !Trim(const_cast<VersionRecord*>(keys[i].newest), snapshots, left, none)) {
        next = keys[i].key;
        break;
      }
      if (none) keys[gone++] = keys[i];
    }
    EraseKeys(*heads_, keys, gone);
    pass_from_ = next;
    if (!next) return PassWanted(snapshots);
  }
  return true;
}

bool VersionTable::FreeKeys(OrderedPartition& heads, const Range& range, uint64_t& left) {
  KeptKey keys[kGroupMax];
  while (left > 0) {
    const auto wanted = static_cast<uint32_t>(std::min<uint64_t>(kGroupMax, left));
    const uint32_t count = KeysOf(heads, range, ScanDirection::kForward, wanted, keys);
    if (count == 0) return false;
    uint32_t gone = 0;
    while (gone < count && FreeChain(const_cast<VersionRecord*>(keys[gone].newest), left)) ++gone;
    EraseKeys(heads, keys, gone);
  }
  return true;
}

bool VersionTable::FreeRange(const Range& range, uint32_t records_max) {
  pass_at_ = nullptr;
  uint64_t left = records_max;
  return FreeKeys(*heads_, range, left);
}

bool VersionTable::Detach(const Range& end) {
  if (Empty() || end.Empty()) return true;
  KeptKey any[1];
  const bool above = end.hi && Keys({*end.hi, std::nullopt}, ScanDirection::kForward, 1, any) > 0;
  const bool below = Keys({Key{}, end.lo}, ScanDirection::kForward, 1, any) > 0;
  ERIS_DCHECK(!above || !below);
  std::unique_ptr<Detached> detached(new (std::nothrow) Detached);
  absl::StatusOr<std::unique_ptr<OrderedPartition>> none = NewHeads();
  if (detached == nullptr || !none.ok()) return false;
  if (!above && !below) {
    detached->heads = std::exchange(heads_, *std::move(none));
  } else {
    // What stays is a table of all keys again: the empty one gives it what it lacks.
    const Key& cut = above ? *end.hi : end.lo;
    absl::StatusOr<std::unique_ptr<OrderedPartition>> none_above = (*none)->SplitAt(cut);
    if (!none_above.ok()) return false;
    absl::StatusOr<std::unique_ptr<OrderedPartition>> upper = heads_->SplitAt(cut);
    if (!upper.ok()) return false;
    if (above) heads_.swap(*upper);
    ERIS_CHECK(heads_->Absorb(above ? **none : **none_above).ok());  // without a row: no memory
    detached->heads = *std::move(upper);
  }
  pass_at_ = nullptr;  // it may be among these
  std::unique_ptr<Detached>* last = &detached_;
  while (*last != nullptr) last = &(*last)->next;
  *last = std::move(detached);
  return true;
}

bool VersionTable::FreeDetachedPiece(uint64_t& left) {
  while (detached_ != nullptr) {
    OrderedPartition& heads = *detached_->heads;
    if (FreeKeys(heads, heads.range(), left)) return true;
    detached_ = std::move(detached_->next);
  }
  return false;
}

bool VersionTable::FreeDetached(uint32_t records_max) {
  uint64_t left = records_max;
  return FreeDetachedPiece(left);
}

uint64_t VersionTable::DetachedKeys() const {
  uint64_t keys = 0;
  for (const Detached* one = detached_.get(); one != nullptr; one = one->next.get()) {
    keys += one->heads->size();
  }
  return keys;
}

void VersionTable::DetachAll() {
  if (!Detach(Range{})) FreeRange(Range{});
}

void VersionTable::FreeAll() {
  if (heads_ == nullptr) return;
  FreeDetached(kAllRecords);
  while (FreeRange(Range{})) {
  }
}

absl::Status VersionTable::Rehome(memory::LocalCache& cache) {
  if (absl::Status status = heads_->Rehome(cache); !status.ok()) return status;
  for (Detached* one = detached_.get(); one != nullptr; one = one->next.get()) {
    ERIS_CHECK(one->heads->Rehome(cache).ok());  // as those
  }
  cache_ = &cache;
  return absl::OkStatus();
}

void VersionTable::Abandon() {
  heads_->Abandon();
  for (Detached* one = detached_.get(); one != nullptr; one = one->next.get()) {
    one->heads->Abandon();
  }
  bytes_ = records_ = 0;
}

bool VersionTable::SplitAt(uint64_t key, VersionTable& upper) {
  ERIS_DCHECK(upper.Empty() && upper.detached_ == nullptr);
  if (Empty()) return true;
  const uint64_t keys = heads_->size() + DetachedKeys();
  // Either side is a table of all keys again: the empty one gives both what they lack.
  absl::StatusOr<std::unique_ptr<OrderedPartition>> above =
      upper.heads_->SplitAt(Key::FromU64(key));
  if (!above.ok()) return false;
  absl::StatusOr<std::unique_ptr<OrderedPartition>> rows = heads_->SplitAt(Key::FromU64(key));
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
  if (keys == upper.heads_->size()) upper.bytes_ += std::exchange(bytes_, 0);
  pass_from_.reset();
  pass_at_ = nullptr;
  pass_oldest_ = 0;  // a pass is due on both sides
  return true;
}

bool VersionTable::Absorb(uint64_t key, VersionTable& upper) {
  if (Empty()) {
    heads_.swap(upper.heads_);
  } else if (!upper.Empty()) {
    absl::StatusOr<std::unique_ptr<OrderedPartition>> above = heads_->SplitAt(Key::FromU64(key));
    if (!above.ok()) return false;
    absl::StatusOr<std::unique_ptr<OrderedPartition>> rows =
        upper.heads_->SplitAt(Key::FromU64(key));
    const bool absorbed = rows.ok() && heads_->Absorb(**rows).ok();
    if (!absorbed) {
      if (rows.ok()) ERIS_CHECK(upper.heads_->Absorb(**rows).ok());  // which has no row
      ERIS_CHECK(heads_->Absorb(**above).ok());
      return false;
    }
    ERIS_CHECK(upper.heads_->Absorb(**above).ok());
  }
  std::unique_ptr<Detached>* last = &detached_;
  while (*last != nullptr) last = &(*last)->next;
  *last = std::move(upper.detached_);
  bytes_ += std::exchange(upper.bytes_, 0);
  records_ += std::exchange(upper.records_, 0);
  newest_end_ = std::max(newest_end_, upper.newest_end_);
  pass_from_.reset();
  pass_at_ = nullptr;
  pass_oldest_ = 0;
  return true;
}

}  // namespace eris::storage
