#include "storage/hash/hash_table_segment.h"

#include <new>

#include "base/check.h"

namespace eris::storage {

HashSegment* HashSegment::Format(void* block, uint64_t first_hash, uint32_t depth, uint32_t size,
                                 uint64_t marker) {
  auto* segment =
      new (block) HashSegment{first_hash, marker, depth, size, SegmentHomes(size), /*rows=*/0};
  Bucket* bucket = segment->buckets();
  for (const Bucket* end = bucket + SegmentBuckets(size); bucket != end; ++bucket) {
    std::fill_n(bucket->keys, kBucketRows, marker);
  }
  return segment;
}

uint64_t HashSegment::FirstHashAt(uint32_t home) const {
  ERIS_DCHECK(home < homes);
  // HomeOf(h) >= home as soon as (h << depth) * homes >= home * 2^64.
  const Uint128 rest = ((Uint128{home} << 64) + homes - 1) / homes;
  const Uint128 unit = Uint128{1} << depth;
  return first_hash + static_cast<uint64_t>((rest + unit - 1) >> depth);
}

bool HashSegment::Insert(uint64_t hash, uint64_t key, uint64_t value) {
  ERIS_DCHECK(Owns(hash));
  Bucket* bucket = buckets() + HomeOf(hash);
  const Bucket* const last = buckets() + SegmentBuckets(size) - 1;
  const Bucket* const end = bucket + kProbeBuckets;
  while (bucket->Full(marker)) {
    if (++bucket == end) return false;
  }
  const uint32_t slot = bucket->Find(marker);
  if (bucket == last && slot == kBucketRows - 1) return false;
  bucket->keys[slot] = key;
  bucket->values[slot] = value;
  ++rows;
  return true;
}

bool HashSegment::InsertAll(const HashSegment& from, const HashMix& mix) {
  const Bucket* bucket = from.buckets();
  for (const Bucket* end = bucket + SegmentBuckets(from.size); bucket != end; ++bucket) {
    for (uint32_t slot = 0; slot < kBucketRows && bucket->keys[slot] != from.marker; ++slot) {
      const uint64_t hash = mix(bucket->keys[slot]);
      if (Owns(hash) && !Insert(hash, bucket->keys[slot], bucket->values[slot])) return false;
    }
  }
  return true;
}

void SegmentRef::EraseAt(Bucket* bucket, uint32_t slot, uint64_t marker, const HashMix& mix) const {
  Bucket* hole = bucket;
  // While the hole's bucket is full, rows may have been placed behind it: the first such row moves
  // in.
  while (hole->Full(marker)) {
    Bucket* from = hole;
    uint32_t from_slot = kBucketRows;
    do {
      ++from;
      for (uint32_t i = 0; i < kBucketRows && from->keys[i] != marker; ++i) {
        if (BucketOf(mix(from->keys[i])) <= hole) {
          from_slot = i;
          break;
        }
      }
    } while (from_slot == kBucketRows && from->Full(marker));
    if (from_slot == kBucketRows) break;
    hole->keys[slot] = from->keys[from_slot];
    hole->values[slot] = from->values[from_slot];
    hole = from;
    slot = from_slot;
  }
  // The bucket's last row fills the slot.
  const uint32_t free_slot = hole->Find(marker);
  const uint32_t last = (free_slot == kBucketRows ? kBucketRows : free_slot) - 1;
  hole->keys[slot] = hole->keys[last];
  hole->values[slot] = hole->values[last];
  hole->keys[last] = marker;
}

}  // namespace eris::storage
