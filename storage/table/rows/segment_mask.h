// Which rows of a segment one snapshot sees, block by block as a scan comes to them. Which ones
// these are never changes while the snapshot is held, so that a mask is kept from slice to slice:
// the deaths of a block are looked through once. Of one scan; no latch. Paper: ERIS 3.1 (MVCC).
#ifndef ERIS_STORAGE_TABLE_SEGMENT_MASK_H_
#define ERIS_STORAGE_TABLE_SEGMENT_MASK_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "storage/table/rows/row_versions.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

class SegmentMask {
 public:
  // A snapshot that shows all that is alive; of it nothing is kept from one call to the next.
  static constexpr uint64_t kNow = std::numeric_limits<uint64_t>::max();

  // False: no memory for a segment's bits.
  [[nodiscard]] bool Allocate();
  bool allocated() const { return words_ != nullptr; }

  // Of the first `rows` rows of the segment with that id, at `snapshot`, from now on; what has been
  // made of the same stays. `versions` is looked at by Make until the partition is changed.
  // REQUIRES: allocated.
  void Begin(uint64_t segment, const RowVersions& versions, uint64_t snapshot, uint32_t rows);
  // Makes the words of the block that `row` lies in, unless that has been done. To be called
  // before they are read.
  void Make(uint32_t row) {
    const uint32_t block = row / kBlockRows;
    if ((made_ >> block & 1) == 0) MakeBlock(block);
  }
  // Bit i of word i / 64: row i is seen. As in SegmentView::kept.
  const uint64_t* words() const { return words_.get(); }
  // Blocks that have been made since Begin was called for another segment.
  uint32_t made() const { return made_; }

 private:
  void MakeBlock(uint32_t block);

  std::unique_ptr<uint64_t[]> words_;
  const RowVersions* versions_ = nullptr;
  uint32_t made_ = 0;  // a bit per block
  // What it is of.
  uint64_t segment_ = 0;
  uint64_t snapshot_ = 0;
  uint32_t rows_ = 0;
};
static_assert(kSegmentRows / kBlockRows == 32);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_SEGMENT_MASK_H_
