// A partition of a hash object: one key range of u64 -> u64 on a hash table in the AEU's own cache.
// Runs on the thread of the AEU that owns it. Paper: ERIS 3.1, 3.3.2.
//
// A hash has no order by key, so two things differ from an index:
// - A scan follows the hash (ScanHashed); rows come in no order that means anything outside, but
//   each exactly once. Scan itself keeps its contract, rows in key order, at the price of a pass
//   over the whole table for each slice: it is for small partitions.
// - It cannot be cut in O(depth): SplitAt and Absorb answer FailedPrecondition. It moves by copy.
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
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memory/local_cache.h"
#include "storage/hash/hash_table.h"
#include "storage/partition.h"
#include "storage/tree/prefix_tree.h"
#include "storage/tree/tree_loan.h"

namespace eris::storage {

// A scan's place in a hash partition: a hash, which stays good whatever is written.
struct HashScanCursor {
  Range rest;  // the keys asked for; does not shrink
  uint64_t rows_left = std::numeric_limits<uint64_t>::max();
  HashCursor at{};
  bool done = false;
};

class HashPartition final : public Partition {
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

  // Rows of cursor.rest from the cursor's hash on, until `out` is full, the budget is spent or the
  // cursor is done. A row that is there from the first slice to the last comes exactly once; one
  // that is written meanwhile comes once or not at all, and what came was there at that moment. A
  // slice reads at least one run of rows, which may all lie outside `rest`.
  // Errors: FailedPrecondition (rows are prepared to leave; the scan goes on when none are).
  // REQUIRES: !cursor.done.
  absl::Status ScanHashed(HashScanCursor& cursor, const ScanBudget& budget, ScanRows& out) const;
  // In key order, for the sake of the interface, in both directions and with the query's filter: a
  // pass over all rows for each call, whatever the budget. O(size + out.capacity * log
  // out.capacity).
  void Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) override;

  // Errors: FailedPrecondition, always: a hash moves by copy.
  absl::StatusOr<std::unique_ptr<Partition>> SplitAt(const Key& key) override;
  absl::Status Absorb(Partition& other) override;

  // Says that the rows of `leaving`, which is an end of range() or all of it, are going to leave.
  // Touches no row. Errors: InvalidArgument (not an end of the range), FailedPrecondition (others
  // are prepared).
  absl::Status PrepareExtract(const Range& leaving) override;
  // Goes on with the preparation, over at most `rows_max` (>= 1) rows. True: it is complete.
  // Errors: ResourceExhausted (it goes on where it stopped; everything is served as before).
  absl::StatusOr<bool> WalkLeaving(uint32_t rows_max) override;
  // Gives the preparation up: takes up to `rows_max` rows back into the table. True: none are left
  // and no extraction is prepared. WalkLeaving or Extract in between begin the walk anew. Errors:
  // ResourceExhausted (as above).
  absl::StatusOr<bool> CancelExtract(uint32_t rows_max) override;
  // Between PrepareExtract and the last chunk, or the end of giving up.
  bool prepared() const { return leaving_ != nullptr; }
  // What is left of the prepared range. REQUIRES: prepared().
  const Range& leaving() const { return leaving_->range; }
  // Rows that wait in the tree.
  uint64_t prepared_rows() const {
    return leaving_ == nullptr ? 0 : leaving_->rows.size() - loan_.hidden_rows();
  }

  // As Partition says, of the range that has been prepared, or what is left of it: `leaving` is
  // that. The last chunk takes the rest of it along, and when it is forgotten the preparation has
  // ended.
  absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                    ExchangeChunk& out) override;
  bool Forget(const SnapshotView& snapshots, uint32_t rows_max) override;
  void TakeBack() override;
  // Frees what Forget has left.
  bool Maintain(const SnapshotView& snapshots, uint32_t rows_max) override;
  // As Partition says, from the end of the range that has been prepared. A preparation that is not
  // complete is completed first, in one go; without one, that of the whole range: a pass over the
  // table that holds up the turn. Errors: ResourceExhausted (no row has left; a preparation of its
  // own is given up, and where even that has no memory it lasts until CancelExtract has ended it).
  absl::Status Extract(uint32_t rows_max, ExchangeChunk& out) override;
  // As Partition says. Refused for want of memory, rows and range are as before, while segments
  // that have grown for it may stay larger. Errors: also FailedPrecondition (rows are prepared to
  // leave).
  absl::Status Ingest(const ExchangeChunk& chunk) override;

  void Abandon() override;

  // For checks and counts.
  const HashTable& table() const { return table_; }

 private:
  struct Group;
  class Smallest;

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
  absl::Status ExtractPrepared(uint32_t rows_max, ExchangeChunk& out);

  Range range_;
  HashTable table_;
  std::unique_ptr<Leaving> leaving_;
  TreeLoan loan_;  // of the leaving rows
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_HASH_HASH_PARTITION_H_
