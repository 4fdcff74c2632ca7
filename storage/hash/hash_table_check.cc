#include "storage/hash/hash_table_check.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace eris::storage {
namespace {

absl::Status Fault(const HashSegment& segment, absl::string_view what) {
  return absl::InternalError(absl::StrCat("segment of depth ", segment.depth, " from hash ",
                                          absl::Hex(segment.first_hash, absl::kZeroPad16), ": ",
                                          what));
}

}  // namespace

absl::Status HashTableChecker::CheckRow(const HashSegment& segment, uint32_t at,
                                        uint64_t key) const {
  const uint64_t hash = table_.mix_(key);
  if (!segment.Owns(hash)) {
    return Fault(segment, absl::StrCat("key ", key, " belongs to another segment"));
  }
  const uint32_t home = segment.HomeOf(hash);
  if (home > at || at - home >= kProbeBuckets) {
    return Fault(segment, absl::StrCat("key ", key, " of bucket ", home, " in bucket ", at));
  }
  for (uint32_t before = home; before < at; ++before) {
    const Bucket& bucket = segment.buckets()[before];
    if (!bucket.Full(segment.marker)) {
      return Fault(segment, absl::StrCat("key ", key, " is not found: bucket ", before,
                                         " before it has a free slot"));
    }
    if (bucket.Find(key) != kBucketRows) {
      return Fault(segment, absl::StrCat("key ", key, " is there twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status HashTableChecker::CheckBucket(const HashSegment& segment, uint32_t at) const {
  const Bucket& bucket = segment.buckets()[at];
  for (uint32_t i = 0; i < kBucketRows; ++i) {
    const uint64_t key = bucket.keys[i];
    if (key == segment.marker) continue;
    if (i > 0 && bucket.keys[i - 1] == segment.marker) {
      return Fault(segment, absl::StrCat("a free slot before a used one in bucket ", at));
    }
    if (bucket.Find(key) != i) {
      return Fault(segment, absl::StrCat("key ", key, " is there twice"));
    }
    ERIS_RETURN_IF_ERROR(CheckRow(segment, at, key));
  }
  return absl::OkStatus();
}

absl::Status HashTableChecker::CheckSegment(const HashSegment& segment) const {
  if (segment.marker != table_.MarkerFor(segment.first_hash) ||
      segment.Owns(table_.mix_(segment.marker))) {
    return Fault(segment, absl::StrCat("marker ", segment.marker));
  }
  if (segment.size > kSegmentSizeLast || segment.homes != SegmentHomes(segment.size)) {
    return Fault(segment, absl::StrCat("size ", segment.size, " with ", segment.homes, " homes"));
  }
  const uint32_t buckets = SegmentBuckets(segment.size);
  if (segment.buckets()[buckets - 1].Full(segment.marker)) {
    return Fault(segment, "the last bucket is full");
  }
  uint32_t rows = 0;
  for (uint32_t at = 0; at < buckets; ++at) {
    ERIS_RETURN_IF_ERROR(CheckBucket(segment, at));
    for (const uint64_t key : segment.buckets()[at].keys) rows += key != segment.marker ? 1 : 0;
  }
  if (rows != table_.RowsOf(segment)) {
    return Fault(segment, absl::StrCat(rows, " rows seen, ", table_.RowsOf(segment), " counted"));
  }
  return absl::OkStatus();
}

absl::Status HashTableChecker::Check() const {
  uint64_t rows = 0;
  uint64_t segments = 0;
  std::array<uint32_t, HashTable::kDepthMax + 1> segments_at{};
  const uint64_t entries = table_.directory_ == nullptr ? 0 : uint64_t{1} << table_.depth_;
  for (uint64_t i = 0; i < entries;) {
    const SegmentRef ref = table_.directory_[i];
    const HashSegment& segment = *ref.segment();
    if (segment.depth < 1 || segment.depth > table_.depth_ ||
        segment.first_hash != i << (64 - table_.depth_) || ref != SegmentRef(&segment)) {
      return Fault(segment, absl::StrCat("stands at entry ", i, " of ", entries));
    }
    const uint64_t end = i + (uint64_t{1} << (table_.depth_ - segment.depth));
    for (; i < end; ++i) {
      if (i >= entries || table_.directory_[i] != ref) {
        return Fault(segment, absl::StrCat("does not stand at entry ", i, " of ", entries));
      }
    }
    ERIS_RETURN_IF_ERROR(CheckSegment(segment));
    ++segments;
    ++segments_at[segment.depth];
    rows += table_.RowsOf(segment);
  }
  if (rows != table_.size_ || (rows == 0) != (entries == 0)) {
    return absl::InternalError(absl::StrCat(rows, " rows seen, ", table_.size_, " counted"));
  }
  if (segments != table_.segments_ || segments_at != table_.segments_at_) {
    return absl::InternalError(
        absl::StrCat(segments, " segments seen, ", table_.segments_, " counted"));
  }
  return absl::OkStatus();
}

uint64_t HashTableChecker::BlockBytes() const {
  if (table_.directory_ == nullptr) return 0;
  const uint64_t directory = HashTable::DirectoryBytes(table_.depth_);
  uint64_t bytes = memory::SizeClassBytes(memory::SizeClassOf(directory));
  for (uint64_t i = 0; i < uint64_t{1} << table_.depth_;) {
    const HashSegment& segment = *table_.directory_[i].segment();
    bytes += segment.bytes();
    i += uint64_t{1} << (table_.depth_ - segment.depth);
  }
  return bytes;
}

absl::Status CheckHashTable(const HashTable& table) { return HashTableChecker(table).Check(); }

}  // namespace eris::storage
