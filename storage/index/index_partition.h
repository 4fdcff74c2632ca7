// A partition of an index: one key range of u64 -> u64, on a prefix tree in the AEU's own cache.
// Runs on the thread of the AEU that owns it. Paper: ERIS 3.1, 3.3.2.
#ifndef ERIS_STORAGE_INDEX_INDEX_PARTITION_H_
#define ERIS_STORAGE_INDEX_INDEX_PARTITION_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memory/local_cache.h"
#include "storage/ordered_partition.h"
#include "storage/tree/prefix_tree.h"
#include "storage/tree/tree_range.h"

namespace eris::storage {

class IndexPartition final : public OrderedPartition {
 public:
  // An empty partition of `range` (an empty range is allowed: a transfer's target begins with one).
  // `cache` outlives the partition and everything split off it. `free_values` is for values that
  // refer to memory outside the word (bytes_partition.h): it is called for rows that are forgotten,
  // and for those left when the partition is destroyed.
  // Errors: InvalidArgument (a boundary longer than 8 bytes), ResourceExhausted.
  static absl::StatusOr<std::unique_ptr<IndexPartition>> Create(
      const Range& range, memory::LocalCache& cache, PrefixTree::FreeValues free_values = nullptr);

  const Range& range() const override { return rows_.range(); }
  uint64_t size() const override { return rows_.size(); }

  // Gathers the keys of all parts into groups, so that many small commands run as fast as a large
  // one.
  void Execute(const Batch& batch) override;
  // Reads the clock after each run of rows, so a slice answers at least one run, however late it
  // is. At the end cursor.rest is empty; if rows_left ended the scan, rest is what was not read.
  // (index_partition_scan.cc)
  void Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) override;
  // The same. A count without a filter takes one slice, O(depth).
  void Aggregate(ScanCursor& cursor, const ScanBudget& budget, RangeAggregate& out) override;

  // Moving ranges (index_partition_exchange.cc). The result has the same cache.
  absl::StatusOr<std::unique_ptr<OrderedPartition>> SplitAt(const Key& key) override;
  // `other` must have the same cache (Rehome). An empty range is adjacent to any.
  absl::Status Absorb(OrderedPartition& other) override;
  // Needs memory only for the copies: rows can leave even if the tree has no memory to split
  // itself.
  absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                    ExchangeChunk& out) override;
  bool Forget(const SnapshotView&, uint32_t rows_max) override { return rows_.Forget(rows_max); }
  void TakeBack() override { rows_.TakeBack(); }
  absl::Status Ingest(const ExchangeChunk& chunk) override;
  // Ingests `count` rows that are not in a chunk; ascending keys of `covers`, which the caller has
  // checked.
  absl::Status IngestRows(const Range& covers, const uint64_t* keys, const uint64_t* values,
                          size_t count);
  absl::Status Rehome(memory::LocalCache& cache) override { return rows_.Rehome(cache); }
  bool BringHome(HomeWork& work) override { return rows_.tree().BringHome(work); }
  // Frees rows that Forget has not freed.
  bool Maintain(const SnapshotView&, uint32_t rows_max) override {
    return rows_.Maintain(rows_max);
  }

  void Abandon() override { rows_.Abandon(); }

  // For checks and statistics. The tree may hold more rows than the partition: the lent ones.
  const PrefixTree& tree() const { return rows_.tree(); }
  const TreeLoan& loan() const { return rows_.loan(); }
  // For a partition whose words refer to other memory (bytes_partition.h).
  PrefixTree& tree() { return rows_.tree(); }

 private:
  IndexPartition(const Range& range, memory::LocalCache& cache, PrefixTree::FreeValues free_values)
      : rows_(range, cache, nullptr, free_values), free_values_(free_values) {}

  // Conditional writes (index_partition_conditional.cc).
  struct ConditionalGroup;
  void ExecuteConditional(const Batch& batch);
  void RunConditional(Operation operation, ConditionalGroup& group);

  void ExecuteOne(Operation operation, const BatchPart& part);
  struct GroupKeys;
  struct InOrder;
  struct Gathered;
  void ExecuteGroups(const Batch& batch);
  // Whole groups of a part without positions, where they are. Returns how many keys that is.
  uint32_t ExecuteInOrder(Operation operation, const BatchPart& part);
  // `answers`: InOrder or Gathered.
  template <class Answers>
  void RunGroup(Operation operation, const GroupKeys& group, const Answers& answers);
  template <class Answers>
  void UpsertGroup(const GroupKeys& group, uint64_t** found, const Answers& answers);

  TreeRange rows_;
  const PrefixTree::FreeValues free_values_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_INDEX_INDEX_PARTITION_H_
