// How a hash table adapts to its number of rows: one segment at a time. Each step builds the new
// segment first, and installs it when nothing can fail any more.
#include <algorithm>

#include "base/check.h"
#include "storage/hash/hash_table.h"

namespace eris::storage {

HashTable::Outcome HashTable::Start() {
  constexpr uint32_t kDepth = 1;  // two halves, so that each can use keys of the other as markers
  auto* directory = static_cast<SegmentRef*>(cache_->Allocate(DirectoryBytes(kDepth)));
  void* low = directory == nullptr ? nullptr : cache_->Allocate(kSegmentBytes[0]);
  void* high = low == nullptr ? nullptr : cache_->Allocate(kSegmentBytes[0]);
  if (high == nullptr) {
    if (low != nullptr) cache_->Free(low, kSegmentBytes[0]);
    if (directory != nullptr) cache_->Free(directory, DirectoryBytes(kDepth));
    return Outcome::kNoMemory;
  }
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  directory[0] = SegmentRef(HashSegment::Format(low, 0, kDepth, 0, MarkerFor(0)));
  directory[1] = SegmentRef(HashSegment::Format(high, kHalf, kDepth, 0, MarkerFor(kHalf)));
  SetDirectory(directory, kDepth);
  counts_[0] = counts_[1] = 0;
  segments_ = 2;
  segments_at_[kDepth] = 2;
  return Outcome::kDone;
}

HashTable::Outcome HashTable::Build(const HashSegment* a, const HashSegment* b, const Row* row,
                                    uint64_t first_hash, uint32_t depth, uint32_t size,
                                    uint32_t size_max, HashSegment** built) {
  for (; size <= size_max; ++size) {
    void* block = cache_->Allocate(kSegmentBytes[size]);
    if (block == nullptr) return Outcome::kNoMemory;
    HashSegment* segment =
        HashSegment::Format(block, first_hash, depth, size, MarkerFor(first_hash));
    if (segment->InsertAll(*a, mix_) && (b == nullptr || segment->InsertAll(*b, mix_)) &&
        (row == nullptr || !segment->Owns(row->hash) ||
         segment->Insert(row->hash, row->key, row->value))) {
      *built = segment;
      return Outcome::kDone;
    }
    Free(segment);
  }
  return Outcome::kCrowded;
}

void HashTable::Install(const HashSegment* segment) {
  const uint64_t begin = segment->first_hash >> (64 - depth_);
  std::fill_n(directory_ + begin, uint64_t{1} << (depth_ - segment->depth), SegmentRef(segment));
  counts_[begin] = segment->rows;
  ++moves_;
}

HashTable::Outcome HashTable::Grow(HashSegment* segment, const Row& row) {
  const auto grow_to = [&](uint32_t size_max) {
    HashSegment* built;
    const Outcome outcome = Build(segment, nullptr, &row, segment->first_hash, segment->depth,
                                  segment->size + 1, size_max, &built);
    if (outcome != Outcome::kDone) return outcome;
    Install(built);
    Free(segment);
    return outcome;
  };
  Outcome outcome = grow_to(kSegmentSizeSplit);
  if (outcome == Outcome::kCrowded) outcome = Split(segment, row);
  if (outcome == Outcome::kCrowded) outcome = grow_to(kSegmentSizeLast);
  return outcome;
}

HashTable::Outcome HashTable::Split(HashSegment* segment, const Row& row) {
  const uint32_t depth = segment->depth + 1;
  const bool doubles = depth > depth_;
  if (doubles && (depth > kDepthMax || uint64_t{1} << depth > segments_ * kEntriesPerSegmentMax)) {
    return Outcome::kCrowded;
  }
  const uint64_t middle = segment->first_hash | uint64_t{1} << (64 - depth);
  uint32_t high_rows = row.hash >= middle ? 1 : 0;
  const Bucket* bucket = segment->buckets();
  for (const Bucket* end = bucket + SegmentBuckets(segment->size); bucket != end; ++bucket) {
    for (uint32_t i = 0; i < kBucketRows && bucket->keys[i] != segment->marker; ++i) {
      high_rows += mix_(bucket->keys[i]) >= middle ? 1 : 0;
    }
  }
  const uint32_t low_rows = RowsOf(*segment) + 1 - high_rows;

  SegmentRef* doubled = doubles ? MakeDoubled() : nullptr;
  if (doubles && doubled == nullptr) return Outcome::kNoMemory;
  HashSegment* low = nullptr;
  HashSegment* high = nullptr;
  Outcome outcome = Build(segment, nullptr, &row, segment->first_hash, depth,
                          SegmentSizeFor(low_rows), kSegmentSizeLast, &low);
  if (outcome == Outcome::kDone) {
    outcome = Build(segment, nullptr, &row, middle, depth, SegmentSizeFor(high_rows),
                    kSegmentSizeLast, &high);
  }
  if (outcome != Outcome::kDone) {
    if (low != nullptr) Free(low);
    if (doubled != nullptr) cache_->Free(doubled, DirectoryBytes(depth));
    return outcome;
  }
  if (doubled != nullptr) {
    cache_->Free(directory_, DirectoryBytes(depth_));
    SetDirectory(doubled, depth);
  }
  Install(low);
  Install(high);
  ++segments_;
  --segments_at_[segment->depth];
  segments_at_[depth] += 2;
  Free(segment);
  return Outcome::kDone;
}

SegmentRef* HashTable::MakeDoubled() const {
  auto* doubled = static_cast<SegmentRef*>(cache_->Allocate(DirectoryBytes(depth_ + 1)));
  if (doubled == nullptr) return nullptr;
  uint32_t* const counts = CountsOf(doubled, depth_ + 1);
  for (uint64_t i = 0; i < uint64_t{1} << depth_; ++i) {
    doubled[2 * i] = directory_[i];
    doubled[2 * i + 1] = directory_[i];
    counts[2 * i] = counts_[i];
    counts[2 * i + 1] = 0;
  }
  return doubled;
}

void HashTable::HalveDirectory() {
  auto* halved = static_cast<SegmentRef*>(cache_->Allocate(DirectoryBytes(depth_ - 1)));
  if (halved == nullptr) return;  // the larger one works too
  uint32_t* const counts = CountsOf(halved, depth_ - 1);
  for (uint64_t i = 0; i < uint64_t{1} << (depth_ - 1); ++i) {
    halved[i] = directory_[2 * i];
    counts[i] = counts_[2 * i];
  }
  cache_->Free(directory_, DirectoryBytes(depth_));
  SetDirectory(halved, depth_ - 1);
}

void HashTable::Shrink(HashSegment* segment) {
  if (RowsOf(*segment) > 0 && RowsOf(*segment) >= segment->shrink_below) return;
  // A failed attempt costs a copy each time: try again only with an eighth fewer rows.
  const auto put_off = [&] { segment->shrink_below = RowsOf(*segment) - RowsOf(*segment) / 8; };
  while (segment->depth > 1) {
    const uint64_t sibling_bit = uint64_t{1} << (64 - segment->depth);
    HashSegment* sibling = EntryOf(segment->first_hash ^ sibling_bit).segment();
    if (sibling->depth != segment->depth) break;
    // Empty siblings merge without memory, so they merge all the way up.
    const bool empty = RowsOf(*segment) == 0 && RowsOf(*sibling) == 0;
    const uint64_t first_hash = segment->first_hash & ~sibling_bit;
    if (!MayMerge(*segment, *sibling)) break;
    if (!Merge(segment, sibling)) return put_off();  // the two segments work too
    if (!empty) return;
    segment = EntryOf(first_hash).segment();
  }
  const uint32_t size = SegmentSizeFor(RowsOf(*segment) + RowsOf(*segment) / 8);
  if (size >= segment->size) return;
  HashSegment* built;
  if (Build(segment, nullptr, nullptr, segment->first_hash, segment->depth, size, segment->size - 1,
            &built) != Outcome::kDone) {
    return put_off();  // the larger one works too
  }
  Install(built);
  Free(segment);
}

bool HashTable::MayMerge(const HashSegment& segment, const HashSegment& sibling) const {
  // The limit leaves room, so that the result is not split again at once.
  return RowsOf(segment) + RowsOf(sibling) <= SegmentRowsMax(kSegmentSizeSplit) * 3 / 4;
}

bool HashTable::Merge(HashSegment* segment, HashSegment* sibling) {
  const uint32_t rows = RowsOf(*segment) + RowsOf(*sibling);
  const uint32_t depth = segment->depth - 1;
  const uint64_t first_hash = std::min(segment->first_hash, sibling->first_hash);
  HashSegment* merged;
  if (rows == 0) {
    HashSegment* larger = segment->size < sibling->size ? sibling : segment;
    HashSegment* smaller = larger == segment ? sibling : segment;
    merged = HashSegment::Format(smaller, first_hash, depth, smaller->size, MarkerFor(first_hash));
    Install(merged);
    Free(larger);
  } else {
    if (Build(segment, sibling, nullptr, first_hash, depth, SegmentSizeFor(rows), kSegmentSizeSplit,
              &merged) != Outcome::kDone) {
      return false;
    }
    Install(merged);
    Free(segment);
    Free(sibling);
  }
  --segments_;
  segments_at_[depth + 1] -= 2;
  ++segments_at_[depth];
  if (depth_ > 1 && segments_at_[depth_] == 0) HalveDirectory();
  return true;
}

}  // namespace eris::storage
