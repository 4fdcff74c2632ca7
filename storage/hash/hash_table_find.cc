// Reading many rows of a hash table: the batched lookup and the walk in hash order.
#include <algorithm>

#include "base/check.h"
#include "storage/hash/hash_table.h"

namespace eris::storage {

void HashTable::FindGroup(const uint64_t* keys, uint32_t count, uint64_t** values) const {
  if (directory_ == nullptr) {
    std::fill_n(values, count, nullptr);
    return;
  }
  SearchGroup(keys, count, [=](uint32_t i, uint64_t* value, uint32_t absent) {
    values[i] =
        reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(value) & (uintptr_t{absent} - 1));
  });
}

namespace {

// Buckets whose rows a walk takes at once.
constexpr uint32_t kHomesPerRun = 16;
// Rows are stored in their bucket or less than kProbeBuckets behind it.
constexpr uint32_t kRunRowsMax = (kHomesPerRun + kProbeBuckets - 1) * kBucketRows;

struct RunRow {
  uint64_t hash;
  uint64_t key;
  uint64_t value;
};

// Gathers the rows of `segment` with hashes from `first` to `last`, which begin in the buckets
// [home, home_end). Returns their number.
uint32_t GatherRun(const HashSegment& segment, const HashMix& mix, uint64_t first, uint64_t last,
                   uint32_t home, uint32_t home_end, RunRow* rows) {
  uint32_t count = 0;
  const Bucket* bucket = segment.buckets() + home;
  const Bucket* const end = segment.buckets() + home_end;
  for (; bucket < end || bucket[-1].Full(segment.marker); ++bucket) {
    for (uint32_t i = 0; i < kBucketRows && bucket->keys[i] != segment.marker; ++i) {
      const uint64_t hash = mix(bucket->keys[i]);
      if (hash < first || hash > last) continue;
      ERIS_DCHECK(count < kRunRowsMax);
      rows[count++] = RunRow{hash, bucket->keys[i], bucket->values[i]};
    }
  }
  return count;
}

}  // namespace

uint32_t HashTable::Read(HashCursor& cursor, uint64_t* keys, uint64_t* values,
                         uint32_t rows_max) const {
  uint32_t rows = 0;
  if (directory_ == nullptr) cursor.done = true;
  while (!cursor.done && rows < rows_max) {
    const HashSegment& segment = *EntryOf(cursor.next_hash).segment();
    const uint32_t home = segment.HomeOf(cursor.next_hash);
    const uint32_t home_end = std::min(home + kHomesPerRun, segment.homes);
    const uint64_t last =
        home_end == segment.homes ? segment.last_hash() : segment.FirstHashAt(home_end) - 1;
    RunRow run[kRunRowsMax];
    uint32_t count = GatherRun(segment, mix_, cursor.next_hash, last, home, home_end, run);
    uint64_t done_to = last;
    // then take the lowest hashes, and leave the cursor between them
    if (count > rows_max - rows) {
      std::sort(run, run + count, [](const RunRow& a, const RunRow& b) { return a.hash < b.hash; });
      count = rows_max - rows;
      done_to = run[count - 1].hash;
    }
    for (uint32_t i = 0; i < count; ++i, ++rows) {
      keys[rows] = run[i].key;
      values[rows] = run[i].value;
    }
    cursor.next_hash = done_to + 1;
    cursor.done = cursor.next_hash == 0;
  }
  return rows;
}

}  // namespace eris::storage
