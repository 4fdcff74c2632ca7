// Moving ranges of a VersionedPartition by copy: versions travel with the rows.
#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "storage/byte_value.h"
#include "storage/index/versioned_partition.h"
#include "storage/range_ops.h"

namespace eris::storage {
namespace {

constexpr uint32_t kChunkGroupMax = VersionTable::kGroupMax;

absl::Status CheckVersions(const VersionColumns& versions, const Range& covers, bool two_parts,
                           bool byte_strings) {
  const size_t count = versions.keys.size();
  const bool equal =
      versions.ends.size() == count && versions.seconds.size() == (two_parts ? count : 0) &&
      (byte_strings ? versions.values.empty() && versions.offsets.size() == count + (count > 0)
                    : versions.values.size() == count);
  if (!equal) return absl::InvalidArgumentError("the columns of a chunk's versions are unequal");
  for (size_t i = 0; i < count; ++i) {
    if (!covers.ContainsU64(versions.keys[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("a version's key ", versions.keys[i], " lies outside ", Text(covers)));
    }
    if (!byte_strings) continue;
    const bool valid = versions.offsets[i] <= versions.offsets[i + 1] &&
                       versions.offsets[i + 1] - versions.offsets[i] <= kValueBytesMax &&
                       versions.offsets[i + 1] <= versions.bytes.size();
    if (!valid) {
      return absl::InvalidArgumentError(absl::StrCat(
          "version ", i, " is bytes ", versions.offsets[i], " to ", versions.offsets[i + 1]));
    }
  }
  return absl::OkStatus();
}

// Counts rows, given their first parts, from one end of a range on.
class RowsFromEnd {
 public:
  RowsFromEnd(const std::vector<uint64_t>* keys, bool low) : keys_(keys), low_(low) {}

  size_t size() const { return keys_ == nullptr ? 0 : keys_->size(); }
  // The i-th row's first part. REQUIRES: i < size().
  uint64_t operator[](uint64_t i) const { return (*keys_)[low_ ? i : size() - 1 - i]; }
  // Rows before all those of a first part.
  uint64_t Before(uint64_t first) const { return low_ ? Below(first) : size() - UpTo(first); }
  // Rows before them, and themselves.
  uint64_t Through(uint64_t first) const { return low_ ? UpTo(first) : size() - Below(first); }

 private:
  uint64_t Below(uint64_t first) const {
    if (size() == 0) return 0;
    return static_cast<uint64_t>(std::lower_bound(keys_->begin(), keys_->end(), first) -
                                 keys_->begin());
  }
  uint64_t UpTo(uint64_t first) const {
    if (size() == 0) return 0;
    return static_cast<uint64_t>(std::upper_bound(keys_->begin(), keys_->end(), first) -
                                 keys_->begin());
  }

  const std::vector<uint64_t>* const keys_;  // ascending; nullptr: no rows
  const bool low_;
};

}  // namespace

bool VersionedPartition::CopyVersions(Range range, VersionColumns& out) const {
  try {
    VersionTable::KeptKey keys[kChunkGroupMax];
    while (const uint32_t count =
               versions_->Keys(range, ScanDirection::kForward, kChunkGroupMax, keys)) {
      for (uint32_t i = 0; i < count; ++i) {
        for (const VersionRecord* record = keys[i].newest; record; record = record->older) {
          out.keys.push_back(keys[i].key.head);
          if (form_.two_parts) out.seconds.push_back(keys[i].key.tail);
          out.ends.push_back(record->end_and_presence);
          if (!form_.byte_strings) {
            out.values.push_back(record->value);
            continue;
          }
          if (out.offsets.empty()) out.offsets.push_back(0);
          if (record->present()) {
            const absl::string_view bytes = BytesOf(record->value);
            out.bytes.append(bytes.data(), bytes.size());
          }
          out.offsets.push_back(out.bytes.size());
        }
      }
      const std::optional<Key> next = KeyAfter(keys[count - 1].key, form_.two_parts);
      if (!next) break;
      range.lo = *next;
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

Range VersionedPartition::LimitEnd(const Range& leaving, End from, const ChunkLimit& limit,
                                   const std::vector<uint64_t>* row_keys) const {
  const bool low = from == End::kLow;
  const RowsFromEnd rows(row_keys, low);
  std::optional<uint64_t> outermost;  // first part that is nearest to the end
  if (rows.size() > 0) outermost = rows[0];
  std::optional<uint64_t> current;  // first part at hand
  uint64_t done = 0;                // weight of the versions of the first parts before it
  uint64_t weight = 0;              // of all versions up to here
  uint64_t bytes = 0;
  uint64_t keys_kept = 0;  // not counting rows: each key may have one
  bool full = false;
  Range rest = leaving;
  while (!full) {
    VersionTable::KeptKey kept[kChunkGroupMax];
    const uint32_t count = versions_->Keys(
        rest, low ? ScanDirection::kForward : ScanDirection::kBackward, kChunkGroupMax, kept);
    for (uint32_t i = 0; i < count && !full; ++i) {
      const uint64_t first = kept[i].key.head;
      if (current != first) {
        current = first;
        done = weight;
        if (!outermost || (low ? first < *outermost : first > *outermost)) outermost = first;
      }
      const uint64_t rows_through = row_keys == nullptr ? ++keys_kept : rows.Through(first);
      for (const VersionRecord* record = kept[i].newest; record && !full; record = record->older) {
        weight += kRowsPerVersion;
        if (form_.byte_strings && record->present()) bytes += BytesOf(record->value).size();
        full = rows_through + weight > limit.rows || bytes > limit.bytes;
      }
    }
    if (full || count < kChunkGroupMax) break;
    const Key& last = kept[count - 1].key;
    if (!low) {
      rest.hi = last;
    } else if (const std::optional<Key> next = KeyAfter(last, form_.two_parts)) {
      rest.lo = *next;
    } else {
      break;
    }
  }
  if (!full) done = weight;
  if (!full && rows.size() + done <= limit.rows) return leaving;
  // What comes behind as many rows stays here, or what comes from the first part at hand on.
  const uint64_t rows_max = limit.rows - std::min<uint64_t>(limit.rows, done);
  const uint64_t rows_before = full ? rows.Before(*current) : rows.size();
  const uint64_t cut = rows_before <= rows_max ? *current : rows[rows_max];
  if (cut != *outermost) {
    return low ? Range{leaving.lo, Key::FromU64(cut)} : Range{Key::FromU64(cut + 1), leaving.hi};
  }
  // At least one first part.
  if (!low) return {std::max(leaving.lo, Key::FromU64(cut)), leaving.hi};
  const std::optional<Key> behind = KeyAfter({cut, 0}, /*two_parts=*/false);
  return !behind || !leaving.Contains(*behind) ? leaving : Range{leaving.lo, *behind};
}

absl::Status VersionedPartition::Lend(const Range& leaving, End from, const ChunkLimit& limit,
                                      ExchangeChunk& out) {
  const bool any = !lent_ && !versions_->Empty();
  if (any) ERIS_RETURN_IF_ERROR(CheckEnd(leaving, range()));
  VersionColumns versions = std::exchange(out.versions, {});  // reuse its memory
  versions.Clear();
  // First the range that has room for its versions alone; then the part of it that has room for
  // both.
  const Range first = any ? LimitEnd(leaving, from, limit, nullptr) : leaving;
  ERIS_RETURN_IF_ERROR(rows_->Lend(first, from, limit, out));
  if (any) {
    const Range both = LimitEnd(out.covers, from, limit, &out.keys);
    if (both != out.covers) {
      rows_->TakeBack();
      ERIS_RETURN_IF_ERROR(rows_->Lend(both, from, limit, out));
    }
  }
  if (!CopyVersions(out.covers, versions)) {
    rows_->TakeBack();
    return NoMemory(absl::StrCat("lend the versions of ", out.keys.size(), " rows"));
  }
  versions.lost_before = lost_before_;
  out.versions = std::move(versions);
  lent_ = out.covers;
  return absl::OkStatus();
}

bool VersionedPartition::Forget(const SnapshotView& snapshots, uint32_t rows_max) {
  if (lent_) {
    FreeLeftForgotten();
    if (!versions_->Detach(*lent_)) forgotten_ = lent_;
    lent_.reset();
  }
  // One kind of work per call.
  return rows_->Forget(snapshots, rows_max) || FreeForgotten(rows_max);
}

void VersionedPartition::TakeBack() {
  lent_.reset();
  rows_->TakeBack();
}

bool VersionedPartition::Maintain(const SnapshotView& snapshots, uint32_t rows_max) {
  return rows_->Maintain(snapshots, rows_max) || FreeForgotten(rows_max);
}

bool VersionedPartition::FreeForgotten(uint32_t rows_max) {
  const uint32_t records_max = std::max<uint32_t>(rows_max / kRowsPerVersion, 1);
  if (versions_->FreeDetached(records_max)) return true;
  if (forgotten_ && !versions_->FreeRange(*forgotten_, records_max)) forgotten_.reset();
  return forgotten_.has_value();
}

void VersionedPartition::FreeLeftForgotten() {
  if (forgotten_) versions_->FreeRange(*forgotten_);
  forgotten_.reset();
}

absl::Status VersionedPartition::Rehome(memory::LocalCache& cache) {
  ERIS_RETURN_IF_ERROR(rows_->Rehome(cache));
  ERIS_RETURN_IF_ERROR(versions_->Rehome(cache));
  cache_ = &cache;
  return absl::OkStatus();
}

absl::Status VersionedPartition::Ingest(const ExchangeChunk& chunk) {
  ERIS_RETURN_IF_ERROR(
      CheckVersions(chunk.versions, chunk.covers, form_.two_parts, form_.byte_strings));
  FreeLeftForgotten();
  ERIS_RETURN_IF_ERROR(rows_->Ingest(chunk));
  lost_before_ = std::max(lost_before_, chunk.versions.lost_before);
  if (versions_->AddChains(chunk.versions)) return absl::OkStatus();
  for (const uint64_t end : chunk.versions.ends) lost_before_ = std::max(lost_before_, end >> 1);
  // The versions of one chunk: few enough to free at once.
  versions_->FreeRange(chunk.covers);
  return absl::OkStatus();
}

}  // namespace eris::storage
