// A column segment: up to kSegmentRows rows in column arrays, and which of them are visible at
// which snapshot. Rows are appended and marked dead, never changed.
// It is one block of the partition's cache, at an address that fits in a row's word:
//
//   word:   address of the segment, 48 bits | row, 16 bits
//   block:  Segment | SegmentColumn x columns | ColumnData x columns
//
// Used by the thread of the AEU that owns the partition. Paper: ERIS 3.1 (column store).
#ifndef ERIS_STORAGE_TABLE_SEGMENT_H_
#define ERIS_STORAGE_TABLE_SEGMENT_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "memory/local_cache.h"
#include "storage/table/rows/column_data.h"
#include "storage/table/rows/row_source.h"
#include "storage/table/rows/row_versions.h"
#include "storage/table/rows/segment_view.h"
#include "storage/table/rows/table_layout.h"

namespace eris::storage {

class Segment {
 public:
  static constexpr uint32_t kRowBits = 16;
  static_assert(kSegmentRows == 1u << kRowBits);

  // Initially for `capacity` rows. nullptr: no memory, or an address of more than 48 bits.
  static Segment* Create(memory::LocalCache& cache, const TableLayout& layout, uint64_t number,
                         uint32_t capacity);
  // Frees all memory; records go back to the pool.
  void Destroy(memory::LocalCache& cache, DeathRecordPool& pool);

  static Segment* Of(uint64_t word) {
    return reinterpret_cast<Segment*>(word >> kRowBits);  // NOLINT: what the word is
  }
  static uint32_t RowOf(uint64_t word) { return word & (kSegmentRows - 1); }
  uint64_t WordOf(uint32_t row) const { return reinterpret_cast<uint64_t>(this) << kRowBits | row; }

  // Unique among all segments of the process, for ever.
  uint64_t id() const { return id_; }
  uint64_t number() const { return number_; }
  uint32_t rows() const { return rows_; }
  uint32_t capacity() const { return capacity_; }
  uint32_t live() const { return rows_ - versions_.dead(); }
  uint32_t columns() const { return columns_; }
  std::span<const SegmentColumn> views() const { return {Views(), columns_}; }
  ColumnData& column(uint32_t i) { return Columns()[i]; }
  const ColumnData& column(uint32_t i) const { return const_cast<Segment*>(this)->Columns()[i]; }
  RowVersions& versions() { return versions_; }
  const RowVersions& versions() const { return versions_; }

  // Writes the picked rows after rows(), where they are ignored until Commit. `sources` has one
  // element per column. REQUIRES: rows() + pick.count <= kSegmentRows.
  PutResult Put(memory::LocalCache& cache, std::span<const ColumnSource> sources,
                const RowPick& pick, Growth growth = Growth::kCopy);
#ifdef ERIS_TABLE_FAULTS
  void ShowAgain(uint32_t column) { Views()[column] = Columns()[column].view(); }
#endif
  // Counts the first `count` rows after rows(). REQUIRES: Put of at least that many, and
  // ReserveBirth.
  void Commit(uint32_t count, const SnapshotView& snapshots);
  // Takes back rows that Commit has counted but no reader has seen. Heap tables.
  void TakeBack(uint32_t rows);
  // Moves a part of its memory to the NumaNode of the cache's AEU: 0 is its own block, 1 its
  // versions, then each column. Returns where the segment is from now on.
  static Segment* BringHome(Segment* segment, uint32_t part, memory::LocalCache& cache,
                            HomeWork& work);
  uint32_t home_parts() const { return 2 + columns_; }
  // It is in another partition, or again in this one, under another number.
  void Renumber(uint64_t number) { number_ = number; }

  // Allows rows to die from now on; rows of a heap table die only when another AEU takes them over.
  // False: no memory.
  [[nodiscard]] bool MayDie(memory::LocalCache& cache) {
    return versions_.HasBits() || versions_.BeginBits(cache, capacity_);
  }

 private:
  Segment(uint64_t id, uint64_t number, uint32_t columns, bool dies)
      : id_(id), number_(number), columns_(columns), dies_(dies) {}

  SegmentColumn* Views() { return reinterpret_cast<SegmentColumn*>(this + 1); }
  const SegmentColumn* Views() const { return reinterpret_cast<const SegmentColumn*>(this + 1); }
  ColumnData* Columns() { return reinterpret_cast<ColumnData*>(Views() + columns_); }
  static size_t BlockBytes(uint32_t columns) {
    return sizeof(Segment) + columns * (sizeof(SegmentColumn) + sizeof(ColumnData));
  }

  const uint64_t id_;
  uint64_t number_;
  const uint32_t columns_;
  const bool dies_;  // true for clustered tables; for heap tables from MayDie on
  uint32_t rows_ = 0;
  uint32_t capacity_ = 0;
  RowVersions versions_;
};

// The segments of a partition, ascending by number.
class SegmentList {
 public:
  uint32_t size() const { return size_; }
  Segment* operator[](uint32_t i) const { return segments_[i]; }
  // Index of the first segment with at least this number; size(): none.
  uint32_t LowerBound(uint64_t number) const;
  [[nodiscard]] bool Reserve(memory::LocalCache& cache, uint32_t more);
  // REQUIRES: room reserved; a number above all others.
  void Add(Segment* segment) { segments_[size_++] = segment; }
  void RemoveAt(uint32_t i);
  // The segment has moved.
  void Set(uint32_t i, Segment* segment) { segments_[i] = segment; }
  void BringHome(memory::LocalCache& cache, HomeWork& work) { segments_.BringHome(cache, work); }
  void Free(memory::LocalCache& cache) { segments_.Free(cache); }
  // Forgets the memory.
  void Abandon() { *this = SegmentList(); }

 private:
  CacheArray<Segment*> segments_;
  uint32_t size_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_SEGMENT_H_
