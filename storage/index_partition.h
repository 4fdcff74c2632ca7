// A partition of an index: one key range of u64 -> u64, on a prefix tree in the AEU's own cache.
// Runs on the thread of the AEU that owns it. Paper: ERIS 3.1, 3.3.2.
#ifndef ERIS_STORAGE_INDEX_PARTITION_H_
#define ERIS_STORAGE_INDEX_PARTITION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memory/local_cache.h"
#include "storage/partition.h"
#include "storage/prefix_tree.h"

namespace eris::storage {

class IndexPartition final : public Partition {
 public:
  // An empty partition of `range` (an empty range is fine: a target of transfers begins so).
  // `cache` outlives the partition and everything split off it.
  // Errors: InvalidArgument (a boundary longer than 8 bytes), ResourceExhausted.
  static absl::StatusOr<std::unique_ptr<IndexPartition>> Create(const Range& range,
                                                                memory::LocalCache& cache);

  const Range& range() const override { return range_; }
  uint64_t size() const override { return tree_.size(); }

  // Keys are gathered over the parts into groups, so that many small commands run as fast as a
  // large.
  void Execute(const Batch& batch) override;
  // Reads the clock after each run of rows looked at, so a slice answers at least one run, however
  // late it is. At the end cursor.rest is empty; when rows_left ends the scan, rest is what was not
  // asked for. (index_partition_scan.cc)
  void Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) override;
  // The same; a count without a filter takes one slice, O(depth).
  void Aggregate(ScanCursor& cursor, const ScanBudget& budget, RangeAggregate& out) override;

  // The result has the same cache.
  absl::StatusOr<std::unique_ptr<Partition>> SplitAt(const Key& key) override;
  // `other` must have the same cache: blocks cannot change owner yet. An empty range is adjacent to
  // any.
  absl::Status Absorb(Partition& other) override;
  // Rows stand in key order already, so there is nothing to prepare. Errors: FailedPrecondition
  // (not the low end).
  absl::Status PrepareExtract(const Range& leaving) override;
  absl::StatusOr<bool> WalkLeaving(uint32_t) override { return true; }
  absl::StatusOr<bool> CancelExtract(uint32_t) override { return true; }
  // Needs memory for the copies alone: rows leave also where the tree has none to split itself.
  absl::Status Extract(uint32_t rows_max, ExchangeChunk& out) override;
  absl::Status Ingest(const ExchangeChunk& chunk) override;

  void Abandon() override { tree_.Abandon(); }

  // For checks and counts.
  const PrefixTree& tree() const { return tree_; }
  // For a partition that keeps more than the words in it (bytes_partition.h).
  PrefixTree& tree() { return tree_; }

 private:
  struct Group;

  IndexPartition(const Range& range, memory::LocalCache& cache) : range_(range), tree_(cache) {}

  // Of conditional writes (index_partition_conditional.cc).
  struct ConditionalGroup;
  void ExecuteConditional(const Batch& batch);
  void RunConditional(Operation operation, ConditionalGroup& group);

  void ExecuteOne(Operation operation, const BatchPart& part);
  void ExecuteGroups(const Batch& batch);
  void RunGroup(Operation operation, Group& group);
  void UpsertGroup(Group& group, uint64_t** found);

  // Takes out the rows below `cut`, which are `keys`; splits where there is memory for it, else
  // erases.
  void DropBelow(uint64_t cut, const std::vector<uint64_t>& keys);

  Range range_;
  PrefixTree tree_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_INDEX_PARTITION_H_
