// Ranges of a table that change hands where they are: segments whole, the key index by its depth.
// Rows do not stand in key order, so those of a leaving range first get segments of their own: a
// bounded number a turn while the range is prepared, or a bounded number at the split.
#include <limits>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/range_ops.h"
#include "storage/table/table_body.h"
#include "storage/table/table_keys.h"

namespace eris::storage {
namespace {

// What an unprepared split moves at most: of one segment the smaller side always. Some
// milliseconds.
constexpr uint64_t kSplitRowsMax = kSegmentRows / 2;
// And how many segments it looks through for that.
constexpr uint32_t kSplitSegmentsMax = 8;

}  // namespace

// Rows of one segment on both sides of a cut.
struct TablePartition::Body::Sides {
  Segment* segment = nullptr;
  std::array<std::vector<uint32_t>, 2> live;  // below, above
  std::array<HeadBounds, 2> bounds;           // of those that live, or are still needed
  std::array<uint32_t, 2> versions{};

  bool Straddles() const {
    return live[0].size() + versions[0] > 0 && live[1].size() + versions[1] > 0;
  }
  // The side whose rows move.
  size_t Smaller() const { return live[0].size() < live[1].size() ? 0 : 1; }
};

bool TablePartition::Body::StraddlesByBounds(const Segment& segment, uint64_t cut) {
  return segment.head_min() < cut && cut <= segment.head_max();
}

void TablePartition::Body::LookAtSides(Segment& segment, uint64_t cut, Sides& out) const {
  const std::vector<ColumnSource> sources = SourcesOf(segment);
  out.segment = &segment;
  for (uint32_t row = 0; row < segment.rows(); ++row) {
    if (segment.versions().Dead(row)) continue;
    const uint64_t head = KeyOfRow(*layout_, sources.data(), row).head;
    out.live[head >= cut].push_back(row);
    out.bounds[head >= cut].Add(head);
  }
  segment.versions().ForRecords([&](const DeathRecord& record) {
    const uint64_t head = KeyOfRow(*layout_, sources.data(), record.row).head;
    ++out.versions[head >= cut];
    out.bounds[head >= cut].Add(head);
  });
}

// Makes every segment lie on one side of the cut.
absl::Status TablePartition::Body::Separate(uint64_t cut) {
  const auto tighten = [](const Sides& sides, size_t side) {
    sides.segment->ForgetHeads();
    if (sides.bounds[side].min > sides.bounds[side].max) return;
    sides.segment->WidenHeads(sides.bounds[side].min);
    sides.segment->WidenHeads(sides.bounds[side].max);
  };
  std::vector<Sides> all;
  uint64_t moving = 0;
  uint32_t looked = 0;
  for (uint32_t i = 0; i < segments_.size(); ++i) {
    Segment& segment = *segments_[i];
    if (!StraddlesByBounds(segment, cut)) continue;
    if (looked++ == kSplitSegmentsMax) moving = kSplitRowsMax + 1;
    if (moving > kSplitRowsMax) break;
    all.emplace_back();
    LookAtSides(segment, cut, all.back());
    if (!all.back().Straddles()) {
      // Its rows of one side have gone, and it need not be looked through again: a split that is
      // refused for the number of such segments gets further the next time.
      tighten(all.back(), all.back().live[0].empty() && all.back().versions[0] == 0 ? 1 : 0);
      all.pop_back();
      continue;
    }
    if (all.back().versions[0] + all.back().versions[1] > 0 ||
        snapshots().AnyBefore(snapshots().epoch)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "rows on both sides of ", cut, " stand in one segment, and a held snapshot needs them"));
    }
    moving += all.back().live[all.back().Smaller()].size();
  }
  if (moving > kSplitRowsMax) {
    return absl::FailedPreconditionError(absl::StrCat("more than ", kSplitRowsMax, " rows or ",
                                                      kSplitSegmentsMax, " segments straddle ", cut,
                                                      ": the range has to be prepared first; if it "
                                                      "is, ask again"));
  }
  for (const Sides& sides : all) {
    const size_t moves = sides.Smaller();
    // To segments that are begun now: those that are open may lie on either side.
    for (Segment*& open : open_) open = nullptr;
    const std::vector<uint32_t>& rows = sides.live[moves];
    const bool moved =
        Move(*sides.segment, rows.data(), static_cast<uint32_t>(rows.size()), kStays, snapshots());
    for (Segment*& open : open_) open = nullptr;
    if (!moved) return NoMemory("separate the rows of a split");
    tighten(sides, 1 - moves);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TablePartition::Body>> TablePartition::Body::SplitAt(
    const Key& key) {
  if (!keys_) {
    return absl::FailedPreconditionError("a heap table has no keys to split at");
  }
  if (absl::Status status = CheckWidth(key); !status.ok()) return status;
  if (key <= range().lo || !range().Contains(key)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot split ", Text(range()), " at ", key.head));
  }
  std::unique_ptr<Body> upper;
  try {  // which rows move stands on the general heap, whose only word for "no" is an exception
    if (absl::Status status = Separate(key.head); !status.ok()) return status;
  } catch (const std::bad_alloc&) {
    return NoMemory("separate the rows of a split");
  }
  upper.reset(new (std::nothrow) Body(Range{key, key}, cache_, layout_, std::nullopt));
  if (upper == nullptr || !upper->segments_.Reserve(cache_, segments_.size())) {
    return NoMemory("split a partition");
  }
  absl::StatusOr<std::unique_ptr<Partition>> keys = keys_->partition().SplitAt(key);
  if (!keys.ok()) return keys.status();
  upper->keys_.emplace(*std::move(keys), layout_->two_words());
  upper->snapshots_ = snapshots_;
  upper->next_number_ = next_number_;
  upper->marked_ = marked_;
  upper->lost_before_ = lost_before_;
  leaving_.reset();
  std::array<Segment*, 2> open = std::exchange(open_, {});
  uint32_t kept = 0;
  for (uint32_t i = 0; i < segments_.size(); ++i) {
    Segment* const segment = segments_[i];
    const bool goes = segment->head_min() >= key.head && segment->head_min() <= segment->head_max();
    if (segment == open[0] || segment == open[1]) (goes ? *upper : *this).open_[kStays] = segment;
    if (!goes) {
      segments_.Set(kept++, segment);
      continue;
    }
    upper->segments_.Add(segment);
    upper->records_ += segment->versions().records();
    records_ -= segment->versions().records();
    upper->record_bytes_ += segment->versions().record_bytes();
    record_bytes_ -= segment->versions().record_bytes();
  }
  segments_.Truncate(kept);
  compacting_.reset();
  maintain_at_ = 0;
  ++changes_;
  return upper;
}

absl::Status TablePartition::Body::Absorb(Body& other) {
  if (!(layout_->schema() == other.layout_->schema())) {
    return absl::InvalidArgumentError("the partitions are of different tables");
  }
  if (&cache_ != &other.cache_) {
    return absl::InvalidArgumentError("the partitions have different caches");
  }
  if (!segments_.Reserve(cache_, other.segments_.size())) return NoMemory("absorb a partition");
  if (keys_) {
    if (absl::Status status = keys_->partition().Absorb(other.keys_->partition()); !status.ok()) {
      return status;
    }
  }
  for (Body* const body : {this, &other}) {
    body->leaving_.reset();
    body->open_[kLeaves] = nullptr;
    body->compacting_.reset();
    body->maintain_at_ = 0;
    body->free_at_.reset();
  }
  if (open_[kStays] == nullptr) open_[kStays] = other.open_[kStays];
  other.open_[kStays] = nullptr;
  for (uint32_t i = 0; i < other.segments_.size(); ++i) {
    other.segments_[i]->Renumber(next_number_++);
    segments_.Add(other.segments_[i]);
  }
  other.segments_.Truncate(0);
  records_ += std::exchange(other.records_, 0);
  record_bytes_ += std::exchange(other.record_bytes_, 0);
  lost_before_ = std::max(lost_before_, other.lost_before_);
  heap_rows_ += std::exchange(other.heap_rows_, 0);
  marked_ = marked_ || other.marked_;
  ++changes_;
  return absl::OkStatus();
}

absl::Status TablePartition::Body::PrepareExtract(const Range& leaving) {
  if (!keys_) return absl::FailedPreconditionError("the segments of a heap table leave whole");
  if (absl::Status status = CheckWidth(leaving); !status.ok()) return status;
  if (leaving_) {
    return absl::FailedPreconditionError(absl::StrCat(Text(*leaving_), " is being prepared"));
  }
  const bool low =
      leaving.lo == range().lo && (!range().hi || (leaving.hi && *leaving.hi <= *range().hi));
  const bool all = leaving == range();
  const bool high = leaving.hi == range().hi && leaving.lo >= range().lo;
  if (leaving.Empty() || !(low || high || all)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(leaving), " is not an end of ", Text(range())));
  }
  leaving_ = leaving;
  // From now on rows of both sides do not mix any more.
  open_ = {};
  compacting_.reset();
  maintain_at_ = 0;
  walked_to_ = 0;
  walked_rows_ = 0;
  staying_ = {};
  return absl::OkStatus();
}

absl::StatusOr<bool> TablePartition::Body::WalkLeaving(uint32_t rows_max) {
  if (!leaving_) return absl::FailedPreconditionError("no range is being prepared");
  if (*leaving_ == range()) return true;
  const uint64_t cut = leaving_->lo == range().lo ? leaving_->hi->head : leaving_->lo.head;
  uint32_t budget = rows_max;
  for (uint32_t i = segments_.LowerBound(walked_to_); i < segments_.size(); ++i) {
    Segment& segment = *segments_[i];
    if (walked_to_ != segment.number()) {
      walked_to_ = segment.number();
      walked_rows_ = 0;
      staying_ = {};
    }
    if (StraddlesByBounds(segment, cut)) {
      if (budget == 0) return false;
      if (!Sieve(segment, budget)) return NoMemory("prepare rows to leave");
      if (walked_rows_ < segment.rows()) return false;
    }
    ++walked_to_;
    walked_rows_ = 0;
    staying_ = {};
  }
  return true;
}

// Moves the rows that leave out of a segment. False: no memory.
bool TablePartition::Body::Sieve(Segment& segment, uint32_t& budget) {
  std::array<ColumnSource, kTableColumnsMax> sources;
  for (uint32_t i = 0; i < segment.columns(); ++i) {
    sources[i] = ColumnSource::Of(segment.views()[i]);
  }
  while (walked_rows_ < segment.rows() && budget > 0) {
    uint32_t rows[kPieceRows];
    uint32_t count = 0;
    uint32_t row = walked_rows_;
    for (; row < segment.rows() && budget > 0 && count < kPieceRows; ++row, --budget) {
      if (segment.versions().Dead(row)) continue;
      const uint64_t head = KeyOfRow(*layout_, sources.data(), row).head;
      if (SideOf(head) == kLeaves) {
        rows[count++] = row;
      } else {
        staying_.Add(head);
      }
    }
    if (count > 0 && !Move(segment, rows, count, kLeaves, snapshots())) return false;
    walked_rows_ = row;
  }
  if (walked_rows_ < segment.rows()) return true;
  segment.ForgetHeads();
  if (staying_.min <= staying_.max) {
    segment.WidenHeads(staying_.min);
    segment.WidenHeads(staying_.max);
  }
  // Old rows that a held snapshot needs are still here, whichever side they are of: the split
  // waits for them.
  segment.versions().ForRecords([&](const DeathRecord& record) {
    segment.WidenHeads(KeyOfRow(*layout_, sources.data(), record.row).head);
  });
  return true;
}

absl::StatusOr<bool> TablePartition::Body::CancelExtract() {
  leaving_.reset();
  open_[kLeaves] = nullptr;
  return true;
}

void TablePartition::Body::Abandon() {
  if (keys_) keys_->partition().Abandon();
  segments_.Abandon();
  records_pool_.Abandon();
  open_ = {};
}

}  // namespace eris::storage
