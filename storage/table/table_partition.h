// A partition of a table: column segments in the partition's own memory, and for clustered tables
// an ordered index from key to row. Runs on the thread of the AEU that owns it. Paper: ERIS 3.1,
// 3.3.2.
//
// Rows are never changed where they stand. A write appends the new row and marks the old one dead;
// segments therefore hold all versions themselves:
//
//   a row was born at the epoch of the turn that appended it: rows of a segment are born in row
//   order, so "born at or before S" is a prefix of the segment;
//   it died at the epoch of the turn that marked it: a bit per row, and, while a held snapshot
//   still sees it, a record (row, epoch of death) beside the bits.
//
// A row's address never changes while it is visible to anybody: compaction appends the live rows of
// a segment anew and marks the old ones dead, like any write. So a scan's place is a number of
// segment and row, good for as long as its snapshot is held.
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
  // As IndexPartition::Create. Of a heap table the range is [i, i + 1) for the partition's number
  // i.
  static absl::StatusOr<std::unique_ptr<TablePartition>> Create(
      const Range& range, memory::LocalCache& cache, std::shared_ptr<const TableLayout> layout);
  ~TablePartition() override;

  const TableLayout& layout() const;
  const Range& range() const override;
  uint64_t size() const override;  // live rows

  // The AEU's view of the turn, for Ingest, which brings none along; it outlives the partition.
  // Without it: no snapshot is held.
  void SetSnapshots(const SnapshotView* snapshots);

  // Of clustered tables: kPutRows, kErase, kLookupRows. A row refused for want of memory answers
  // kNoMemory and changes nothing. But an erase always works: where there is no memory to keep what
  // a held snapshot sees, that snapshot is Lost.
  void Execute(const Batch& batch) override;
  // Of heap tables: appends rows [first, first + count) of `rows`, all or none. False: no memory.
  [[nodiscard]] bool Append(const RowBatch& rows, uint64_t first, uint32_t count,
                            const SnapshotView& snapshots);

  // Scanning. Segments have ascending numbers, which are never used twice. Finds the first segment
  // numbered `number` or above that may have rows at `snapshot` (0: now) and sets `number` to its
  // number; `mask`, which is allocated, keeps what has been made of it before if it is the same,
  // and is what view.kept may point to. False: there is none.
  bool FindSegment(uint64_t snapshot, uint64_t& number, SegmentMask& mask, SegmentView& view) const;
  // Whether rows that the snapshot sees are missing here: it cannot be read.
  bool Lost(uint64_t snapshot) const;
  // One above the highest number that rows have been given: where a pass ends.
  uint64_t segment_end() const;

  // Bounded background work, to be called in turns that have time. Frees what no held snapshot
  // needs; compacts a segment with many dead rows, at most `rows_max` rows a call. True: there is
  // more to do.
  bool FreeVersions(const SnapshotView& snapshots, uint32_t records_max) override;
  bool Maintain(const SnapshotView& snapshots, uint32_t rows_max) override;
  uint64_t version_bytes() const override;

  // Ranges change hands as copies, between turns that write at one epoch: those rows die here in
  // Forget as erased ones do, and are born there in Ingest as new ones are. So held snapshots find
  // them where they were, and later ones where they have gone; a chunk has living rows alone.
  // (docs/internals/tables.md)
  //
  // Rows are lent from either end, of a heap table from its last segments; nothing has to be
  // prepared. Lent rows stay where they are and move with compaction; no keyed command may ask for
  // them. A chunk has at most 16 MiB of strings, however much `limit` says, more where rows of one
  // first part have more.
  // A heap table's covers nothing.
  absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                    ExchangeChunk& out) override;
  // All in this call, which needs no memory: as for an erase, it is the snapshots that see a row
  // that are given up where there is none.
  bool Forget(const SnapshotView& snapshots, uint32_t rows_max) override;
  void SetDeath(uint64_t epoch) override;
  void TakeBack() override;
  // The rows are born at the epoch of the view (SetSnapshots). Of a heap table: an append. Errors:
  // also FailedPrecondition (a loan is out).
  absl::Status Ingest(const ExchangeChunk& chunk) override;
  // Not before snapshots that have lost rows here have ended, either.
  bool CanGo(const SnapshotView& snapshots) const override;

  void Abandon() override;
  TablePartition* table() override { return this; }

 private:
  class Body;
  explicit TablePartition(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_TABLE_PARTITION_H_
