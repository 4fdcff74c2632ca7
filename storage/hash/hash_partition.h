// A partition of a hash object: one key range of u64 -> u64 on a hash table in the AEU's own cache.
// Runs on the thread of the AEU that owns it. Paper: ERIS 3.1, 3.3.2.
//
// A hash has no order by key: it is not scanned, and cannot be cut in O(depth). It moves by copy.
//
// How rows leave. A chunk of the exchange format takes all rows of a range of keys along, and these
// lie all over the table. So an extraction is prepared: PrepareExtract says which end of the range
// is going to leave, and WalkLeaving, called once a turn with a bound, walks the table once and
// moves those rows into a prefix tree beside it. From then on Lend takes sorted chunks from either
// end of that tree, as an index does. Meanwhile everything is served: a key of the leaving range is
// looked for in the tree, then in the table; a new one goes to the tree, so that a walk never
// misses it. A row that the tree has no memory for stays where it is and the walk stops there:
// ResourceExhausted.
#ifndef ERIS_STORAGE_HASH_HASH_PARTITION_H_
#define ERIS_STORAGE_HASH_HASH_PARTITION_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memory/local_cache.h"
#include "storage/hash/hash_table.h"
#include "storage/partition.h"
#include "storage/tree/prefix_tree.h"
#include "storage/tree/tree_loan.h"

namespace eris::storage {

class HashPartition final : public Partition, public Preparation {
 public:
  // An empty partition of `range` (an empty range is fine). `cache` outlives it. Two partitions of
  // an object have different seeds; nobody outside learns them.
  // Errors: InvalidArgument (a boundary longer than 8 bytes), ResourceExhausted.
  static absl::StatusOr<std::unique_ptr<HashPartition>> Create(const Range& range,
                                                               memory::LocalCache& cache,
                                                               uint64_t seed);

  const Range& range() const override { return range_; }
  uint64_t size() const override;
  ~HashPartition() override;

  // Keys are gathered over the parts into groups, so that many small commands run as fast as a
  // large one.
  void Execute(const Batch& batch) override;

  // As Preparation says. A walk that is refused for want of memory leaves everything served as
  // before. WalkLeaving while it is being given up begins the walk anew.
  absl::Status PrepareExtract(const Range& leaving) override;
  absl::StatusOr<bool> WalkLeaving(uint32_t rows_max) override;
  absl::StatusOr<bool> CancelExtract(uint32_t rows_max) override;
  Preparation* preparation() override { return this; }
  // Between PrepareExtract and the last chunk, or the end of giving up.
  bool prepared() const { return leaving_ != nullptr; }
  // What is left of the prepared range. REQUIRES: prepared().
  const Range& leaving() const { return leaving_->range; }
  // Rows that wait in the tree.
  uint64_t prepared_rows() const {
    return leaving_ == nullptr ? 0 : leaving_->rows.size() - loan_.hidden_rows();
  }

  // As Exchange says, of the range that has been prepared, or what is left of it: `leaving` is
  // that. The last chunk takes the rest of it along, and when it is forgotten the preparation has
  // ended.
  absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                    ExchangeChunk& out) override;
  bool Forget(const SnapshotView& snapshots, uint32_t rows_max) override;
  void TakeBack() override;
  // Frees what Forget has left.
  bool Maintain(const SnapshotView& snapshots, uint32_t rows_max) override;
  // As Exchange says. Refused for want of memory, rows and range are as before, while segments
  // that have grown for it may stay larger. Errors: also FailedPrecondition (rows are prepared to
  // leave).
  absl::Status Ingest(const ExchangeChunk& chunk) override;

  void Abandon() override;

  // For checks and counts.
  const HashTable& table() const { return table_; }
  // With those that are lent. REQUIRES: prepared().
  const PrefixTree& leaving_rows() const { return leaving_->rows; }

 private:
  struct Group;

  // Rows on their way out.
  struct Leaving {
    Leaving(const Range& leaving_range, memory::LocalCache& cache)
        : range(leaving_range), rows(cache) {}
    Range range;  // less what is lent
    HashCursor walk;
    bool given_up = false;  // the rows are on their way back
    PrefixTree rows;
  };

  HashPartition(const Range& range, memory::LocalCache& cache, uint64_t seed)
      : range_(range), table_(cache, seed) {}

  void Run(Operation operation, Group& group);
  void RunLookups(const Group& group) const;
  // kHashGroupMax keys of one part, not gathered.
  void LookupWholeGroup(const BatchPart& part, uint32_t begin) const;
  void RunUpserts(const Group& group);
  void RunErases(const Group& group);

  // Of conditional writes (hash_partition_conditional.cc).
  struct ConditionalGroup;
  void ExecuteConditional(const Batch& batch);
  void RunConditional(Operation operation, ConditionalGroup& group);
  void WriteLeaving(Operation operation, const BatchPart& part, uint32_t index);

  bool IsLeaving(uint64_t key) const {
    return leaving_ != nullptr && leaving_->range.ContainsU64(key);
  }
  // Keys of the leaving range: where the value stands, in the tree or in the table (nullptr: the
  // key is absent), good until the next write; adding a key that is absent (false: no memory).
  uint64_t* FindLeaving(uint64_t key);
  bool InsertLeaving(uint64_t key, uint64_t value);
  // All but conditional writes.
  KeyState ExecuteLeaving(Operation operation, uint64_t key, uint64_t value_in,
                          uint64_t* value_out);

  Range range_;
  HashTable table_;
  std::unique_ptr<Leaving> leaving_;
  TreeLoan loan_;  // of the leaving rows
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_HASH_HASH_PARTITION_H_
