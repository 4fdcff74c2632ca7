// The old values of one partition that snapshots still need, stored apart from its rows. Each key
// that was written while a snapshot was held has a chain of records (old value or ABSENT, end),
// newest first: the value was valid until the writes stamped `end`. So a key's value at snapshot S
// is that of the record with the smallest end above S; without such a record it is the row's. At
// most one record per key and snapshot. The keys are in a separate partition for the same kind of
// keys; records are blocks of the same cache. Runs on the thread of the AEU that owns it. Paper:
// ERIS 3.1 (MVCC).
#ifndef ERIS_STORAGE_INDEX_VERSION_TABLE_H_
#define ERIS_STORAGE_INDEX_VERSION_TABLE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memory/local_cache.h"
#include "storage/ordered_partition.h"

namespace eris::storage {

struct VersionRecord {
  VersionRecord* older = nullptr;
  uint64_t end_and_presence = 0;  // end << 1 | whether there was a value
  uint64_t value = 0;             // for byte strings a word, whose record belongs to this one

  uint64_t end() const { return end_and_presence >> 1; }
  bool present() const { return (end_and_presence & 1) != 0; }
};

class VersionTable {
 public:
  // Most keys processed together.
  static constexpr uint32_t kGroupMax = 64;
  // `seconds` for two-part keys, else nullptr.
  struct KeyGroup {
    uint32_t count = 0;
    const uint64_t* keys = nullptr;
    const uint64_t* seconds = nullptr;
  };
  // The value of a key before a write.
  struct OldValue {
    bool keep = false;  // false: the key is skipped
    bool present = false;
    uint64_t value = 0;  // the table makes a copy of a byte string
  };
  struct KeptKey {
    Key key;
    const VersionRecord* newest = nullptr;
  };

  static absl::StatusOr<std::unique_ptr<VersionTable>> Create(memory::LocalCache& cache,
                                                              bool two_parts, bool byte_strings);
  ~VersionTable() { FreeAll(); }

  bool Empty() const { return heads_->size() == 0; }
  // Approximate bytes of the records.
  uint64_t bytes() const { return bytes_; }
  // The largest `end` of all records so far.
  uint64_t newest_end() const { return newest_end_; }

  // The newest record of each key, or nullptr.
  void Find(const KeyGroup& group, VersionRecord** newest) const;
  // Adds records that end at snapshots.epoch for the values to keep; `newest` is the result of Find
  // for this group. kept[i] is false if there is no memory. A key that occurs twice in the group
  // gets one record. A newest record that no held snapshot needs is freed, so that chains do not
  // grow with snapshots that have ended.
  void Add(const KeyGroup& group, VersionRecord** newest, const OldValue* old_values,
           const SnapshotView& snapshots, bool* kept);
  // Adds the records of a range that arrives, whose keys have no records here. False: no memory,
  // and some have been added. REQUIRES: columns of equal length, in this table's form.
  [[nodiscard]] bool AddChains(const VersionColumns& versions);

  // Up to `keys_max` (<= kGroupMax) keys of the range, from its beginning or its end.
  uint32_t Keys(const Range& range, ScanDirection direction, uint32_t keys_max, KeptKey* out) const;
  // The record with the value at a snapshot; nullptr: use the row.
  static const VersionRecord* At(const VersionRecord* newest, uint64_t snapshot);

  // Limits below count records; a record with a string counts one more for each kBytesPerRecord. A
  // call may stop inside the chain of a key, and the next one continues there.
  static constexpr uint64_t kBytesPerRecord = 16u << 10;

  // Checks `records_max` records, key by key, and frees those that no held snapshot needs; detached
  // ones first. True: there may be more. A pass over all keys begins when the oldest snapshot has
  // changed, or when many records have been added.
  bool Free(const SnapshotView& snapshots, uint32_t records_max);
  // Removes the keys of the range and frees up to `records_max` of their records. True: there may
  // be more.
  bool FreeRange(const Range& range, uint32_t records_max = kAllRecords);
  // Removes the keys of `end` in O(depth), without reading a record: they can no longer be found,
  // and FreeDetached frees their records. bytes() counts them until then. REQUIRES: there are no
  // keys below `end`, or none above it. False: no memory; nothing has changed.
  [[nodiscard]] bool Detach(const Range& end);
  // Frees up to `records_max` detached records. True: there may be more.
  bool FreeDetached(uint32_t records_max);
  // Removes all keys: O(1), or without memory as long as freeing them takes.
  void DetachAll();
  void FreeAll();
  // Partition::Rehome.
  absl::Status Rehome(memory::LocalCache& cache);
  // Forgets everything; its memory is freed with the cache.
  void Abandon();

  // SplitAt: moves everything from first part `key` on to `upper`, which is empty; O(depth).
  // Absorb: takes over all of `upper`, whose first parts are `key` and above, while the own ones
  // are below; `upper` is empty then. In a split, detached records stay here; in an absorb they
  // move along. False: no memory (impossible if one of the two is empty); nothing has changed.
  [[nodiscard]] bool SplitAt(uint64_t key, VersionTable& upper);
  [[nodiscard]] bool Absorb(uint64_t key, VersionTable& upper);

 private:
  static constexpr uint32_t kAllRecords = std::numeric_limits<uint32_t>::max();

  // Keys that were removed at once, and whose records must still be freed.
  struct Detached {
    std::unique_ptr<OrderedPartition> heads;
    std::unique_ptr<Detached> next;
  };

  VersionTable(memory::LocalCache& cache, bool two_parts, bool byte_strings)
      : cache_(&cache), two_parts_(two_parts), byte_strings_(byte_strings) {}
  absl::StatusOr<std::unique_ptr<OrderedPartition>> NewHeads() const;

  // A record of an old value, with a copy of its byte string. nullptr: no memory.
  VersionRecord* NewRecord(uint64_t end, const OldValue& old_value);
  VersionRecord* NewRecord(uint64_t end, bool present, absl::string_view bytes);
  VersionRecord* CountRecord(VersionRecord* record);
  // Adds keys with their newest records. there[i]: the record that existed before, or nullptr.
  void InsertHeads(const KeyGroup& group, const uint64_t* words, VersionRecord** there,
                   KeyState* states);
  void FreeRecord(VersionRecord* record);
  uint64_t CostOf(const VersionRecord& record) const;
  // What a record counts towards the limits.
  uint64_t WeightOf(const VersionRecord& record) const;

  // Frees the records of a chain that are not needed; subtracts those checked from `left`. False:
  // `left` reached 0 before the chain's end, and the next call continues there. `none`: no record
  // is needed, and the chain has been freed.
  bool Trim(VersionRecord* newest, const SnapshotView& snapshots, uint64_t& left, bool& none);
  // Frees a chain: first the records behind the newest one, then that one. False: as Trim; the rest
  // is a chain with the same newest record.
  bool FreeChain(VersionRecord* newest, uint64_t& left);
  // Removes keys of the range from `heads` and frees their records. True: there may be more.
  bool FreeKeys(OrderedPartition& heads, const Range& range, uint64_t& left);
  bool FreeDetachedPiece(uint64_t& left);

  uint32_t KeysOf(OrderedPartition& heads, const Range& range, ScanDirection direction,
                  uint32_t keys_max, KeptKey* out) const;
  void EraseKeys(OrderedPartition& heads, const KeptKey* keys, uint32_t count);
  void AppendDetached(std::unique_ptr<Detached> detached);
  uint64_t DetachedKeys() const;
  bool PassWanted(const SnapshotView& snapshots) const;
  // Chains have come or gone: the pass under way ends, and another one is due.
  void RestartPass() {
    pass_from_.reset();
    pass_at_ = nullptr;
    pass_oldest_ = 0;
  }

  memory::LocalCache* cache_;
  const bool two_parts_;
  const bool byte_strings_;
  std::unique_ptr<OrderedPartition> heads_;  // key -> address of its newest record; for all keys
  std::unique_ptr<Detached> detached_;       // oldest first
  uint64_t bytes_ = 0;                       // including detached ones, like records_
  uint64_t newest_end_ = 0;
  uint64_t records_ = 0;  // approximate: a split divides it by keys

  // For Free: where the current pass continues, and what the last one found.
  std::optional<Key> pass_from_;
  // Position inside the chain of that key: the last record that was needed. nullptr: at its newest
  // one. It stays valid because only Free, FreeRange and Detach remove records, and a split or an
  // absorb ends the pass.
  VersionRecord* pass_at_ = nullptr;
  uint64_t pass_oldest_ = 0;
  uint64_t added_since_pass_ = 0;
};

// The next key in order; nullopt: there is none.
std::optional<Key> KeyAfter(const Key& key, bool two_parts);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_INDEX_VERSION_TABLE_H_
