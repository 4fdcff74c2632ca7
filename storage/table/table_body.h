// The parts of a TablePartition: segments, for clustered tables the index from keys to rows, and
// the operations on both. Private to storage/table/. Used by the thread of the AEU that owns the
// partition.
//
//   table_partition.cc     calls and their checks
//   table_body.cc          appending, writing and erasing rows
//   table_lookup.cc        answering rows, segments for scans
//   table_maintain.cc      old versions, compaction
//   table_loan.cc          rows that another AEU takes over: lend, forget, take back
//   table_ingest.cc        rows that come from another AEU
//   table_segments.cc      whole segments that change hands
#ifndef ERIS_STORAGE_TABLE_TABLE_BODY_H_
#define ERIS_STORAGE_TABLE_TABLE_BODY_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/table/output_columns.h"
#include "storage/table/rows/key_index.h"
#include "storage/table/rows/segment.h"
#include "storage/table/table_partition.h"

namespace eris::storage {

class TablePartition::Body {
 public:
  Body(const Range& range, memory::LocalCache& cache, std::shared_ptr<const TableLayout> layout,
       std::optional<KeyIndex> keys);
  ~Body();

  memory::LocalCache& cache() const { return cache_; }
  const TableLayout& layout() const { return *layout_; }
  const Range& range() const { return range_; }
  uint64_t size() const { return (keys_ ? keys_->size() : heap_rows_) - (loan_ ? loan_->rows : 0); }
  void SetSnapshots(const SnapshotView* snapshots) { snapshots_ = snapshots; }
  // The turn's view, for calls without a view.
  const SnapshotView& snapshots() const;

  // --- writing (table_body.cc)
  void Execute(const Batch& batch);
  bool Append(const RowBatch& rows, uint64_t first, uint32_t count, const SnapshotView& snapshots,
              Growth growth = Growth::kCopy);

  // --- reading (table_lookup.cc)
  void LookupRows(const BatchPart& part, uint64_t& copied);
  bool FindSegment(uint64_t snapshot, uint64_t& number, SegmentMask& mask, SegmentView& view) const;
  uint64_t segment_end() const { return next_number_; }
  bool Lost(uint64_t snapshot) const { return snapshot != 0 && snapshot < lost_before_; }

  // --- background (table_maintain.cc)
  bool FreeVersions(const SnapshotView& snapshots, uint32_t records_max);
  bool Maintain(const SnapshotView& snapshots, uint32_t rows_max);
  uint64_t version_bytes() const { return record_bytes_; }
  bool CanGo(const SnapshotView& snapshots) const {
    // Dead segments are freed one after the other (Maintain), not all together with the partition.
    return range_.Empty() && size() == 0 && !loan_ && records_ == 0 && segments_.size() <= 1 &&
           !snapshots.AnyBefore(lost_before_);
  }

  // --- ranges (table_loan.cc, table_ingest.cc)
  // Checks that it is an end of the range, or all of it.
  absl::Status CheckLeaving(const Range& leaving) const;
  absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit, ExchangeChunk& out);
  void SetDeath(uint64_t epoch) {
    if (loan_) loan_->died = epoch;
  }
  void Forget(const SnapshotView& snapshots);
  void TakeBack();
  absl::Status Ingest(const ExchangeChunk& chunk);
  void Abandon();

  // --- segments of a heap table (table_segments.cc)
  absl::Status CutSegments(uint64_t rows_max, const SnapshotView& snapshots, SegmentsOut& out);
  absl::Status TakeSegments(SegmentsOut& in);
  void SegmentsAreGone() { segments_out_ = 0; }
  bool BringHome(HomeWork& work);

 private:
  struct EndRows;
  // Rows [first, end) of a segment.
  struct HeapRows {
    uint64_t number;
    uint32_t first;
    uint32_t end;
  };
  // Rows that are lent; they stay in place. For a clustered table: those whose keys lie in `lent`,
  // which the key index still has. For a heap table: those of `heap` that are not dead.
  struct Loan {
    Range before;  // range() without `lent`
    Range lent;
    uint64_t rows = 0;
    std::optional<uint64_t> died{};  // the epoch at which Forget marks them dead
    std::vector<HeapRows> heap{};
  };

  // How many more rows the open segment, or a new one, can take.
  uint32_t Room(Growth growth = Growth::kCopy);
  // Puts the picked rows at the end of a segment and returns it; nullptr: no memory, nothing has
  // changed. The rows count, and are born, when they are committed. REQUIRES: pick.count <= Room().
  Segment* Put(std::span<const ColumnSource> sources, const RowPick& pick,
               const SnapshotView& snapshots, Growth growth = Growth::kCopy);
  Segment* NewSegment(uint32_t rows);
  // A segment that never grows, for rows like the picked ones: room for as many rows as the
  // partition has, limited by the array size that a turn can allocate.
  Segment* NewFixedSegment(std::span<const ColumnSource> sources, const RowPick& pick);
  // The expected rows of a new segment: as many as the partition has, plus `rows`.
  uint64_t ExpectedRows(uint32_t rows) const;
  // For `capacity` rows. nullptr: no memory.
  Segment* CreateSegment(uint64_t capacity);
  void Commit(Segment& segment, uint32_t count, const SnapshotView& snapshots);

  void PutRows(const BatchPart& part, const SnapshotView& snapshots, uint64_t& copied);
  void PutKeys(const BatchPart& piece, std::span<const ColumnSource> sources,
               const SnapshotView& snapshots);
  void PointToNew(const KeyPick& keys, const uint64_t* words, const uint64_t* there,
                  const KeyState* states, const SnapshotView& snapshots);
  void EraseRows(const BatchPart& part, const SnapshotView& snapshots);
  // Reserves records for at most `rows` deaths. False: no memory.
  bool ReserveDeaths(uint32_t rows, const SnapshotView& snapshots) {
    return !snapshots.AnyBefore(snapshots.epoch) || records_pool_.Reserve(cache_, rows);
  }
  // The row dies at `epoch`, which is at most snapshots.epoch. If a record is needed and none is
  // left, the snapshots that see the row are lost.
  void Kill(uint64_t word, const SnapshotView& snapshots, uint64_t epoch);
  void Kill(uint64_t word, const SnapshotView& snapshots) {
    Kill(word, snapshots, snapshots.epoch);
  }
  // The bytes that a record of that row keeps alive.
  uint32_t KeptBytes(const Segment& segment, uint32_t row) const;

  // Appends rows of a segment again, at the turn's epoch, and kills the old copies. The cost
  // depends only on these rows: no segment grows for them (Growth::kNone). False: no memory; rows
  // moved before that stay moved. REQUIRES: alive.
  bool Move(Segment& segment, const uint32_t* rows, uint32_t count, const SnapshotView& snapshots);
  bool WantsCompaction(const Segment& segment) const;
  // False: no memory.
  bool Compact(Segment& segment, uint32_t& budget, const SnapshotView& snapshots);
#ifdef ERIS_TABLE_FAULTS
  // True: the rows need not be moved.
  bool PlantFault(Segment& segment, const uint32_t* rows, uint32_t count,
                  const SnapshotView& snapshots);
#endif
  // Frees the segment if none of its rows is needed any more. True: it has been freed.
  bool Reap(uint32_t i);

  // Lends as many rows of a heap table's last segments as `limit` allows, or all of them; uses
  // `chunk`.
  absl::Status LendLast(const ChunkLimit& limit, ExchangeChunk chunk, ExchangeChunk& out);
  // Throws std::bad_alloc.
  void ReadEnd(const Range& leaving, End from, uint32_t rows_max, EndRows& out);
  // The longest prefix of the picked rows that can be put at once without growth.
  RowPick FixedPiece(std::span<const ColumnSource> sources, RowPick pick);
  absl::Status IngestKeys(const ExchangeChunk& chunk, std::span<const ColumnSource> sources);
  // Removes rows that were ingested in this turn and that no reader has seen, and their keys.
  void Undo(const ExchangeChunk& chunk, uint32_t count);

  // Immutable after construction.
  memory::LocalCache& cache_;
  const std::shared_ptr<const TableLayout> layout_;
  uint32_t row_bytes_ = 0;  // bytes of a row without its strings

  // Owned by the AEU thread.
  const SnapshotView* snapshots_ = nullptr;
  Range range_;
  std::optional<KeyIndex> keys_;  // for clustered tables: has all live rows, including lent ones
  uint64_t heap_rows_ = 0;
  SegmentList segments_;
  uint32_t segments_out_ = 0;  // that may come back: the list has room for them
  uint64_t next_number_ = 1;
  Segment* open_ = nullptr;  // rows are appended to it
  std::optional<Loan> loan_;
  DeathRecordPool records_pool_;
  uint64_t records_ = 0;
  uint64_t record_bytes_ = 0;  // bytes that records keep alive, including their rows
  uint64_t lost_before_ = 0;   // snapshots below it cannot be read here
  uint64_t recorded_ = 0;      // number of records ever made
  bool marked_ = false;        // some segment may have births marked

  // Where background work continues.
  std::optional<uint64_t> free_at_;  // in the current pass
  uint64_t freed_for_ = 0;           // identifies the snapshots held when the pass began
  uint64_t recorded_before_ = 0;
  uint64_t maintain_at_ = 0;
  uint64_t changes_ = 1;  // deaths, and records freed
  uint64_t changes_seen_ = 0;
  std::optional<uint64_t> compacting_;  // segment number
  uint32_t compacted_to_ = 0;           // row number
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_TABLE_BODY_H_
