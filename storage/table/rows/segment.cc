#include "storage/table/rows/segment.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <vector>

#include "base/check.h"

namespace eris::storage {

static_assert(alignof(Segment) >= alignof(SegmentColumn));
static_assert(sizeof(Segment) % alignof(SegmentColumn) == 0);
static_assert(sizeof(SegmentColumn) % alignof(ColumnData) == 0);
static_assert(alignof(Segment) <= memory::kBlockAlignment);

Segment* Segment::Create(memory::LocalCache& cache, const TableLayout& layout, uint64_t number,
                         uint32_t capacity) {
  const size_t bytes = BlockBytes(layout.columns());
  void* const block = cache.Allocate(bytes);
  if (block == nullptr) return nullptr;
  if (reinterpret_cast<uint64_t>(block) >> (64 - kRowBits) != 0) {
    // Linux returns addresses above 48 bits (five-level page tables) only on request, which we
    // never make.
    cache.Free(block, bytes);
    return nullptr;
  }
  // relaxed: only uniqueness matters.
  static std::atomic<uint64_t> ids{0};
  const uint64_t id = ids.fetch_add(1, std::memory_order_relaxed) + 1;
  auto* const segment = new (block) Segment(id, number, layout.columns(), layout.clustered());
  segment->capacity_ = capacity;
  const std::vector<uint32_t>& key = layout.schema().key;
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    const bool of_key = std::find(key.begin(), key.end(), i) != key.end();
    new (segment->Columns() + i) ColumnData(layout.column(i).type, of_key);
    new (segment->Views() + i) SegmentColumn(segment->Columns()[i].view());
  }
  return segment;
}

void Segment::Destroy(memory::LocalCache& cache, DeathRecordPool& pool) {
  versions_.Free(cache, pool);
  for (uint32_t i = 0; i < columns_; ++i) Columns()[i].Free(cache);
  cache.Free(this, BlockBytes(columns_));
}

PutResult Segment::Put(memory::LocalCache& cache, std::span<const ColumnSource> sources,
                       const RowPick& pick, Growth growth) {
  ERIS_DCHECK(rows_ + pick.count <= kSegmentRows);
  uint32_t capacity = capacity_;
  if (growth == Growth::kNone && capacity < rows_ + pick.count) return PutResult::kFull;
  while (capacity < rows_ + pick.count) capacity *= 2;
  capacity = std::min(capacity, kSegmentRows);
  if ((dies_ || versions_.HasBits()) && !versions_.ReserveBits(cache, capacity, rows_)) {
    return PutResult::kNoMemory;
  }
  for (uint32_t i = 0; i < columns_; ++i) {
    ColumnData& column = Columns()[i];
    const PutResult result = column.Put(cache, sources[i], pick, rows_, capacity, growth);
    // Also for a refused piece: the arrays may have moved.
    Views()[i] = column.view();
    if (result != PutResult::kDone) return result;
  }
  capacity_ = capacity;
  return PutResult::kDone;
}

void Segment::Commit(uint32_t count, const SnapshotView& snapshots) {
  versions_.Born(snapshots, rows_);
  if (versions_.HasBits()) {
    for (uint32_t row = rows_; row < rows_ + count; ++row) versions_.Live(row);
  }
  for (uint32_t i = 0; i < columns_; ++i) {
    if (Views()[i].validity == nullptr) continue;
    Columns()[i].CountNulls(rows_, rows_ + count);
    Views()[i].nulls = Columns()[i].view().nulls;
  }
  rows_ += count;
}

void Segment::TakeBack(uint32_t rows) {
  ERIS_DCHECK(!dies_ && rows <= rows_);
  rows_ = rows;
  versions_.Unborn(rows);
  for (uint32_t i = 0; i < columns_; ++i) {
    // Also if a refused piece has made room for the first null.
    Columns()[i].RecountNulls(rows);
    Views()[i].nulls = Columns()[i].view().nulls;
  }
}

Segment* Segment::BringHome(Segment* segment, uint32_t part, memory::LocalCache& cache,
                            HomeWork& work) {
  if (part == 1) {
    segment->versions_.BringHome(cache, work);
    return segment;
  }
  if (part > 1) {
    ColumnData& column = segment->Columns()[part - 2];
    column.BringHome(cache, work);
    if (!work.MovesNothing()) segment->Views()[part - 2] = column.view();
    return segment;
  }
  void* const moved = work.Move(cache, segment, BlockBytes(segment->columns_));
  if (moved == segment) return segment;
  segment = static_cast<Segment*>(moved);
  ERIS_CHECK(reinterpret_cast<uint64_t>(moved) >> (64 - kRowBits) == 0);  // as in Create
  for (uint32_t i = 0; i < segment->columns_; ++i) {
    segment->Columns()[i].MovedHere();
    segment->Views()[i] = segment->Columns()[i].view();
  }
  return segment;
}

uint32_t SegmentList::LowerBound(uint64_t number) const {
  uint32_t low = 0;
  for (uint32_t high = size_; low < high;) {
    const uint32_t middle = (low + high) / 2;
    if (segments_[middle]->number() < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool SegmentList::Reserve(memory::LocalCache& cache, uint32_t more) {
  if (size_ + more <= segments_.capacity()) return true;
  return segments_.Reserve(cache, std::max({8u, size_ + more, 2 * segments_.capacity()}), size_);
}

void SegmentList::RemoveAt(uint32_t i) {
  --size_;
  std::memmove(segments_.data() + i, segments_.data() + i + 1, (size_ - i) * sizeof(Segment*));
}

}  // namespace eris::storage
