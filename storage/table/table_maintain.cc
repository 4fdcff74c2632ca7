// A table's background work: frees versions that snapshots no longer need, and compacts segments
// with many dead rows.
#include <algorithm>

#include "base/check.h"
#include "storage/table/table_body.h"
#ifdef ERIS_TABLE_FAULTS
#include "storage/table/planted_fault.h"
#include "storage/table/rows/table_keys.h"
#endif

namespace eris::storage {
namespace {

// Segments checked in one call to find one worth compacting.
constexpr uint32_t kSegmentsLookedAt = 64;
// An open segment is compacted only if it has at least this many rows: the capacity of a first
// segment.
constexpr uint32_t kOpenRowsMin = 1024;

// Distinguishes sets of held snapshots: snapshots are only removed, or added at the end.
uint64_t Fingerprint(const SnapshotView& snapshots) {
  uint64_t sum = snapshots.active.size();
  for (const uint64_t epoch : snapshots.active) sum = sum * 31 + epoch;
  return sum;
}

}  // namespace

bool TablePartition::Body::Reap(uint32_t i) {
  Segment* const segment = segments_[i];
  if (segment == open_ || segment->live() > 0 || segment->versions().records() > 0) {
    return false;
  }
  if (compacting_ == segment->number()) compacting_.reset();
  segment->Destroy(cache_, records_pool_);
  segments_.RemoveAt(i);
  return true;
}

bool TablePartition::Body::FreeVersions(const SnapshotView& snapshots, uint32_t records_max) {
  if (records_ == 0 && !marked_) return false;
  uint32_t budget = records_max;
  if (!free_at_) {
    free_at_ = 0;
    freed_for_ = Fingerprint(snapshots);
    recorded_before_ = recorded_;
  }
  uint32_t i = segments_.LowerBound(*free_at_);
  while (i < segments_.size()) {
    Segment& segment = *segments_[i];
    const uint32_t before = segment.versions().records();
    record_bytes_ -= segment.versions().record_bytes();
    const bool complete = segment.versions().FreeUnneeded(snapshots, records_pool_, budget);
    record_bytes_ += segment.versions().record_bytes();
    const uint32_t freed = before - segment.versions().records();
    records_ -= freed;
    changes_ += freed;
    // In each call: memory is freed piece by piece, not in one turn at the end.
    records_pool_.Trim(cache_, 2 * kPieceRows);
    if (!complete) {
      free_at_ = segment.number();
      return true;
    }
    free_at_ = segment.number() + 1;
    // A segment without records is work too, and freeing one means a block for each column.
    const uint32_t work = Reap(i) ? 1 + layout_->columns() : 1;
    if (work == 1) ++i;
    budget -= std::min(budget, work);
    if (budget == 0 && i < segments_.size()) return true;
  }
  free_at_.reset();
  marked_ = false;
  for (uint32_t j = 0; j < segments_.size() && !marked_; ++j) {
    marked_ = segments_[j]->versions().marks() > 0;
  }
  // Records that this pass has passed may be new or unneeded since.
  return records_ > 0 && (freed_for_ != Fingerprint(snapshots) || recorded_before_ != recorded_);
}

bool TablePartition::Body::WantsCompaction(const Segment& segment) const {
  // Rows of a heap table leave from the end, mostly as whole segments.
  if (!keys_ || segment.live() == 0) return false;
  // Rows that a snapshot needs stay in any case.
  const uint32_t dead = segment.versions().dead() - segment.versions().records();
  if (&segment == open_) {
    return segment.rows() >= kOpenRowsMin && uint64_t{dead} * 2 > segment.rows();
  }
  return uint64_t{dead} * 4 > segment.rows();
}

bool TablePartition::Body::Maintain(const SnapshotView& snapshots, uint32_t rows_max) {
  // Lent rows may die at an epoch in the past: they must not be moved to a place that is younger.
  if (loan_) return false;
  uint32_t budget = rows_max;
  if (!compacting_) {
    if (changes_seen_ == changes_ && maintain_at_ == 0) return false;
    if (maintain_at_ == 0) changes_seen_ = changes_;
    uint32_t i = segments_.LowerBound(maintain_at_);
    for (uint32_t looked = 0; i < segments_.size() && !compacting_; ++looked) {
      if (looked == kSegmentsLookedAt) {
        maintain_at_ = segments_[i]->number();
        return true;
      }
      const uint64_t number = segments_[i]->number();
      if (Reap(i)) {
        budget -= std::min(budget, 1 + layout_->columns());
        if (budget > 0) continue;
        maintain_at_ = number + 1;
        return true;
      }
      if (WantsCompaction(*segments_[i])) {
        compacting_ = segments_[i]->number();
        compacted_to_ = 0;
      }
      ++i;
    }
    if (!compacting_) {
      maintain_at_ = 0;
      return changes_seen_ != changes_;
    }
    maintain_at_ = *compacting_ + 1;
  }
  const uint32_t i = segments_.LowerBound(*compacting_);
  if (i == segments_.size() || segments_[i]->number() != *compacting_) {
    compacting_.reset();
    return true;
  }
  Segment& segment = *segments_[i];
  if (open_ == &segment) open_ = nullptr;
  if (!Compact(segment, budget, snapshots)) return false;
  if (compacted_to_ < segment.rows()) return true;
  compacting_.reset();
  Reap(i);
  return true;
}

#ifdef ERIS_TABLE_FAULTS
bool TablePartition::Body::PlantFault(Segment& segment, const uint32_t* rows, uint32_t count,
                                      const SnapshotView& snapshots) {
  std::vector<ColumnSource> sources;
  for (const SegmentColumn& column : segment.views()) sources.push_back(ColumnSource::Of(column));
  if (planted_table_fault == TableFault::kNarrowBounds) {
    for (uint32_t i = 0; i < segment.columns(); ++i) {
      segment.column(i).Narrow(sources[i], RowPick{count, 0, rows});
      segment.ShowAgain(i);
    }
  }
  if (planted_table_fault != TableFault::kReusePlace || !ReserveDeaths(count, snapshots)) {
    return false;
  }
  uint32_t place = 0;
  for (uint32_t i = 0; i < count; ++i) {
    while (place < rows[i] && !segment.versions().Dead(place)) ++place;
    if (place >= rows[i]) continue;
    const Key key = KeyOfRow(*layout_, sources.data(), rows[i]);
    for (uint32_t c = 0; c < segment.columns(); ++c) segment.column(c).CopyWithin(rows[i], place);
    segment.versions().Revive(place);
    const uint64_t word = segment.WordOf(place);
    keys_->Point({1, &key.head, &key.tail}, &word);
    Kill(segment.WordOf(rows[i]), snapshots);
  }
  return true;
}
#endif

bool TablePartition::Body::Compact(Segment& segment, uint32_t& budget,
                                   const SnapshotView& snapshots) {
  // A row with many columns counts as several.
  const uint32_t row_work = 1 + layout_->columns() / 8;
  uint32_t rows[kPieceRows];
  while (compacted_to_ < segment.rows() && budget > 0) {
    uint32_t count = 0;
    uint32_t row = compacted_to_;
    for (; row < segment.rows() && budget > 0 && count < kPieceRows; ++row) {
      budget -= std::min(budget, row_work);
      if (!segment.versions().Dead(row)) rows[count++] = row;
    }
#ifdef ERIS_TABLE_FAULTS
    if (PlantFault(segment, rows, count, snapshots)) {
      compacted_to_ = row;
      continue;
    }
#endif
    if (count > 0 && !Move(segment, rows, count, snapshots)) return false;
    compacted_to_ = row;
  }
  return true;
}

}  // namespace eris::storage
