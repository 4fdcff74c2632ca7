// A partition of a table: column segments in the partition's own memory, and for clustered tables
// an ordered index from key to row. Runs on the thread of the AEU that owns it. Paper: ERIS 3.1,
// 3.3.2.
//
// Rows are never changed in place. A write appends the new row and marks the old one dead, so
// segments hold all versions themselves:
//
//   a row was born at the epoch of the turn that appended it: rows of a segment are born in row
//   order, so "born at or before S" is a prefix of the segment;
//   it died at the epoch of the turn that marked it: a bit per row and, while a held snapshot still
//   sees it, a record (row, epoch of death).
//
// A row's address never changes while any reader sees it: compaction appends the live rows of a
// segment again and marks the old ones dead, like any write. So a scan's position is a segment
// number and a row, valid for as long as its snapshot is held.
#ifndef ERIS_STORAGE_TABLE_TABLE_PARTITION_H_
#define ERIS_STORAGE_TABLE_TABLE_PARTITION_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memory/local_cache.h"
#include "storage/partition.h"
#include "storage/snapshot_view.h"
#include "storage/table/rows/segment_mask.h"
#include "storage/table/rows/segment_view.h"
#include "storage/table/rows/table_layout.h"

namespace eris::storage {

class TablePartition final : public Partition {
 public:
  // As IndexPartition::Create. For a heap table the range is [i, i + 1) for the partition's number
  // i.
  static absl::StatusOr<std::unique_ptr<TablePartition>> Create(
      const Range& range, memory::LocalCache& cache, std::shared_ptr<const TableLayout> layout);
  ~TablePartition() override;

  const TableLayout& layout() const;
  const Range& range() const override;
  uint64_t size() const override;  // live rows

  // The AEU's view of the turn, for Ingest, which has no such argument; it outlives the partition.
  // Without it: no snapshot is held.
  void SetSnapshots(const SnapshotView* snapshots);

  // For clustered tables: kPutRows, kErase, kLookupRows. A row without memory answers kNoMemory and
  // changes nothing. But an erase always works: if there is no memory to keep what a held snapshot
  // sees, that snapshot is Lost.
  void Execute(const Batch& batch) override;
  // For heap tables: appends rows [first, first + count) of `rows`, all or none. False: no memory.
  [[nodiscard]] bool Append(const RowBatch& rows, uint64_t first, uint32_t count,
                            const SnapshotView& snapshots);

  // Scanning. Segments have ascending numbers, which are never reused. Finds the first segment with
  // at least `number` that may have rows at `snapshot` (0: now), and sets `number`. `mask` must be
  // allocated; it keeps its blocks if the selection is the same, and view.kept may point to it.
  // False: there is none.
  bool FindSegment(uint64_t snapshot, uint64_t& number, SegmentMask& mask, SegmentView& view) const;
  // Whether rows that the snapshot should see are missing: it cannot be read here.
  bool Lost(uint64_t snapshot) const;
  // One above the highest number of a segment with rows: where a pass ends.
  uint64_t segment_end() const;

  // Bounded background work, for turns with spare time. Frees what no held snapshot needs; compacts
  // a segment with many dead rows, at most `rows_max` rows per call. True: there is more to do.
  bool FreeVersions(const SnapshotView& snapshots, uint32_t records_max) override;
  bool Maintain(const SnapshotView& snapshots, uint32_t rows_max) override;
  uint64_t version_bytes() const override;

  // Ranges move as copies, between turns that write at one epoch: the rows die here in Forget like
  // erased ones, and are born there in Ingest like new ones. So held snapshots find them here, and
  // later ones there; a chunk has only live rows. (docs/internals/tables.md)
  //
  // Rows are lent from either end, for a heap table from its last segments; no preparation is
  // needed. Lent rows stay in place; no command with keys may ask for them. A chunk has at most 16
  // MiB of strings, whatever `limit` says, but more if the rows of one first part have more.
  // A heap table's chunk covers no keys.
  absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                    ExchangeChunk& out) override;
  // Forgets all rows in this call, and needs no memory: as for an erase, if there is none the
  // snapshots that see a row are given up.
  bool Forget(const SnapshotView& snapshots, uint32_t rows_max) override;
  void SetDeath(uint64_t epoch) override;
  void TakeBack() override;
  // The rows are born at the epoch of the view (SetSnapshots). For a heap table: an append. Errors:
  // also FailedPrecondition (a loan is out).
  absl::Status Ingest(const ExchangeChunk& chunk) override;
  // Also waits for the end of snapshots that have lost rows here.
  bool CanGo(const SnapshotView& snapshots) const override;

  // Whole segments of a heap table change hands without a copy, those at the end first: as many as
  // have `rows_max` rows together, but a bounded number. Scans at later snapshots must not begin
  // before another partition of the table, or this one again, has taken them.
  // Errors: Aborted (a snapshot is held: later, perhaps), FailedPrecondition (no segment with so
  // few rows; a loan is out), ResourceExhausted; then nothing has changed.
  absl::Status CutSegments(uint64_t rows_max, const SnapshotView& snapshots, SegmentsOut& out);
  // How it ended: either they are gone for good, or they come back, which needs no memory.
  void SegmentsAreGone();
  void TakeSegmentsBack(SegmentsOut& in);
  // Those of another partition; empties `in`. Errors: ResourceExhausted; then nothing has changed.
  absl::Status TakeSegments(SegmentsOut& in);
  // For heap tables; the walk goes by the segments' numbers, and its second part by their arrays.
  bool BringHome(HomeWork& work) override;

  void Abandon() override;
  TablePartition* table() override { return this; }

 private:
  class Body;
  explicit TablePartition(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_TABLE_PARTITION_H_
