// Which rows of a segment one snapshot sees, made block by block as a scan needs them. The result
// does not change while the snapshot is held, so a mask is kept from slice to slice: the deaths of
// a block are read once. Belongs to one scan; no latch. Paper: ERIS 3.1 (MVCC).
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
  // A snapshot that shows all live rows; its masks are not kept from one call to the next.
  static constexpr uint64_t kNow = std::numeric_limits<uint64_t>::max();

  // False: no memory for the bits of a segment.
  [[nodiscard]] bool Allocate();
  bool allocated() const { return words_ != nullptr; }

  // Selects the first `rows` rows of the segment with that id, at `snapshot`; blocks made for the
  // same arguments are kept. Make reads `versions`, until the partition changes.
  // REQUIRES: allocated.
  void Begin(uint64_t segment, const RowVersions& versions, uint64_t snapshot, uint32_t rows);
  // Makes the words of the block that contains `row`, unless they exist. Call it before reading
  // them.
  void Make(uint32_t row) {
    const uint32_t block = row / kBlockRows;
    if ((made_ >> block & 1) == 0) MakeBlock(block);
  }
  // Bit i of word i / 64: row i is visible. As in SegmentView::kept.
  const uint64_t* words() const { return words_.get(); }
  // Blocks made since Begin selected another segment.
  uint32_t made() const { return made_; }

 private:
  void MakeBlock(uint32_t block);

  std::unique_ptr<uint64_t[]> words_;
  const RowVersions* versions_ = nullptr;
  uint32_t made_ = 0;  // a bit per block
  // The current selection.
  uint64_t segment_ = 0;
  uint64_t snapshot_ = 0;
  uint32_t rows_ = 0;
};
static_assert(kSegmentRows / kBlockRows == 32);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_SEGMENT_MASK_H_
