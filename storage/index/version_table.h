// The old values that snapshots still need, of one partition: beside its rows, not in them. Each
// key that was written while a snapshot was held has a chain of records (old value or ABSENT, end),
// the newest first: the value stood until the writes stamped `end`. So a key's value at snapshot S
// is that of the record with the smallest end above S; without one, the row's. At most one record
// per key and snapshot. Keys stand in a partition of their own, of the same kind of keys; records
// are blocks of the same cache. Runs on the thread of the AEU that owns it. Paper: ERIS 3.1 (MVCC).
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
  // Adds records that end at snapshots.epoch for those to keep; `newest` is what Find has said of
  // the group just now. kept[i] is false for want of memory. A key that stands in the group twice
  // gets one. A newest record that no held snapshot needs any more goes, so that chains do not grow
  // with snapshots that have ended.
  void Add(const KeyGroup& group, VersionRecord** newest, const OldValue* old_values,
           const SnapshotView& snapshots, bool* kept);
  // Adds the records of a range that arrives, whose keys have none here. False: no memory, and some
  // have been added. REQUIRES: the columns are equal, of this table's form.
  [[nodiscard]] bool AddChains(const VersionColumns& versions);

  // Up to `keys_max` (<= kGroupMax) keys of the range, from its beginning or its end.
  uint32_t Keys(const Range& range, ScanDirection direction, uint32_t keys_max, KeptKey* out) const;
  // The record that says the value at a snapshot; nullptr: the row does.
  static const VersionRecord* At(const VersionRecord* newest, uint64_t snapshot);

  // Bounds below count records, and a string that a record keeps as one more for each
  // kBytesPerRecord: a call may stop inside the chain of a key, and the next one goes on there.
  static constexpr uint64_t kBytesPerRecord = 16u << 10;

  // Looks at `records_max` records, those of one key after another, and frees the ones that no held
  // snapshot needs; what was detached first. True: there may be more. A pass goes through all keys
  // when the oldest snapshot has changed, or many records have come.
  bool Free(const SnapshotView& snapshots, uint32_t records_max);
  // Takes the keys of the range out and frees their records, `records_max` of them. True: there may
  // be more.
  bool FreeRange(const Range& range, uint32_t records_max = kAllRecords);
  // Takes the keys of `end` out at once, in O(depth), without looking at a record: nobody finds
  // them any more, and FreeDetached frees their records. bytes() counts them until then. REQUIRES:
  // there are no keys below `end`, or none above it. False: no memory; nothing has changed.
  [[nodiscard]] bool Detach(const Range& end);
  // Frees `records_max` records of what was detached. True: there may be more.
  bool FreeDetached(uint32_t records_max);
  // Takes all keys out: O(1), or for want of memory as long as freeing them takes.
  void DetachAll();
  void FreeAll();
  // Partition::Rehome.
  absl::Status Rehome(memory::LocalCache& cache);
  // Forgets all, whose memory goes with the cache.
  void Abandon();

  // Everything from first part `key` on goes to `upper`, which is empty; O(depth). Or takes all of
  // `upper` over, whose first parts are `key` and above, the own ones below; it is empty then. What
  // was detached stays where it is in a split, and comes along when a table is absorbed. False: no
  // memory, which cannot be where one of the two is empty; nothing has changed.
  [[nodiscard]] bool SplitAt(uint64_t key, VersionTable& upper);
  [[nodiscard]] bool Absorb(uint64_t key, VersionTable& upper);

 private:
  static constexpr uint32_t kAllRecords = std::numeric_limits<uint32_t>::max();

  // Keys that were taken out at once, and whose records are still to be freed.
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
  // Adds keys with their newest records. there[i]: the one that was there before, nullptr: none.
  void InsertHeads(const KeyGroup& group, const uint64_t* words, VersionRecord** there,
                   KeyState* states);
  void FreeRecord(VersionRecord* record);
  uint64_t CostOf(const VersionRecord& record) const;
  // What the work on a record counts as.
  uint64_t WeightOf(const VersionRecord& record) const;

  // Leaves the records of a chain that are needed; takes those looked at off `left`. False: `left`
  // was used up before its end, and the next call goes on there. `none`: no record is needed, and
  // the chain is gone.
  bool Trim(VersionRecord* newest, const SnapshotView& snapshots, uint64_t& left, bool& none);
  // Frees a chain, from behind its newest record on, and that one last. False: as Trim; what is
  // left is a chain with the same newest record.
  bool FreeChain(VersionRecord* newest, uint64_t& left);
  // Takes keys of the range out of `heads` and frees their records. True: there may be more.
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
  std::unique_ptr<OrderedPartition> heads_;  // key -> address of its newest record; of all keys
  std::unique_ptr<Detached> detached_;       // oldest first
  uint64_t bytes_ = 0;                       // also of what was detached, as records_
  uint64_t newest_end_ = 0;
  uint64_t records_ = 0;  // about: a split shares them out by keys

  // Of Free: where the pass under way goes on, and what the last one found.
  std::optional<Key> pass_from_;
  // Inside the chain of that key: the last record that was needed. nullptr: at its newest one. Only
  // Free, FreeRange and Detach take records away, and a split or an absorb ends the pass.
  VersionRecord* pass_at_ = nullptr;
  uint64_t pass_oldest_ = 0;
  uint64_t added_since_pass_ = 0;
};

// The next key in order; nullopt: there is none.
std::optional<Key> KeyAfter(const Key& key, bool two_parts);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_INDEX_VERSION_TABLE_H_
