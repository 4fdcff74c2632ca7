// The old values that snapshots still need, of one partition: beside its rows, not in them. Each
// key that was written while a snapshot was held has a chain of records (old value or ABSENT, end),
// the newest first: the value stood until the writes stamped `end`. So a key's value at snapshot S
// is that of the record with the smallest end above S; without one, the row's. At most one record
// per key and snapshot. Keys stand in a partition of their own, of the same kind of keys; records
// are blocks of the same cache. Runs on the thread of the AEU that owns it. Paper: ERIS 3.1 (MVCC).
#ifndef ERIS_STORAGE_VERSION_TABLE_H_
#define ERIS_STORAGE_VERSION_TABLE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "memory/local_cache.h"
#include "storage/partition.h"

namespace eris::storage {

struct VersionRecord {
  VersionRecord* older = nullptr;
  uint64_t end_and_presence = 0;  // end << 1 | whether there was a value
  uint64_t value = 0;             // of byte strings a word, whose record is this one's own

  uint64_t end() const { return end_and_presence >> 1; }
  bool present() const { return (end_and_presence & 1) != 0; }
};

class VersionTable {
 public:
  // Keys that are worked on together, at most.
  static constexpr uint32_t kGroupMax = 64;
  // `seconds` of two-part keys, else nullptr.
  struct KeyGroup {
    uint32_t count = 0;
    const uint64_t* keys = nullptr;
    const uint64_t* seconds = nullptr;
  };
  // What a key had before a write.
  struct OldValue {
    bool keep = false;  // else the key is left out
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
  // What the records take, about.
  uint64_t bytes() const { return bytes_; }
  // The largest `end` there has ever been.
  uint64_t newest_end() const { return newest_end_; }

  // The newest record of each key, nullptr without one.
  void Find(const KeyGroup& group, VersionRecord** newest) const;
  // Adds records with `end` for those to keep; `newest` is what Find has said of the group just
  // now. kept[i] is false for want of memory. A key that stands in the group twice gets one.
  void Add(const KeyGroup& group, VersionRecord** newest, const OldValue* old_values, uint64_t end,
           bool* kept);
  // Adds a record that is older than all there are of the key. For ranges that arrive. False: no
  // memory.
  [[nodiscard]] bool AddOldest(const Key& key, uint64_t end, const OldValue& old_value);

  // Up to `keys_max` (<= kGroupMax) keys of the range, from its beginning or its end.
  uint32_t Keys(const Range& range, ScanDirection direction, uint32_t keys_max, KeptKey* out) const;
  // The record that says the value at a snapshot; nullptr: the row does.
  static const VersionRecord* At(const VersionRecord* newest, uint64_t snapshot);

  // Frees records that no held snapshot needs, those of some keys after another; true: there may be
  // more. It goes through all keys when the oldest snapshot has changed, or many records have come.
  bool Free(const SnapshotView& snapshots, uint32_t records_max);
  // Takes the keys of the range out, those of about `records_max` records. True: there are more.
  bool FreeRange(const Range& range, uint32_t records_max = std::numeric_limits<uint32_t>::max());
  void FreeAll();
  // Partition::Rehome.
  absl::Status Rehome(memory::LocalCache& cache);
  // Forgets all, whose memory goes with the cache.
  void Abandon();

  // Everything from first part `key` on goes to `upper`, which is empty; O(depth). Or takes all of
  // `upper` over, whose first parts are `key` and above, the own ones below; it is empty then.
  // False: no memory; nothing has changed.
  [[nodiscard]] bool SplitAt(uint64_t key, VersionTable& upper);
  [[nodiscard]] bool Absorb(uint64_t key, VersionTable& upper);

 private:
  VersionTable(memory::LocalCache& cache, bool two_parts, bool byte_strings)
      : cache_(&cache), two_parts_(two_parts), byte_strings_(byte_strings) {}
  absl::StatusOr<std::unique_ptr<Partition>> NewHeads() const;

  // A record of an old value, with a copy of its byte string. nullptr: no memory.
  VersionRecord* NewRecord(uint64_t end, const OldValue& old_value);
  void FreeRecord(VersionRecord* record);
  uint64_t CostOf(const VersionRecord& record) const;
  // Leaves the records of a chain that are needed; nullptr: none is.
  VersionRecord* Trim(VersionRecord* newest, const SnapshotView& snapshots, uint32_t& looked);
  void EraseKeys(const KeptKey* keys, uint32_t count);
  bool PassWanted(const SnapshotView& snapshots) const;

  memory::LocalCache* cache_;
  const bool two_parts_;
  const bool byte_strings_;
  std::unique_ptr<Partition> heads_;  // key -> address of its newest record; of all keys
  uint64_t bytes_ = 0;
  uint64_t newest_end_ = 0;
  uint64_t records_ = 0;  // about: a split shares them out by keys

  // Of Free: where the pass under way goes on, and what the last one found.
  std::optional<Key> pass_from_;
  uint64_t pass_oldest_ = 0;
  uint64_t added_since_pass_ = 0;
};

// The next key in order; nullopt: there is none.
std::optional<Key> KeyAfter(const Key& key, bool two_parts);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_VERSION_TABLE_H_
