// The memory of a run's groups: pages of at most 128 KiB, so that growth copies no group, and no
// growth takes longer than one page. A page comes from a PageSource: the general heap for readers'
// scans, the AEU's memory for queries (storage/query/rows/query_pages.h), which one query leaves
// warm for the next. Used by one thread; no latch. Not from the paper.
#ifndef ERIS_STORAGE_TABLE_GROUP_PAGES_H_
#define ERIS_STORAGE_TABLE_GROUP_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "storage/table/groups/run_memory.h"

namespace eris::storage {

inline constexpr size_t kGroupPageBytes = 128u << 10;

class PageSource {
 public:
  virtual ~PageSource() = default;
  // At least `bytes`, aligned to 64; contents unspecified. nullptr: refused.
  [[nodiscard]] virtual void* Allocate(size_t bytes) = 0;
  // `bytes` as given to Allocate.
  virtual void Free(void* page, size_t bytes) = 0;
  // ResourceExhausted, for the last refusal.
  virtual absl::Status Refusal() const = 0;
};

// Pages of the general heap, counted in the memory of all runs.
class CountedPages final : public PageSource {
 public:
  // `memory` outlives it; nullptr: not counted.
  explicit CountedPages(RunMemory* memory) : memory_(memory) {}

  void* Allocate(size_t bytes) override;
  void Free(void* page, size_t bytes) override;
  absl::Status Refusal() const override;

 private:
  RunMemory* const memory_;
  // The last refusal.
  size_t refused_bytes_ = 0;
  bool over_limit_ = false;
};

// A long array of records of one size. The first few are in memory of their own, not of the source:
// a run with few groups is never refused. The first page then grows by copying until it is whole;
// after that, records keep their places.
class RecordPages {
 public:
  // `source` outlives it. `first`: records in memory of their own. Throws std::bad_alloc.
  RecordPages(PageSource& source, size_t record_bytes, uint32_t first);
  ~RecordPages();
  RecordPages(const RecordPages&) = delete;
  RecordPages& operator=(const RecordPages&) = delete;

  // REQUIRES: i < room().
  std::byte* At(uint64_t i) const { return pages_[i >> shift_] + (i & mask_) * record_bytes_; }
  uint64_t room() const { return room_; }
  // Makes more room, at most a page, whose contents are unspecified. False: refused; nothing has
  // changed. Throws std::bad_alloc; then nothing has changed, too.
  [[nodiscard]] bool Grow();
  // Frees at most `pages` of its pages, and counts them down. True: some are left. After it only
  // FreeSome may be called.
  bool FreeSome(uint32_t& pages);

 private:
  bool GrowFirst();
  void FreeLast();

  PageSource& source_;
  const size_t record_bytes_;
  const uint32_t shift_;  // two to this power records in a page
  const uint64_t mask_;
  uint64_t first_ = 0;  // records of the first page; fewer than a page's only if it is the only one
  uint64_t room_ = 0;
  bool own_first_ = true;  // the first page is not of the source
  std::vector<std::byte*> pages_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_PAGES_H_
