// A partition of an index whose keys have two parts of 8 bytes: one range of first parts. A prefix
// tree holds a word per first part, and refers to a group: the rows with that first part, by second
// part (two_part_group.h). The tree counts each word as its group's rows, so a split or a count
// knows the rows of either side without walking the groups. Groups are blocks of the same cache,
// and stay in place while ranges move. Runs on the thread of the AEU that owns it. Paper: ERIS 3.1,
// 3.3.2.
#ifndef ERIS_STORAGE_INDEX_TWO_PART_PARTITION_H_
#define ERIS_STORAGE_INDEX_TWO_PART_PARTITION_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memory/local_cache.h"
#include "storage/index/two_part_group.h"
#include "storage/ordered_partition.h"
#include "storage/tree/prefix_tree.h"
#include "storage/tree/tree_range.h"

namespace eris::storage {

class TwoPartPartition final : public OrderedPartition {
 public:
  // As IndexPartition::Create; the bounds have no second parts.
  static absl::StatusOr<std::unique_ptr<TwoPartPartition>> Create(const Range& range,
                                                                  memory::LocalCache& cache);

  const Range& range() const override { return firsts_.range(); }
  uint64_t size() const override { return firsts_.size(); }

  // Each part has `seconds`.
  void Execute(const Batch& batch) override;
  // The bounds of cursor.rest may have second parts, that is, begin and end within a group; they do
  // after a slice that ended in a group. Fills out.seconds too. Reads the clock after each run of
  // rows, also within a group. (two_part_partition_scan.cc)
  void Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) override;
  // The same. A count without a filter takes one slice, O(depth).
  void Aggregate(ScanCursor& cursor, const ScanBudget& budget, RangeAggregate& out) override;

  // Cut and joined only between first parts. Errors: as IndexPartition; InvalidArgument also for a
  // key with a second part. (two_part_partition_exchange.cc)
  absl::StatusOr<std::unique_ptr<OrderedPartition>> SplitAt(const Key& key) override;
  absl::Status Absorb(OrderedPartition& other) override;
  // Lends whole groups: as many as have at most limit.rows rows together, but at least one, which
  // may have more.
  absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                    ExchangeChunk& out) override;
  bool Forget(const SnapshotView&, uint32_t rows_max) override { return firsts_.Forget(rows_max); }
  void TakeBack() override { firsts_.TakeBack(); }
  absl::Status Ingest(const ExchangeChunk& chunk) override;
  absl::Status Rehome(memory::LocalCache& cache) override { return firsts_.Rehome(cache); }
  bool BringHome(HomeWork& work) override { return firsts_.tree().BringHome(work, BringGroup); }
  bool Maintain(const SnapshotView&, uint32_t rows_max) override {
    return firsts_.Maintain(rows_max);
  }

  void Abandon() override { firsts_.Abandon(); }

  // First part -> word of the group. For checks; includes lent ones.
  const PrefixTree& tree() const { return firsts_.tree(); }
  const TreeLoan& loan() const { return firsts_.loan(); }

 private:
  struct Gathered;

  TwoPartPartition(const Range& range, memory::LocalCache& cache)
      : firsts_(range, cache, GroupRows, FreeGroups) {}

  memory::LocalCache& cache() const { return firsts_.cache(); }

  void LookupOne(const BatchPart& part);
  void RunGathered(Operation operation, Gathered& keys);
  void Lookup(Gathered& keys);
  void Erase(Gathered& keys);
  void Write(Operation operation, Gathered& keys);
  // `word`: of the key's group; `value`: the location of the row's value; nullptr if absent. True:
  // a row was added.
  bool WriteRow(Operation operation, Gathered& keys, uint32_t i, uint64_t* word, uint64_t* value);
  // Writes key `i`, whose first part was absent when the batch was searched, and the keys that
  // belong to the same new group. Returns how many keys were written.
  uint32_t WriteNewFirst(Operation operation, Gathered& keys, uint32_t i);
  // Adds `rows` ascending keys of one first part as a new group. False: no memory, or the first
  // part exists (then `there` is the location of its word).
  bool InsertGroup(Operation operation, Gathered& keys, uint32_t i, uint32_t rows,
                   uint64_t*& there);

  uint64_t CountBetween(const Range& rows) const;

  TreeRange firsts_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_INDEX_TWO_PART_PARTITION_H_
