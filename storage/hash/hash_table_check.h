// Walks over a whole hash table and verifies the invariants of its operations. For tests and
// debugging: it costs a hash per row. Single-threaded.
#ifndef ERIS_STORAGE_HASH_HASH_TABLE_CHECK_H_
#define ERIS_STORAGE_HASH_HASH_TABLE_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "storage/hash/hash_table.h"

namespace eris::storage {

// Verifies: the directory has each segment at all of its hashes and nowhere else. Every row's hash
// belongs to its segment, is found from its bucket on within kProbeBuckets, and occurs once. Free
// slots come after used ones. The last bucket has a free slot. The counts of rows, of segments and
// of their depths are right. Errors: Internal, with the first fault and its segment.
absl::Status CheckHashTable(const HashTable& table);

class HashTableChecker {
 public:
  explicit HashTableChecker(const HashTable& table) : table_(table) {}

  absl::Status Check() const;

  // For tests that plant faults. REQUIRES: the table is not empty.
  HashSegment* SegmentOf(uint64_t key) const { return EntryOf(key).segment(); }
  SegmentRef& EntryOf(uint64_t key) const { return table_.EntryOf(table_.mix_(key)); }
  Bucket* BucketOf(uint64_t key) const { return EntryOf(key).BucketOf(table_.mix_(key)); }
  uint32_t& RowsOf(uint64_t key) const {
    const uint64_t hash = table_.mix_(key);
    return table_.RowsAt(hash, table_.EntryOf(hash).depth());
  }
  // The bytes of its blocks in the cache, found by walking over them.
  uint64_t BlockBytes() const;
  // For statistics.
  uint64_t segments() const { return table_.segments_; }
  uint32_t depth() const { return table_.depth_; }

 private:
  absl::Status CheckSegment(const HashSegment& segment) const;
  absl::Status CheckBucket(const HashSegment& segment, uint32_t at) const;
  absl::Status CheckRow(const HashSegment& segment, uint32_t at, uint64_t key) const;

  const HashTable& table_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_HASH_HASH_TABLE_CHECK_H_
