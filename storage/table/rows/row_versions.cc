#include "storage/table/rows/row_versions.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace eris::storage {

bool DeathRecordPool::Reserve(memory::LocalCache& cache, uint32_t records) {
  while (count_ < records) {
    void* const block = cache.Allocate(sizeof(DeathRecord));
    if (block == nullptr) return false;
    Give(static_cast<DeathRecord*>(block));
  }
  return true;
}

DeathRecord* DeathRecordPool::Take() {
  if (free_ == nullptr) return nullptr;
  DeathRecord* const record = free_;
  free_ = record->next;
  --count_;
  return record;
}

void DeathRecordPool::Give(DeathRecord* record) {
  record->next = free_;
  free_ = record;
  ++count_;
}

void DeathRecordPool::Trim(memory::LocalCache& cache, uint32_t keep) {
  while (count_ > keep) cache.Free(Take(), sizeof(DeathRecord));
}

bool RowVersions::ReserveBirth(memory::LocalCache& cache, const SnapshotView& snapshots) {
  if (!NeedsMark(snapshots)) return true;
  if (marks_count_ < marks_.capacity()) return true;
  DropMarks(snapshots);
  if (marks_count_ < marks_.capacity()) return true;
  return marks_.Reserve(cache, std::max(kMarksMin, 2 * marks_.capacity()), marks_count_);
}

void RowVersions::Born(const SnapshotView& snapshots, uint32_t row) {
  if (NeedsMark(snapshots)) marks_[marks_count_++] = {snapshots.epoch, row};
}

uint64_t RowVersions::BirthOf(uint32_t row) const {
  // There are as many marks as held snapshots, and every death searches them.
  const BirthMark* const begin = marks_.data();
  const BirthMark* const after =
      std::upper_bound(begin, begin + marks_count_, row,
                       [](uint32_t wanted, const BirthMark& mark) { return wanted < mark.row; });
  return after == begin ? 0 : after[-1].epoch;
}

void RowVersions::Unborn(uint32_t row) {
  while (marks_count_ > 0 && marks_[marks_count_ - 1].row >= row) --marks_count_;
}

uint32_t RowVersions::RowsAt(uint64_t snapshot, uint32_t rows) const {
  for (uint32_t i = 0; i < marks_count_; ++i) {
    if (marks_[i].epoch > snapshot) return std::min(rows, marks_[i].row);
  }
  return rows;
}

bool RowVersions::ReserveBits(memory::LocalCache& cache, uint32_t capacity, uint32_t rows) {
  return dead_.Reserve(cache, (capacity + 63) / 64, HasBits() ? (rows + 63) / 64 : 0);
}

bool RowVersions::BeginBits(memory::LocalCache& cache, uint32_t capacity) {
  if (!ReserveBits(cache, capacity, 0)) return false;
  std::fill_n(dead_.data(), dead_.capacity(), 0);
  return true;
}

void RowVersions::Die(uint32_t row, uint64_t epoch, DeathRecord* record, uint32_t bytes) {
  ERIS_DCHECK(!Dead(row));
  dead_[row / 64] |= uint64_t{1} << row % 64;
  ++dead_count_;
  if (record == nullptr) return;
  DeathRecord*& first = records_[row / kBlockRows];
  *record = {first, epoch, row, bytes};
  first = record;
  ++records_count_;
  record_bytes_ += bytes;
}

void RowVersions::MaskBlock(uint64_t snapshot, uint32_t rows, uint32_t block,
                            uint64_t* mask) const {
  const uint32_t base = block * kBlockRows;
  const uint32_t count = rows <= base ? 0 : std::min(rows - base, kBlockRows);
  const uint32_t words = (count + 63) / 64;
  if (count == 0) {
    std::fill(mask, mask + kBlockWords, 0);
    return;
  }
  for (uint32_t i = 0; i < words; ++i) mask[i] = HasBits() ? ~dead_[base / 64 + i] : ~uint64_t{0};
  for (const DeathRecord* record = records_[block]; record != nullptr; record = record->next) {
    if (record->epoch > snapshot)
      mask[(record->row - base) / 64] |= uint64_t{1} << record->row % 64;
  }
  // Rows after the count may have set bits too: clear them.
  std::fill(mask + words, mask + kBlockWords, 0);
  if (count % 64 != 0) mask[words - 1] &= (uint64_t{1} << count % 64) - 1;
}

void RowVersions::DropMarks(const SnapshotView& snapshots) {
  uint32_t kept = 0;
  uint64_t before = 0;
  for (uint32_t i = 0; i < marks_count_; ++i) {
    if (!snapshots.Needs(before, marks_[i].epoch)) continue;
    before = marks_[i].epoch;
    marks_[kept++] = marks_[i];
  }
  marks_count_ = kept;
}

bool RowVersions::FreeUnneeded(const SnapshotView& snapshots, DeathRecordPool& pool,
                               uint32_t& budget) {
  if (records_count_ == 0) looked_block_ = kBlocks;
  for (; looked_block_ < kBlocks; ++looked_block_) {
    DeathRecord** link = looked_at_ == nullptr ? &records_[looked_block_] : &looked_at_->next;
    for (; *link != nullptr && budget > 0; --budget) {
      DeathRecord* const record = *link;
      if (snapshots.Needs(BirthOf(record->row), record->epoch)) {
        looked_at_ = record;
        link = &record->next;
        continue;
      }
      *link = record->next;
      --records_count_;
      record_bytes_ -= record->bytes;
      pool.Give(record);
    }
    if (*link != nullptr) return false;
    looked_at_ = nullptr;
  }
  looked_block_ = 0;
  looked_at_ = nullptr;
  DropMarks(snapshots);  // after the records, which need the births
  return true;
}

void RowVersions::Free(memory::LocalCache& cache, DeathRecordPool& pool) {
  for (DeathRecord*& first : records_) {
    while (first != nullptr) pool.Give(std::exchange(first, first->next));
  }
  marks_.Free(cache);
  dead_.Free(cache);
}

}  // namespace eris::storage
