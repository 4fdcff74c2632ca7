// A segment of a hash table: the rows of one prefix of the hash, in a single block of memory.
// Buckets of one cache line, probed linearly. Knows no directory and takes no memory itself.
// Single-threaded.
//
//   block    HashSegment (64 B) | buckets at which hashes begin: `homes` | their overflow
//   Bucket   key key key key value value value value
//
// A row is stored in the bucket of its hash or, if that is full, up to kProbeBuckets - 1 behind it.
// Buckets are filled from slot 0; a free slot has the segment's marker as its key. The marker is a
// key of the other half of the table. So every key, also 0 and ~0, is an ordinary one, and a slot
// needs only 16 bytes. The last bucket never fills up: every search ends at a bucket with a free
// slot.
//
// Layouts compared at 16 M keys, groups of 256, fill 0.70 / 0.78 / 0.85. Lookups of present keys in
// M/s: this one 90 / 85 / 73; three rows and 16 bytes of tags in a line 80 / 69 / 57; a line of 8
// keys before a line of 8 values 73 / 64 / 57; seven rows and tags in two lines 89 / 79 / 65.
// Absent keys, this one and three rows with tags: 66, 72 / 51, 51 / 32, 30.
//
// The bucket index grows with the hash, so the rows of a range of hashes are in a range of buckets.
// So rebuilding is sequential in both blocks, and a scan can continue by hash.
#ifndef ERIS_STORAGE_HASH_HASH_TABLE_SEGMENT_H_
#define ERIS_STORAGE_HASH_HASH_TABLE_SEGMENT_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "memory/size_class.h"
#include "storage/hash/hash_table_mix.h"

namespace eris::storage {

__extension__ using Uint128 = unsigned __int128;  // a full-width product

inline constexpr uint32_t kBucketRows = 4;

struct alignas(base::kCacheLineBytes) Bucket {
  uint64_t keys[kBucketRows];
  uint64_t values[kBucketRows];

  // The slot of `key`; kBucketRows: not here. All four are compared without a branch: the position
  // cannot be predicted.
  uint32_t Find(uint64_t key) const {
    const uint32_t found = uint32_t{keys[0] == key} | uint32_t{keys[1] == key} << 1 |
                           uint32_t{keys[2] == key} << 2 | uint32_t{keys[3] == key} << 3 |
                           1u << kBucketRows;
    return static_cast<uint32_t>(std::countr_zero(found));
  }
  bool Full(uint64_t marker) const { return keys[kBucketRows - 1] != marker; }
};
static_assert(sizeof(Bucket) == base::kCacheLineBytes);

// The largest distance between a row's bucket and that of its hash. A segment in which a row would
// need more grows early. At the fill below this happens to every second segment of the largest
// ordinary size, because a new row goes behind all rows in its way. Of 20,000 such segments 56 %
// grew early, at 96 % of the rows that the fill allows, the first at 80 %; the others' largest
// distances were 8 to 31.
inline constexpr uint32_t kProbeBuckets = 32;
inline constexpr uint32_t kTailBucketsMax = 15;
// The share of the slots at `homes` that is used before a segment grows.
inline constexpr uint32_t kFillPercent = 85;

// The bytes of segments: size classes, so that no block wastes memory. From 10 KiB up only those
// that fit a whole number of times into one or two spans with at most 6 % left over. All segments
// of a table grow at about the same time; longer runs of spans would then leave gaps between
// superblocks that cost more than the larger steps.
inline constexpr std::array<uint32_t, 17> kSegmentBytes = {512,   1024,  2048,  4096,  6144,  8192,
                                                           10560, 12864, 15744, 20544, 25088, 32768,
                                                           42752, 63936, 78144, 95616, 125120};
// The largest size that grows; beyond it a segment is split. Larger sizes are for rows that a split
// does not divide, which needs keys chosen by a client that knows the seed.
inline constexpr uint32_t kSegmentSizeSplit = 13;
inline constexpr uint32_t kSegmentSizeLast = kSegmentBytes.size() - 1;
static_assert(kSegmentBytes[kSegmentSizeSplit] <= memory::kSpanBytes);
static_assert(std::ranges::all_of(kSegmentBytes, [](uint32_t bytes) {
  return memory::SizeClassBytes(memory::SizeClassOf(bytes)) == bytes &&
         bytes % base::kCacheLineBytes == 0;
}));

constexpr uint32_t SegmentBuckets(uint32_t size) {
  return kSegmentBytes[size] / static_cast<uint32_t>(base::kCacheLineBytes) - 1;
}
constexpr uint32_t SegmentHomes(uint32_t size) {
  const uint32_t buckets = SegmentBuckets(size);
  return buckets - std::clamp(buckets / 4, 1u, kTailBucketsMax);
}
// The number of rows at which a segment with that many homes grows, and below which it shrinks or
// is merged.
constexpr uint32_t RowsMaxOfHomes(uint32_t homes) {
  return homes * kBucketRows * kFillPercent / 100;
}
constexpr uint32_t RowsMinOfHomes(uint32_t homes) {
  return std::max(RowsMaxOfHomes(homes) * 2 / 5, 1u);
}
constexpr uint32_t SegmentRowsMax(uint32_t size) { return RowsMaxOfHomes(SegmentHomes(size)); }
// The smallest size in which `rows` leave room for an eighth more; the last size if none does.
constexpr uint32_t SegmentSizeFor(uint32_t rows) {
  uint32_t size = 0;
  while (size < kSegmentSizeLast && SegmentRowsMax(size) < rows + rows / 8) ++size;
  return size;
}

struct alignas(base::kCacheLineBytes) HashSegment {
  uint64_t first_hash;  // the lowest one that belongs here
  uint64_t marker;
  uint32_t depth;  // bits of the hash that all rows share, >= 1
  uint32_t size;   // index into kSegmentBytes
  uint32_t homes;
  // At its construction. After that the table keeps the count, next to its directory: headers are
  // at the same offset of 64 KiB each, so a core's cache holds only a few of them.
  uint32_t rows;
  // Shrinking is not tried with this many rows or more, because it has failed: if rows leave in
  // hash order, the remaining ones are too close together for a smaller segment.
  uint32_t shrink_below = ~uint32_t{0};

  // Writes an empty segment into `block`, of kSegmentBytes[size].
  static HashSegment* Format(void* block, uint64_t first_hash, uint32_t depth, uint32_t size,
                             uint64_t marker);

  uint32_t bytes() const { return kSegmentBytes[size]; }
  Bucket* buckets() { return reinterpret_cast<Bucket*>(this + 1); }
  const Bucket* buckets() const { return reinterpret_cast<const Bucket*>(this + 1); }
  uint64_t last_hash() const { return first_hash | ~uint64_t{0} >> depth; }
  bool Owns(uint64_t hash) const { return ((hash ^ first_hash) >> (64 - depth)) == 0; }

  // HomeOf: the bucket at which `hash`, one of this segment, begins. FirstHashAt: the lowest
  // hash that begins at `home`, below homes.
  static uint32_t HomeOf(uint64_t hash, uint32_t depth, uint32_t homes) {
    const uint64_t rest = hash << depth;
    return static_cast<uint32_t>((Uint128{rest} * homes) >> 64);
  }
  uint32_t HomeOf(uint64_t hash) const { return HomeOf(hash, depth, homes); }
  uint64_t FirstHashAt(uint32_t home) const;

  // Adds a row whose key is absent, whatever the fill. False: no free slot near enough.
  bool Insert(uint64_t hash, uint64_t key, uint64_t value);
  // Adds the rows of `from` that belong here. False: as Insert; this segment must then be
  // discarded.
  bool InsertAll(const HashSegment& from, const HashMix& mix);
};
static_assert(sizeof(HashSegment) == base::kCacheLineBytes);

// A directory entry: all that a search needs to find its bucket, in a word.
//   bits 63-48 homes | 47-6 address of the segment, in cache lines | 5-0 depth
class SegmentRef {
 public:
  SegmentRef() = default;
  explicit SegmentRef(const HashSegment* segment)
      : word_(uint64_t{segment->homes} << 48 | reinterpret_cast<uintptr_t>(segment) |
              segment->depth) {}

  HashSegment* segment() const { return reinterpret_cast<HashSegment*>(word_ & kAddressMask); }
  uint32_t depth() const { return word_ & (base::kCacheLineBytes - 1); }
  uint32_t homes() const { return static_cast<uint32_t>(word_ >> 48); }
  Bucket* buckets() const {
    return reinterpret_cast<Bucket*>((word_ & kAddressMask) + sizeof(HashSegment));
  }
  Bucket* BucketOf(uint64_t hash) const {
    const uint64_t rest = hash << depth();
    return buckets() + static_cast<uint64_t>((Uint128{rest} * (word_ >> 48)) >> 64);
  }
  // Whether rows may overflow to `bucket`, but none begins there.
  bool InTail(const Bucket* bucket) const { return bucket >= buckets() + homes(); }
  // Removes the row at `slot` of `bucket`. Rows behind it move up, so that no search ends before
  // its row: at most a few buckets are read. `marker` is the segment's marker, so that the segment
  // itself is not read.
  void EraseAt(Bucket* bucket, uint32_t slot, uint64_t marker, const HashMix& mix) const;
  friend bool operator==(SegmentRef, SegmentRef) = default;

 private:
  static constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - base::kCacheLineBytes;
  uint64_t word_ = 0;
};
static_assert(SegmentHomes(kSegmentSizeLast) < 1u << 16);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_HASH_HASH_TABLE_SEGMENT_H_
