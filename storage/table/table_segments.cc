// Whole segments of a heap table that another AEU takes over: they change hands with everything in
// them, and their memory may follow. No snapshot may be held that sees their rows, since it would
// look for them here; so nothing has to be kept of them. Paper: ERIS 3.3.2; page leap, 3.
#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/range_ops.h"
#include "storage/table/table_body.h"

namespace eris::storage {
namespace {

// That change hands at once: a turn looks at so many and takes out so many.
constexpr uint32_t kSegmentsMax = 128;

}  // namespace

absl::Status TablePartition::Body::CutSegments(uint64_t rows_max, const SnapshotView& snapshots,
                                               SegmentsOut& out) {
  ERIS_DCHECK(!keys_ && out.segments.empty());
  if (loan_) {
    return absl::FailedPreconditionError(
        absl::StrCat(loan_->rows, " rows of ", Text(loan_->before), " are lent"));
  }
  if (!snapshots.active.empty()) {
    return absl::AbortedError("a snapshot is held, which would miss segments that change hands");
  }
  const uint32_t looked_at = std::min(segments_.size(), kSegmentsMax);
  try {
    out.segments.reserve(looked_at);
  } catch (const std::bad_alloc&) {
    return NoMemory("cut off segments");
  }
  const uint32_t end = segments_.size() - looked_at;
  // The open one stays unless there is room for it, too: it has memory for rows to come.
  for (const bool open : {false, true}) {
    for (uint32_t i = segments_.size(); i-- > end;) {
      Segment* const segment = segments_[i];
      // Records of dead rows belong to this partition; they are freed before long.
      const bool whole = segment->live() > 0 && segment->versions().records() == 0;
      if (!whole || (segment == open_) != open || out.rows + segment->live() > rows_max) continue;
      if (open) out.open = std::exchange(open_, nullptr);
      out.segments.push_back(segment);
      out.rows += segment->live();
      segments_.RemoveAt(i);
      if (open) break;
    }
  }
  segments_out_ = static_cast<uint32_t>(out.segments.size());
  heap_rows_ -= out.rows;
  if (!out.segments.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("none of the last ", looked_at, " segments has at most ", rows_max, " rows"));
}

absl::Status TablePartition::Body::TakeSegments(SegmentsOut& in) {
  ERIS_DCHECK(!keys_);
  const auto count = static_cast<uint32_t>(in.segments.size());
  if (!segments_.Reserve(cache_, count + segments_out_)) return NoMemory("take segments over");
  // In the order that they had. Numbers are new, since those of a partition ascend.
  for (uint32_t i = count; i-- > 0;) {
    Segment* const segment = in.segments[i];
    segment->Renumber(next_number_++);
    segments_.Add(segment);
    marked_ |= segment->versions().marks() > 0;
  }
  if (open_ == nullptr) open_ = in.open;
  heap_rows_ += in.rows;
  in = {};
  ++changes_;
  return absl::OkStatus();
}

bool TablePartition::Body::BringHome(HomeWork& work) {
  if (keys_) return true;  // rows of a clustered table move as copies
  if (work.next_key == 0) segments_.BringHome(cache_, work);
  for (uint32_t i = segments_.LowerBound(work.next_key); i < segments_.size(); ++i) {
    const uint64_t number = segments_[i]->number();
    uint64_t part = number == work.next_key ? work.next_second : 0;
    for (; part < segments_[i]->home_parts(); ++part) {
      if (work.refused) return true;
      if (work.Spent()) {
        work.StopAt(number, part);
        return false;
      }
      Segment* const before = segments_[i];
      segments_.Set(i, Segment::BringHome(before, static_cast<uint32_t>(part), cache_, work));
      if (open_ == before) open_ = segments_[i];
    }
  }
  return true;
}

}  // namespace eris::storage
