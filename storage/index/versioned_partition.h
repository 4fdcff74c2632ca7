// A partition of an index that scans can read as of a snapshot. Rows are changed in place; the old
// values that a held snapshot needs are read before the write and kept in a VersionTable. Wraps any
// partition whose rows are in key order: u64 values, byte strings, two-part keys. While no snapshot
// is held it only forwards calls. Runs on the thread of the AEU that owns it. Paper: ERIS 3.1
// (MVCC); docs/internals/snapshots.md.
#ifndef ERIS_STORAGE_INDEX_VERSIONED_PARTITION_H_
#define ERIS_STORAGE_INDEX_VERSIONED_PARTITION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memory/local_cache.h"
#include "storage/index/version_table.h"
#include "storage/ordered_partition.h"

namespace eris::storage {

class VersionedPartition final : public OrderedPartition {
 public:
  struct Form {
    bool two_parts = false;
    bool byte_strings = false;
  };
  // `rows` allocates from `cache` too. Errors: ResourceExhausted.
  static absl::StatusOr<std::unique_ptr<VersionedPartition>> Create(
      std::unique_ptr<OrderedPartition> rows, memory::LocalCache& cache, Form form);

  const Range& range() const override { return rows_->range(); }
  uint64_t size() const override { return rows_->size(); }

  // A write is refused with kNoMemory if there is no memory to keep what a held snapshot needs. An
  // erase always works: instead, the snapshots that would miss the row can no longer be read here.
  void Execute(const Batch& batch) override;

  // At cursor.snapshot, if there is one: plain slices between the keys that have a record for it,
  // and the records' values at those keys. cursor.snapshot_lost: it cannot be read here. Cost at a
  // snapshot: one search for each key written since.
  void Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) override;
  void Aggregate(ScanCursor& cursor, const ScanBudget& budget, RangeAggregate& out) override;

  // Versions move with their rows, in O(depth) if the rows do. If there is no memory for that, the
  // range still moves and the versions are lost.
  absl::StatusOr<std::unique_ptr<OrderedPartition>> SplitAt(const Key& key) override;
  absl::Status Absorb(OrderedPartition& other) override;
  // The chunk has the versions of its whole range, also of erased rows; its limit applies to both
  // together. Errors: ResourceExhausted also if there is no memory to copy them.
  absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                    ExchangeChunk& out) override;
  bool Forget(const SnapshotView& snapshots, uint32_t rows_max) override;
  void TakeBack() override;
  absl::Status Ingest(const ExchangeChunk& chunk) override;
  absl::Status Rehome(memory::LocalCache& cache) override;
  bool BringHome(HomeWork& work) override { return rows_->BringHome(work); }
  bool Maintain(const SnapshotView& snapshots, uint32_t rows_max) override;

  bool FreeVersions(const SnapshotView& snapshots, uint32_t records_max) override {
    return versions_->Free(snapshots, records_max);
  }
  uint64_t version_bytes() const override { return versions_->bytes(); }

  void Abandon() override {
    rows_->Abandon();
    versions_->Abandon();
  }

  // For checks and tests: the wrapped partition.
  const OrderedPartition& rows() const { return *rows_; }

 private:
  VersionedPartition(std::unique_ptr<OrderedPartition> rows, std::unique_ptr<VersionTable> versions,
                     memory::LocalCache& cache, Form form)
      : rows_(std::move(rows)), versions_(std::move(versions)), cache_(&cache), form_(form) {}

  // The write path while a snapshot is held (versioned_partition.cc).
  void ExecuteKeeping(const Batch& batch);
  // Keeps the values of the keys [from, from + count) of a part, if needed. Marks keys that must
  // not be written in the part's states, and all others as pending. True: there are such keys.
  bool KeepOld(const Batch& batch, const BatchPart& part, uint32_t from, uint32_t count);
  // Finds those of the same keys whose old values a held snapshot needs, and that have no record
  // for it. Marks all of the keys as pending.
  struct NeededKeys;
  void FindNeeded(const SnapshotView& snapshots, const BatchPart& part, uint32_t from,
                  uint32_t count, NeededKeys& out) const;

  // The slices at a snapshot (versioned_partition_scan.cc). True: the current rows are right for
  // it.
  bool Plain(ScanCursor& cursor) const;
  template <class Sink>
  void Walk(ScanCursor& cursor, const ScanBudget& budget, Sink& sink) const;
  struct RowsSink;
  struct AggregateSink;
  // All records are removed, and freed over time; snapshots that began before the newest one's end
  // can no longer be read here.
  void LoseVersions();

  // Chunks (versioned_partition_exchange.cc).
  // The part of `leaving` that a chunk may have because of its versions and, unless it is nullptr,
  // because of the rows with the keys `row_keys`, which are all rows there. Reads no more versions
  // than the limit allows.
  Range LimitEnd(const Range& leaving, End from, const ChunkLimit& limit,
                 const std::vector<uint64_t>* row_keys) const;
  // Copies the versions of a range. False: no memory.
  bool CopyVersions(Range range, VersionColumns& out) const;
  // Frees forgotten versions, as many as count as `rows_max` rows. True: there may be more.
  bool FreeForgotten(uint32_t rows_max);
  // Frees at once the versions that there was no memory to detach: at most one chunk's.
  void FreeLeftForgotten();

  std::unique_ptr<OrderedPartition> rows_;
  std::unique_ptr<VersionTable> versions_;
  memory::LocalCache* cache_;
  const Form form_;
  uint64_t lost_before_ = 0;  // snapshots below it cannot be read here
  std::optional<Range> lent_;
  // A forgotten range whose versions are still in the table: there was no memory to detach them.
  std::optional<Range> forgotten_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_INDEX_VERSIONED_PARTITION_H_
