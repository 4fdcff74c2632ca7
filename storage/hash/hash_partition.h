// A partition of a hash object: one key range of u64 -> u64 on a hash table in the AEU's own cache.
// Runs on the thread of the AEU that owns it. Paper: ERIS 3.1, 3.3.2.
//
// A hash has no order by key: it is not scanned, and cannot be cut in O(depth). It moves only by
// copy.
//
// How rows leave. A chunk of the exchange format takes all rows of a range of keys, and these are
// scattered over the whole table. So the extraction is prepared. PrepareExtract says which end of
// the range will leave. WalkLeaving, called once per turn with a bound, walks the table once and
// moves those rows into a prefix tree next to it. Then Lend takes sorted chunks from either end of
// that tree, as an index does.
//
// Meanwhile all keys are served. A key of the leaving range is looked up in the tree, then in the
// table; a new one is added to the tree, so a walk never misses it. If the tree has no memory for a
// row, the row stays in the table and the walk stops there: ResourceExhausted.
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
  // An empty partition of `range` (an empty range is allowed). `cache` outlives it. Two partitions
  // of an object have different seeds, which are kept secret.
  // Errors: InvalidArgument (a boundary longer than 8 bytes), ResourceExhausted.
  static absl::StatusOr<std::unique_ptr<HashPartition>> Create(const Range& range,
                                                               memory::LocalCache& cache,
                                                               uint64_t seed);

  const Range& range() const override { return range_; }
  uint64_t size() const override;
  ~HashPartition() override;

  // Gathers the keys of all parts into groups, so that many small commands run as fast as a large
  // one.
  void Execute(const Batch& batch) override;

  // See Preparation. If a walk has no memory, all keys are still served as before. WalkLeaving
  // during a cancellation begins the walk again.
  absl::Status PrepareExtract(const Range& leaving) override;
  absl::StatusOr<bool> WalkLeaving(uint32_t rows_max) override;
  absl::StatusOr<bool> CancelExtract(uint32_t rows_max) override;
  Preparation* preparation() override { return this; }
  // From PrepareExtract until the last chunk, or until cancellation has ended.
  bool prepared() const { return leaving_ != nullptr; }
  // The rest of the prepared range. REQUIRES: prepared().
  const Range& leaving() const { return leaving_->range; }
  // Rows that are already in the tree.
  uint64_t prepared_rows() const {
    return leaving_ == nullptr ? 0 : leaving_->rows.size() - loan_.hidden_rows();
  }

  // See Exchange. `leaving` must be the prepared range, or what is left of it. The last chunk takes
  // all of the rest, and the preparation ends when it is forgotten.
  absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                    ExchangeChunk& out) override;
  bool Forget(const SnapshotView& snapshots, uint32_t rows_max) override;
  void TakeBack() override;
  // Frees rows that Forget has not freed.
  bool Maintain(const SnapshotView& snapshots, uint32_t rows_max) override;
  // See Exchange. If refused for lack of memory, rows and range are as before, but segments that
  // have grown for it may stay larger. Errors: also FailedPrecondition (rows are prepared to
  // leave).
  absl::Status Ingest(const ExchangeChunk& chunk) override;

  void Abandon() override;

  // For checks and statistics.
  const HashTable& table() const { return table_; }
  // Including lent rows. REQUIRES: prepared().
  const PrefixTree& leaving_rows() const { return leaving_->rows; }

 private:
  struct Group;

  // Rows on their way out.
  struct Leaving {
    Leaving(const Range& leaving_range, memory::LocalCache& cache)
        : range(leaving_range), rows(cache) {}
    Range range;  // without the lent part
    HashCursor walk;
    bool given_up = false;  // cancelled: the rows move back
    PrefixTree rows;
  };

  HashPartition(const Range& range, memory::LocalCache& cache, uint64_t seed)
      : range_(range), table_(cache, seed) {}

  void Run(Operation operation, Group& group);
  void RunLookups(const Group& group) const;
  // kHashGroupMax one-part keys of one part, not gathered.
  void LookupWholeGroup(const BatchPart& part, uint32_t begin) const;
  void RunUpserts(const Group& group);
  void RunErases(const Group& group);

  // Conditional writes (hash_partition_conditional.cc).
  struct ConditionalGroup;
  void ExecuteConditional(const Batch& batch);
  void RunConditional(Operation operation, ConditionalGroup& group);
  void WriteLeaving(Operation operation, const BatchPart& part, uint32_t index);

  bool IsLeaving(uint64_t key) const {
    return leaving_ != nullptr && leaving_->range.ContainsU64(key);
  }
  // For keys of the leaving range. Find: the location of the value, in the tree or in the table
  // (nullptr: the key is absent), valid until the next write. Insert: adds an absent key (false: no
  // memory).
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
