// What a TablePartition is made of: segments, of clustered tables the index from keys to rows, and
// the work on both. Private to storage/table/. Used by the thread of the AEU that owns the
// partition.
//
//   table_partition.cc     calls and their checks
//   table_body.cc          appending, writing and erasing rows
//   table_lookup.cc        answering rows, segments for scans
//   table_maintain.cc      old versions, compaction
//   table_split.cc         ranges that are linked: split, absorb, rows moved to one side
//   table_exchange.cc      ranges that are copied: extract, ingest
#ifndef ERIS_STORAGE_TABLE_TABLE_BODY_H_
#define ERIS_STORAGE_TABLE_TABLE_BODY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/table/key_index.h"
#include "storage/table/output_columns.h"
#include "storage/table/segment.h"
#include "storage/table/table_partition.h"

namespace eris::storage {

class TablePartition::Body {
 public:
  Body(const Range& range, memory::LocalCache& cache, std::shared_ptr<const TableLayout> layout,
       std::optional<KeyIndex> keys);
  ~Body();

  memory::LocalCache& cache() const { return cache_; }
  const TableLayout& layout() const { return *layout_; }
  const Range& range() const { return keys_ ? keys_->range() : range_; }
  uint64_t size() const { return keys_ ? keys_->size() : heap_rows_; }
  void SetSnapshots(const SnapshotView* snapshots) { snapshots_ = snapshots; }

  // --- writing (table_body.cc)
  void Execute(const Batch& batch);
  bool Append(const RowBatch& rows, uint64_t first, uint32_t count, const SnapshotView& snapshots);

  // --- reading (table_lookup.cc)
  void LookupRows(const BatchPart& part, uint64_t& copied);
  bool FindSegment(uint64_t snapshot, uint64_t& number, SegmentMask& mask, SegmentView& view) const;
  uint64_t segment_end() const { return next_number_; }
  bool Lost(uint64_t snapshot) const { return snapshot != 0 && snapshot < lost_before_; }

  // --- background (table_maintain.cc)
  bool FreeVersions(const SnapshotView& snapshots, uint32_t records_max);
  bool Maintain(const SnapshotView& snapshots, uint32_t rows_max);
  uint64_t version_bytes() const { return record_bytes_; }

  // --- ranges (table_split.cc, table_exchange.cc)
  absl::StatusOr<std::unique_ptr<Body>> SplitAt(const Key& key);
  absl::Status Absorb(Body& other);
  absl::Status PrepareExtract(const Range& leaving);
  absl::StatusOr<bool> WalkLeaving(uint32_t rows_max);
  absl::StatusOr<bool> CancelExtract();
  absl::Status Extract(uint32_t rows_max, ExchangeChunk& out);
  absl::Status Ingest(const ExchangeChunk& chunk);
  void Abandon();

 private:
  // Rows that stay, and those of a range that is prepared to leave, are appended to segments of
  // their own.
  enum Side : uint32_t { kStays = 0, kLeaves = 1 };
  struct Piece;
  struct LowRows;
  struct RowAt {
    const Segment* segment;
    uint32_t row;
  };
  // First parts of keys, from the least to the greatest.
  struct HeadBounds {
    uint64_t min = std::numeric_limits<uint64_t>::max();
    uint64_t max = 0;
    void Add(uint64_t head) {
      min = std::min(min, head);
      max = std::max(max, head);
    }
  };
  struct Sides;

  // The turn's view, where a call brings none along.
  const SnapshotView& snapshots() const;
  Side SideOf(uint64_t head) const {
    return leaving_ && leaving_->ContainsU64(head) ? kLeaves : kStays;
  }

  // How many more rows the open segment takes, or a new one.
  uint32_t Room(Side side);
  // The segment to whose end the picked rows, born at `birth`, have been put; nullptr: no memory,
  // nothing has changed. They count when they are committed. REQUIRES: pick.count <= Room(side).
  Segment* Put(std::span<const ColumnSource> sources, const RowPick& pick, Side side,
               const SnapshotView& snapshots, uint64_t birth);
  Segment* NewSegment(uint32_t rows);
  void Commit(Segment& segment, uint32_t count, const SnapshotView& snapshots, uint64_t birth);

  void PutRows(const BatchPart& part, const SnapshotView& snapshots, uint64_t& copied);
  void PutKeys(const Piece& piece, std::span<const ColumnSource> sources, Side side,
               const SnapshotView& snapshots, KeyState* states_out);
  void PointToNew(const KeyPick& keys, const uint64_t* words, const uint64_t* there,
                  const KeyState* states, const SnapshotView& snapshots);
  void EraseRows(const BatchPart& part, const SnapshotView& snapshots);
  // So many deaths at most will need records. False: no memory.
  bool ReserveDeaths(uint32_t rows, const SnapshotView& snapshots) {
    return !snapshots.AnyBefore(snapshots.epoch) || records_pool_.Reserve(cache_, rows);
  }
  // Where a record is needed and none is left, the snapshots that see the row are lost.
  void Kill(uint64_t word, const SnapshotView& snapshots);
  // What a record of that row keeps.
  uint32_t KeptBytes(const Segment& segment, uint32_t row) const;

  // Appends rows of a segment anew, at the turn's epoch, and kills them where they stood. False: no
  // memory; rows moved before have moved. REQUIRES: alive.
  bool Move(Segment& segment, const uint32_t* rows, uint32_t count, Side side,
            const SnapshotView& snapshots);
  bool WantsCompaction(const Segment& segment, const SnapshotView& snapshots) const;
  bool IsRemnant(const Segment& segment, const SnapshotView& snapshots) const;
  // False: no memory.
  bool Compact(Segment& segment, uint32_t& budget, const SnapshotView& snapshots);
  bool IsOpen(const Segment* segment) const {
    return segment == open_[kStays] || segment == open_[kLeaves];
  }
#ifdef ERIS_TABLE_FAULTS
  // True: the rows need not be moved any more.
  bool PlantFault(Segment& segment, const uint32_t* rows, uint32_t count,
                  const SnapshotView& snapshots);
#endif
  // Frees the segment if none of its rows is needed any more. True: it is gone.
  bool Reap(uint32_t i);
  std::vector<ColumnSource> SourcesOf(const Segment& segment) const;

  static bool StraddlesByBounds(const Segment& segment, uint64_t cut);
  void LookAtSides(Segment& segment, uint64_t cut, Sides& out) const;
  absl::Status Separate(uint64_t cut);
  bool Sieve(Segment& segment, uint32_t& budget);

  void ReadLow(uint32_t rows_max, LowRows& out);
  void AddVersions(const Range& leaves, std::vector<RowAt>& rows,
                   std::vector<uint64_t>& deaths) const;
  void DropVersions(const Range& leaves);
  bool PutChunk(const ExchangeRows& rows, std::span<const ColumnSource> sources,
                const std::vector<uint32_t>& order, std::vector<uint64_t>& words);
  void TakeBack(const std::vector<uint64_t>& words);

  // Immutable after construction.
  memory::LocalCache& cache_;
  const std::shared_ptr<const TableLayout> layout_;
  uint32_t row_bytes_ = 0;  // of a row without the bytes of its strings

  // Owned by the AEU thread.
  const SnapshotView* snapshots_ = nullptr;
  Range range_;                   // of heap tables
  std::optional<KeyIndex> keys_;  // of clustered tables
  uint64_t heap_rows_ = 0;
  SegmentList segments_;
  uint64_t next_number_ = 1;
  std::array<Segment*, 2> open_{};
  std::optional<Range> leaving_;
  uint64_t walked_to_ = 0;    // of a preparation: segments below are done
  uint32_t walked_rows_ = 0;  // and so many rows of this one
  HeadBounds staying_;        // of those that stay
  DeathRecordPool records_pool_;
  uint64_t records_ = 0;
  uint64_t record_bytes_ = 0;  // that they keep, rows and all
  uint64_t lost_before_ = 0;   // snapshots below it cannot be read here
  uint64_t recorded_ = 0;      // ever
  bool marked_ = false;        // some segment may have births marked

  // Where background work goes on.
  std::optional<uint64_t> free_at_;  // of the pass under way
  uint64_t freed_for_ = 0;           // tells which snapshots were held when the pass began
  uint64_t recorded_before_ = 0;
  uint64_t maintain_at_ = 0;
  uint64_t changes_ = 1;  // deaths, and records freed
  uint64_t changes_seen_ = 0;
  std::optional<uint64_t> compacting_;  // number
  uint32_t compacted_to_ = 0;           // row
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_TABLE_BODY_H_
