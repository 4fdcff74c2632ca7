#include "storage/table/rows/segment_mask.h"

#include <new>

#include "base/check.h"

namespace eris::storage {

bool SegmentMask::Allocate() {
  if (words_ == nullptr) words_.reset(new (std::nothrow) uint64_t[kSegmentRows / 64]);
  return words_ != nullptr;
}

void SegmentMask::Begin(uint64_t segment, const RowVersions& versions, uint64_t snapshot,
                        uint32_t rows) {
  ERIS_DCHECK(allocated());
  versions_ = &versions;
  if (segment_ == segment && snapshot_ == snapshot && rows_ == rows && snapshot != kNow) return;
  segment_ = segment;
  snapshot_ = snapshot;
  rows_ = rows;
  made_ = 0;
}

void SegmentMask::MakeBlock(uint32_t block) {
  versions_->MaskBlock(snapshot_, rows_, block, words_.get() + size_t{block} * kBlockWords);
  made_ |= 1u << block;
}

}  // namespace eris::storage
