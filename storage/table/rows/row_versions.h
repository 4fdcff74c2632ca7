// Which rows of one segment are visible at which snapshot.
// Births are prefixes: a mark (epoch, first row) says that the rows from there up to the next mark
// were born at that epoch.
// Deaths are a bit per row. As long as a held snapshot still sees the row there is also a record
// with the epoch of its death, in a list per block of rows. So the cost of a death does not depend
// on their number, and a reader of a block reads at most as many records as the block has rows.
// Without held snapshots there are only the bits. Used by the thread of the AEU that owns the
// partition.
// Paper: ERIS 3.1 (MVCC).
#ifndef ERIS_STORAGE_TABLE_ROW_VERSIONS_H_
#define ERIS_STORAGE_TABLE_ROW_VERSIONS_H_

#include <array>
#include <cstdint>

#include "memory/local_cache.h"
#include "storage/snapshot_view.h"
#include "storage/table/rows/cache_array.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// A row that died at `epoch`, and that a held snapshot still sees.
struct DeathRecord {
  DeathRecord* next;  // in the block's list, or the pool's
  uint64_t epoch;
  uint32_t row;
  uint32_t bytes;  // bytes kept alive: the record's own and the row's
};

// Records reserved in advance, so that a death never fails half way. One per partition.
class DeathRecordPool {
 public:
  // False: no memory for `records` of them.
  [[nodiscard]] bool Reserve(memory::LocalCache& cache, uint32_t records);
  // nullptr: none was reserved.
  DeathRecord* Take();
  void Give(DeathRecord* record);
  // Frees all but `keep` records.
  void Trim(memory::LocalCache& cache, uint32_t keep);
  // Forgets the memory.
  void Abandon() { *this = DeathRecordPool(); }

 private:
  DeathRecord* free_ = nullptr;
  uint32_t count_ = 0;
};

class RowVersions {
 public:
  // --- births

  // Prepares for rows, after all others, that are born at snapshots.epoch. False: no memory.
  [[nodiscard]] bool ReserveBirth(memory::LocalCache& cache, const SnapshotView& snapshots);
  // Rows from `row` on are born at snapshots.epoch. REQUIRES: ReserveBirth with the same view.
  void Born(const SnapshotView& snapshots, uint32_t row);
  // The birth of a row that counts. 0: before every held snapshot.
  uint64_t BirthOf(uint32_t row) const;
  // Removes the marks of rows from `row` on, when rows are taken back.
  void Unborn(uint32_t row);
  // How many of the first `rows` rows were born at `snapshot` or before.
  uint32_t RowsAt(uint64_t snapshot, uint32_t rows) const;

  // --- deaths

  // Makes bits for `capacity` rows, of which the first `rows` exist. False: no memory.
  [[nodiscard]] bool ReserveBits(memory::LocalCache& cache, uint32_t capacity, uint32_t rows);
  // The same if there are rows without bits: all of them are alive.
  [[nodiscard]] bool BeginBits(memory::LocalCache& cache, uint32_t capacity);
  bool HasBits() const { return dead_.capacity() > 0; }
  bool Dead(uint32_t row) const { return HasBits() && (dead_[row / 64] >> row % 64 & 1) != 0; }
  // Uses `record` unless it is nullptr; it keeps `bytes` bytes alive. REQUIRES: !Dead(row).
  void Die(uint32_t row, uint64_t epoch, DeathRecord* record, uint32_t bytes = 0);
  // Marks a new row as alive; the previous bit is undefined.
  void Live(uint32_t row) { dead_[row / 64] &= ~(uint64_t{1} << row % 64); }
  uint32_t dead() const { return dead_count_; }
  uint32_t records() const { return records_count_; }
  uint64_t record_bytes() const { return record_bytes_; }

  // --- snapshots

  // Writes to mask's kBlockWords words which of the first `rows` rows in a block are visible at
  // `snapshot`.
  void MaskBlock(uint64_t snapshot, uint32_t rows, uint32_t block, uint64_t* mask) const;
  // Frees marks and records that are no longer needed; reads at most `budget` records and subtracts
  // them. False: the budget was used up; the next call continues.
  bool FreeUnneeded(const SnapshotView& snapshots, DeathRecordPool& pool, uint32_t& budget);

  uint32_t marks() const { return marks_count_; }
  // Moves marks and bits to the NumaNode of the cache's AEU; records stay until they are freed.
  void BringHome(memory::LocalCache& cache, HomeWork& work) {
    marks_.BringHome(cache, work);
    dead_.BringHome(cache, work);
  }
  void Free(memory::LocalCache& cache, DeathRecordPool& pool);

#ifdef ERIS_TABLE_FAULTS
  void Revive(uint32_t row) {
    Live(row);
    --dead_count_;
  }
#endif

 private:
  struct BirthMark {
    uint64_t epoch;
    uint32_t row;
  };
  static constexpr uint32_t kMarksMin = 4;
  static constexpr uint32_t kBlocks = kSegmentRows / kBlockRows;

  // Whether rows born now need their own mark.
  bool NeedsMark(const SnapshotView& snapshots) const {
    const uint64_t last = marks_count_ == 0 ? 0 : marks_[marks_count_ - 1].epoch;
    return snapshots.Needs(last, snapshots.epoch);
  }
  void DropMarks(const SnapshotView& snapshots);

  CacheArray<BirthMark> marks_;
  uint32_t marks_count_ = 0;
  uint32_t dead_count_ = 0;
  uint32_t records_count_ = 0;
  uint64_t record_bytes_ = 0;
  CacheArray<uint64_t> dead_;
  std::array<DeathRecord*, kBlocks> records_{};
  // FreeUnneeded continues in this block after that record; nullptr: at its first one.
  uint32_t looked_block_ = 0;
  DeathRecord* looked_at_ = nullptr;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_ROW_VERSIONS_H_
