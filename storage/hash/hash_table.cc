#include "storage/hash/hash_table.h"

#include <algorithm>

#include "base/check.h"

namespace eris::storage {

HashTable::HashTable(memory::LocalCache& cache, uint64_t seed) : cache_(&cache), mix_(seed) {
  // The marker of a half is the smallest number whose hash lies in the other half.
  for (const uint64_t half : {0, 1}) {
    uint64_t key = 0;
    while (mix_(key) >> 63 == half) ++key;
    markers_[half] = key;
  }
}

uint64_t* HashTable::FindHashed(uint64_t hash, uint64_t key) const {
  ERIS_DCHECK(hash == mix_(key));
  if (directory_ == nullptr) return nullptr;
  const uint64_t marker = MarkerFor(hash);
  for (Bucket* bucket = EntryOf(hash).BucketOf(hash);; ++bucket) {
    const uint32_t slot = bucket->Find(key);
    if (slot != kBucketRows) return &bucket->values[slot];
    if (!bucket->Full(marker)) return nullptr;
  }
}

KeyState HashTable::UpsertHashed(uint64_t hash, uint64_t key, uint64_t value) {
  ERIS_DCHECK(hash == mix_(key));
  if (directory_ == nullptr && Start() != Outcome::kDone) return KeyState::kNoMemory;
  const SegmentRef ref = EntryOf(hash);
  const uint64_t marker = MarkerFor(hash);
  Bucket* const home = ref.BucketOf(hash);
  Bucket* bucket = home;
  for (;; ++bucket) {
    const uint32_t slot = bucket->Find(key);
    if (slot != kBucketRows) {
      bucket->values[slot] = value;
      return KeyState::kPresent;
    }
    if (!bucket->Full(marker)) break;
  }
  const uint32_t slot = bucket->Find(marker);
  const bool last_slot = slot == kBucketRows - 1 && ref.InTail(bucket) &&
                         bucket == ref.buckets() + SegmentBuckets(ref.segment()->size) - 1;
  uint32_t& rows = RowsAt(hash, ref.depth());
  if (rows < RowsMaxOfHomes(ref.homes()) && bucket < home + kProbeBuckets && !last_slot)
      [[likely]] {
    bucket->keys[slot] = key;
    bucket->values[slot] = value;
    ++rows;
  } else if (Grow(ref.segment(), Row{hash, key, value}) != Outcome::kDone) {
    return KeyState::kNoMemory;
  }
  ++size_;
  return KeyState::kAbsent;
}

bool HashTable::EraseHashed(uint64_t hash, uint64_t key) {
  ERIS_DCHECK(hash == mix_(key));
  if (directory_ == nullptr) return false;
  const SegmentRef ref = EntryOf(hash);
  const uint64_t marker = MarkerFor(hash);
  for (Bucket* bucket = ref.BucketOf(hash);; ++bucket) {
    const uint32_t slot = bucket->Find(key);
    if (slot != kBucketRows) {
      ++moves_;
      ref.EraseAt(bucket, slot, marker, mix_);
      const uint32_t rows = --RowsAt(hash, ref.depth());
      if (--size_ == 0) {
        Clear();
      } else if (rows < RowsMinOfHomes(ref.homes())) [[unlikely]] {
        Shrink(ref.segment());
      }
      return true;
    }
    if (!bucket->Full(marker)) return false;
  }
}

void HashTable::Clear() {
  for (uint64_t i = 0; directory_ != nullptr && i < uint64_t{1} << depth_;) {
    HashSegment* segment = directory_[i].segment();
    i += uint64_t{1} << (depth_ - segment->depth);
    Free(segment);
  }
  if (directory_ != nullptr) cache_->Free(directory_, DirectoryBytes(depth_));
  Abandon();
}

void HashTable::Abandon() {
  directory_ = nullptr;
  counts_ = nullptr;
  depth_ = 0;
  ++moves_;
  size_ = 0;
  segments_ = 0;
  segments_at_.fill(0);
}

}  // namespace eris::storage
