#include "storage/table/groups/group_slots.h"

#include <cstring>

#include "base/check.h"

namespace eris::storage {

GroupSlots::GroupSlots(PageSource& source)
    : buckets_(source, sizeof(Bucket), kFirstBuckets),
      chained_(source, sizeof(Bucket), kFirstChained) {
  std::memset(buckets_.At(0), 0, sizeof(Bucket) * kFirstBuckets);
}

bool GroupSlots::Reserve() {
  if (Full() && bucket_count_ == buckets_.room() && !buckets_.Grow()) return false;
  return chained_free_ != 0 || chained_used_ < chained_.room() || chained_.Grow();
}

void GroupSlots::Add(uint32_t hash, uint32_t number) {
  if (Full()) Divide();
  Put(&BucketOf(hash), hash, number);
  ++count_;
}

void GroupSlots::Put(Bucket* bucket, uint32_t hash, uint32_t number) {
  while (bucket->taken == kSlots && bucket->next != 0) bucket = &Chained(bucket->next);
  if (bucket->taken == kSlots) {
    if (chained_free_ != 0) {
      bucket->next = chained_free_;
      chained_free_ = Chained(chained_free_).next;
    } else {
      ERIS_DCHECK(chained_used_ < chained_.room());
      bucket->next = ++chained_used_;
    }
    bucket = &Chained(bucket->next);
    bucket->next = 0;
    bucket->taken = 0;
  }
  bucket->hashes[bucket->taken] = hash;
  bucket->numbers[bucket->taken++] = number;
}

// Needs no more chained buckets than it has freed. If j buckets of the chain have been read, j - 1
// are free; the at most 7 j numbers of them fill at most j + 1 buckets, two of which are `low` and
// `high`.
void GroupSlots::Divide() {
  Bucket& low = At(bucket_count_ - round_mask_ - 1);
  Bucket& high = At(bucket_count_);
  const uint32_t bit = round_mask_ + 1;
  Bucket from = low;
  low.next = low.taken = 0;
  high.next = high.taken = 0;
  for (;;) {
    for (uint32_t i = 0; i < from.taken; ++i) {
      Put((from.hashes[i] & bit) != 0 ? &high : &low, from.hashes[i], from.numbers[i]);
    }
    const uint32_t next = from.next;
    if (next == 0) break;
    Bucket& chained = Chained(next);
    from = chained;
    chained.next = chained_free_;
    chained_free_ = next;
  }
  if (++bucket_count_ == 2 * bit) round_mask_ = 2 * round_mask_ + 1;
}

}  // namespace eris::storage
