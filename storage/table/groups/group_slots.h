// Finds numbers, of groups or of strings, by 32 bits of hash. Belongs to one GroupTable; no latch.
//
// A bucket is a cache line: up to 7 numbers, each with its hash, so a search that finds nothing
// reads one line, and growth reads no group. More than 7 are chained. The table grows by one bucket
// at a time, in the order of their indexes: bucket i is divided between i and i + two to the power
// of the round. So no addition takes much longer than the others, however large the table is.
// Paper: Litwin, Linear Hashing.
#ifndef ERIS_STORAGE_TABLE_GROUP_SLOTS_H_
#define ERIS_STORAGE_TABLE_GROUP_SLOTS_H_

#include <bit>
#include <cstdint>

#include "base/cache_line.h"
#include "base/prefetch.h"
#include "storage/table/groups/group_pages.h"

namespace eris::storage {

class GroupSlots {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // `source` outlives it. Throws std::bad_alloc.
  explicit GroupSlots(PageSource& source);

  // Fetches the line that a search for that hash reads first.
  void Prefetch(uint32_t hash) const { base::Prefetch(&BucketOf(hash)); }
  // The first number under that hash for which same(number). kNone: there is none.
  template <class Same>
  uint32_t Find(uint32_t hash, Same same) const {
    for (const Bucket* bucket = &BucketOf(hash);; bucket = &Chained(bucket->next)) {
      for (uint32_t found = bucket->Matches(hash); found != 0; found &= found - 1) {
        const uint32_t number = bucket->numbers[std::countr_zero(found)];
        if (same(number)) return number;
      }
      if (bucket->next == 0) return kNone;
    }
  }
  // Makes room for one number more. False: refused; nothing has changed. Throws std::bad_alloc.
  [[nodiscard]] bool Reserve();
  // REQUIRES: Reserve() since the last Add.
  void Add(uint32_t hash, uint32_t number);

  // As RecordPages::FreeSome.
  bool FreeSome(uint32_t& pages) { return chained_.FreeSome(pages) || buckets_.FreeSome(pages); }

 private:
  static constexpr uint32_t kSlots = 7;
  struct alignas(base::kCacheLineBytes) Bucket {
    uint32_t hashes[kSlots];
    uint32_t next;  // a bucket of chained_, by its index plus 1; 0: none. Then all slots are taken
    uint32_t numbers[kSlots];
    uint32_t taken;

    // Bit i: slot i has that hash. Without a branch, which would often be mispredicted.
    uint32_t Matches(uint32_t hash) const {
      uint32_t found = 0;
      for (uint32_t i = 0; i < kSlots; ++i) found |= uint32_t{hashes[i] == hash} << i;
      return found & ((1u << taken) - 1);
    }
  };
  static_assert(sizeof(Bucket) == base::kCacheLineBytes);
  static constexpr uint32_t kFirstBuckets = 8;  // a power of two
  static constexpr uint32_t kFirstChained = 2;

  Bucket& At(uint32_t bucket) const { return *reinterpret_cast<Bucket*>(buckets_.At(bucket)); }
  Bucket& Chained(uint32_t next) const { return *reinterpret_cast<Bucket*>(chained_.At(next - 1)); }
  Bucket& BucketOf(uint32_t hash) const {
    const uint32_t divided = hash & (2 * round_mask_ + 1);
    return At(divided < bucket_count_ ? divided : hash & round_mask_);
  }
  // Half of the slots at most, on average: fewer than 1 bucket in 20 then has a chain.
  bool Full() const { return (count_ + 1) * 2 > uint64_t{bucket_count_} * kSlots; }
  void Put(Bucket* bucket, uint32_t hash, uint32_t number);
  void Divide();

  RecordPages buckets_;
  RecordPages chained_;
  uint64_t count_ = 0;
  uint32_t bucket_count_ = kFirstBuckets;
  uint32_t round_mask_ = kFirstBuckets - 1;  // buckets at the beginning of the round, minus 1
  uint32_t chained_used_ = 0;                // of chained_, the free ones among them
  uint32_t chained_free_ = 0;                // list by `next`
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_SLOTS_H_
