// The hash table behind a partition of a hash object: u64 -> u64, keys in the order of a seeded
// hash. A directory by the hash's high bits over segments (hash_table_segment.h) that grow, split
// and merge one at a time: extendible hashing. A lookup reads the directory, which stays in the
// core's cache, and then almost always one cache line. Single-threaded: no thread, no latch. Paper:
// ERIS 3.1.
//
//   hash = Mix(key)    high bits -> directory_ -> SegmentRef -> bucket by the bits that follow
//
// The longest pause of one write copies a segment of at most 3,342 rows (63,936 bytes) into one or
// two new ones. In addition, once per doubling of the table, the directory is copied: 12 bytes per
// about 2,000 rows (96 KiB at 16 million rows, 6 MiB at a thousand million). An erase copies at
// most two segments that fit into one, or the directory back. Only Clear walks the whole table. (A
// client that knows the seed could choose keys that make segments of up to 125,120 bytes.)
//
// All memory comes from the AEU's cache; a table with one row takes 1,056 bytes. All segments grow
// and split at about the same number of rows, so the memory per row oscillates: 21.0 to 27.6 bytes,
// of which the row takes 16 (measured at every 16 K random rows from 1 to 34 million). The manager
// then held 24 to 34 bytes per row, and up to 37 below two million rows, when all segments split at
// the same time. The directory has at most 32 entries per segment: keys that would need more, which
// only a client that knows the seed could choose, are refused as if memory had run out.
#ifndef ERIS_STORAGE_HASH_HASH_TABLE_H_
#define ERIS_STORAGE_HASH_HASH_TABLE_H_

#include <array>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "memory/local_cache.h"
#include "storage/batch.h"
#include "storage/hash/hash_table_mix.h"
#include "storage/hash/hash_table_segment.h"

namespace eris::storage {

// Keys that FindGroup takes at once. Measured at 16 M sparse keys with groups of 8, 16, 32, 64,
// 128, 256, 384 and 512, in M keys/s: 19, 28, 42, 64, 77, 82, 88 and 81. More than 256 lines would
// crowd an L1 cache of 32 KiB.
inline constexpr uint32_t kHashGroupMax = 256;
// How many rows ahead of a write Ingest fetches the bucket.
inline constexpr uint32_t kHashAhead = 64;

// Where a walk over a table continues: a hash, so that it stays valid across writes.
struct HashCursor {
  uint64_t next_hash = 0;
  bool done = false;
};

class HashTable {
 public:
  // `cache` outlives the table.
  HashTable(memory::LocalCache& cache, uint64_t seed);
  ~HashTable() { Clear(); }
  HashTable(const HashTable&) = delete;
  HashTable& operator=(const HashTable&) = delete;

  uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  memory::LocalCache& cache() const { return *cache_; }

  // Stores key -> value: kAbsent (inserted), kPresent (replaced, which needs no memory) or
  // kNoMemory (nothing has changed).
  [[nodiscard]] KeyState Upsert(uint64_t key, uint64_t value) {
    return UpsertHashed(mix_(key), key, value);
  }
  // Never needs memory: if a smaller segment cannot be allocated, the larger one stays. True if the
  // key was there.
  bool Erase(uint64_t key) { return EraseHashed(mix_(key), key); }
  std::optional<uint64_t> Lookup(uint64_t key) const {
    const uint64_t* const value = Find(key);
    return value == nullptr ? std::nullopt : std::optional<uint64_t>(*value);
  }
  // The location of the key's value, for reading and replacing; nullptr: the key is absent. Valid
  // while moves() is unchanged.
  uint64_t* Find(uint64_t key) const { return FindHashed(mix_(key), key); }

  // Changes whenever an existing row may have moved: locations found before are then invalid.
  uint64_t moves() const { return moves_; }

  // Looks up `count` keys in parallel: fetches the buckets of all before it searches the first one.
  // values[i] is the location of the value of keys[i], for reading and replacing, or nullptr if the
  // key is absent; valid while moves() is unchanged. Shapes: `count` keys and values, at most
  // kHashGroupMax; any order, duplicates allowed.
  void FindGroup(const uint64_t* keys, uint32_t count, uint64_t** values) const;

  // FindGroup for a caller that processes the answers as they come. Calls visit(i, value, absent)
  // for keys[i]; absent is 0 or 1, and if it is 0, `value` is the location of the value. A key that
  // is searched in several buckets is visited for each, with absent 1 until the last one; other
  // keys come between. REQUIRES: !empty().
  template <class Visit>
  void SearchGroup(const uint64_t* keys, uint32_t count, Visit visit) const;

  // For batches of writes: returns the hash of a key, and fetches its bucket and segment without
  // waiting for them. The hash may be used for a call below at any time.
  uint64_t FetchToWrite(uint64_t key) const { return Fetch(key, 1); }
  // If a bucket is full, rows of the next one may have to move up.
  uint64_t FetchToErase(uint64_t key) const { return Fetch(key, 2); }
  [[nodiscard]] KeyState UpsertHashed(uint64_t hash, uint64_t key, uint64_t value);
  bool EraseHashed(uint64_t hash, uint64_t key);
  uint64_t* FindHashed(uint64_t hash, uint64_t key) const;

  // Copies at most `rows_max` rows from the cursor on, and moves the cursor behind them. A row that
  // exists from the first call to the last is returned exactly once, whatever is written in
  // between; a row written meanwhile is returned once or not at all. Fewer than rows_max: there are
  // no more, and the cursor is done. Costs O(rows_max) plus at most the empty segments in between.
  uint32_t Read(HashCursor& cursor, uint64_t* keys, uint64_t* values, uint32_t rows_max) const;

  // Frees everything, walking the segments.
  void Clear();
  // Forgets the content without walking or freeing, for an owner that then drops the whole
  // LocalCache. The cache's used_bytes() does not change.
  void Abandon();

 private:
  friend class HashTableChecker;

  static constexpr uint32_t kDepthMax = 40;
  static constexpr uint64_t kEntriesPerSegmentMax = 32;

  enum class Outcome : uint8_t { kDone, kCrowded, kNoMemory };
  struct Row {
    uint64_t hash;
    uint64_t key;
    uint64_t value;
  };

  uint64_t Fetch(uint64_t key, uint32_t buckets) const {
    const uint64_t hash = mix_(key);
    if (directory_ != nullptr) {
      const Bucket* const bucket = EntryOf(hash).BucketOf(hash);
      for (uint32_t i = 0; i < buckets; ++i) __builtin_prefetch(bucket + i, 1);
    }
    return hash;
  }
  SegmentRef& EntryOf(uint64_t hash) const { return directory_[hash >> (64 - depth_)]; }
  // The key of a free slot in segments of hashes like `hash`: a key of the other half.
  uint64_t MarkerFor(uint64_t hash) const { return markers_[hash >> 63]; }
  static uint64_t DirectoryBytes(uint32_t depth) {
    return (sizeof(SegmentRef) + sizeof(uint32_t)) << depth;
  }
  static uint32_t* CountsOf(SegmentRef* directory, uint32_t depth) {
    return reinterpret_cast<uint32_t*>(directory + (uint64_t{1} << depth));
  }
  void SetDirectory(SegmentRef* directory, uint32_t depth) {
    directory_ = directory;
    depth_ = depth;
    counts_ = CountsOf(directory, depth);
  }
  // The number of rows in the segment of `hash`, whose depth is given.
  uint32_t& RowsAt(uint64_t hash, uint32_t depth) const {
    return counts_[hash >> (64 - depth) << (depth_ - depth)];
  }
  uint32_t RowsOf(const HashSegment& segment) const {
    return RowsAt(segment.first_hash, segment.depth);
  }

  Outcome Start();
  // Makes room for `row`, and adds it. If the result is not kDone, nothing has changed.
  Outcome Grow(HashSegment* segment, const Row& row);
  Outcome Split(HashSegment* segment, const Row& row);
  // Called when an erase has left few rows: merges the segment with its sibling, or makes it
  // smaller.
  void Shrink(HashSegment* segment);
  // Whether the rows of both would fit in one, with a third to spare.
  bool MayMerge(const HashSegment& segment, const HashSegment& sibling) const;
  // REQUIRES: MayMerge. False: the rows would be too close together, or there is no memory.
  bool Merge(HashSegment* segment, HashSegment* sibling);
  // A new segment with the rows of `a`, `b` (may be nullptr) and `row` (may be nullptr) that belong
  // there; its size is at least `size`, at most `size_max`.
  Outcome Build(const HashSegment* a, const HashSegment* b, const Row* row, uint64_t first_hash,
                uint32_t depth, uint32_t size, uint32_t size_max, HashSegment** built);
  // A directory with twice as many entries; nullptr: refused.
  SegmentRef* MakeDoubled() const;
  void HalveDirectory();
  // Points the entries of the segment's hashes to it, and sets its row count.
  void Install(const HashSegment* segment);
  void Free(HashSegment* segment) { cache_->Free(segment, segment->bytes()); }

  // Immutable after construction.
  memory::LocalCache* cache_;
  HashMix mix_;
  std::array<uint64_t, 2> markers_;

  // Owned by the AEU thread.
  SegmentRef* directory_ = nullptr;  // 2^depth_ entries; nullptr: the table is empty
  uint32_t* counts_ = nullptr;       // stored after it: a segment's row count, at its first entry
  uint32_t depth_ = 0;
  uint64_t size_ = 0;
  uint64_t segments_ = 0;
  uint64_t moves_ = 0;
  std::array<uint32_t, kDepthMax + 1> segments_at_{};  // by depth
};

template <class Visit>
inline void HashTable::SearchGroup(const uint64_t* keys, uint32_t count, Visit visit) const {
  ERIS_DCHECK(directory_ != nullptr && count <= kHashGroupMax);
  Bucket* buckets[kHashGroupMax];
  uint64_t markers[kHashGroupMax];
  // Probes whose bucket is being fetched, oldest first. It is a ring because a probe that must
  // continue in the next bucket is queued again behind the others.
  uint32_t ring[kHashGroupMax];
  constexpr uint32_t kMask = kHashGroupMax - 1;
  static_assert((kHashGroupMax & kMask) == 0);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t hash = mix_(keys[i]);
    Bucket* const bucket = EntryOf(hash).BucketOf(hash);
    __builtin_prefetch(bucket);
    buckets[i] = bucket;
    markers[i] = MarkerFor(hash);
    ring[i] = i;
  }
  // A bucket is searched without a branch that depends on its content: that would be mispredicted
  // for one key in eight.
  for (uint32_t oldest = 0, end = count; oldest != end;) {
    const uint32_t i = ring[oldest++ & kMask];
    Bucket* const bucket = buckets[i];
    const uint32_t slot = bucket->Find(keys[i]);
    // 1 or 0; with a bool the compiler generates a branch
    const uint32_t absent = slot / kBucketRows;
    const uint32_t goes_on = absent & uint32_t{bucket->Full(markers[i])};
    visit(i, &bucket->values[slot], absent);
    buckets[i] = bucket + goes_on;
    __builtin_prefetch(bucket + goes_on);
    ring[end & kMask] = i;
    end += goes_on;
  }
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_HASH_HASH_TABLE_H_
