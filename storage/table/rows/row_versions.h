// Which rows of one segment are there at which snapshot. Births are prefixes: a mark (epoch, first
// row) says that the rows from there on, up to the next mark, came at that epoch. Deaths are a bit
// per row, and for as long as a held snapshot still sees the row a record with the epoch of its
// death, in a list per block of rows: a death costs the same however many there are, and who looks
// at a block looks at no more records than it has rows. Without held snapshots there are neither
// marks nor records: nothing but the bits. Used by the thread of the AEU that owns the partition.
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

// A row that died at `epoch`, and that a held snapshot sees.
struct DeathRecord {
  DeathRecord* next;  // of the block, or of the pool
  uint64_t epoch;
  uint32_t row;
  uint32_t bytes;  // that it keeps: its own and the row's
};

// Records that are at hand, so that a death is never refused half way. One per partition.
class DeathRecordPool {
 public:
  // False: no memory for as many.
  [[nodiscard]] bool Reserve(memory::LocalCache& cache, uint32_t records);
  // nullptr: there is none, which has not been reserved.
  DeathRecord* Take();
  void Give(DeathRecord* record);
  // Gives back what is not needed for a piece of work.
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

  // Makes ready for rows, behind all others, that are born at snapshots.epoch. False: no memory.
  [[nodiscard]] bool ReserveBirth(memory::LocalCache& cache, const SnapshotView& snapshots);
  // Says that rows from `row` on are born then. REQUIRES: ReserveBirth with the same.
  void Born(const SnapshotView& snapshots, uint32_t row);
  // Of a row that counts: 0: before every held snapshot.
  uint64_t BirthOf(uint32_t row) const;
  // Forgets the marks at rows from `row` on, where rows were taken back.
  void Unborn(uint32_t row);
  // How many of the first `rows` rows were born at `snapshot` or before.
  uint32_t RowsAt(uint64_t snapshot, uint32_t rows) const;

  // --- deaths

  // Bits for `capacity` rows, of which the first `rows` are there. False: no memory.
  [[nodiscard]] bool ReserveBits(memory::LocalCache& cache, uint32_t capacity, uint32_t rows);
  // The same where there are rows without bits: all of them are alive.
  [[nodiscard]] bool BeginBits(memory::LocalCache& cache, uint32_t capacity);
  bool HasBits() const { return dead_.capacity() > 0; }
  bool Dead(uint32_t row) const { return HasBits() && (dead_[row / 64] >> row % 64 & 1) != 0; }
  // `record` is used where it is not nullptr, and keeps so many bytes. REQUIRES: !Dead(row).
  void Die(uint32_t row, uint64_t epoch, DeathRecord* record, uint32_t bytes = 0);
  // A new row that is alive; what stood there before was nobody's.
  void Live(uint32_t row) { dead_[row / 64] &= ~(uint64_t{1} << row % 64); }
  uint32_t dead() const { return dead_count_; }
  uint32_t records() const { return records_count_; }
  uint64_t record_bytes() const { return record_bytes_; }

  // --- snapshots

  // Writes which rows of a block, as far as they are among the first `rows`, are there at
  // `snapshot` to mask's kBlockWords words.
  void MaskBlock(uint64_t snapshot, uint32_t rows, uint32_t block, uint64_t* mask) const;
  // Frees marks and records that nobody needs; looks at `budget` records at most and takes them off
  // it. False: the budget did not suffice; the next call goes on behind.
  bool FreeUnneeded(const SnapshotView& snapshots, DeathRecordPool& pool, uint32_t& budget);

  uint32_t marks() const { return marks_count_; }
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

  // Whether rows born then need a mark of their own.
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
  // FreeUnneeded goes on in this block behind that record; nullptr: at its first one.
  uint32_t looked_block_ = 0;
  DeathRecord* looked_at_ = nullptr;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_ROW_VERSIONS_H_
