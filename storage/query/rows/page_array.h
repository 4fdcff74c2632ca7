// A long array in pages of a fixed number of elements: no block of memory is above a size class,
// and a step allocates and fills one page. Used by one thread; read by several once it is complete.
// Not from the paper.
#ifndef ERIS_STORAGE_QUERY_PAGE_ARRAY_H_
#define ERIS_STORAGE_QUERY_PAGE_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "storage/query/rows/query_memory.h"

namespace eris::storage {

// kPageBits: two to this power elements in a page.
template <class T, uint32_t kPageBits>
class PageArray {
 public:
  static constexpr uint64_t kPageElements = uint64_t{1} << kPageBits;

  explicit PageArray(QueryMemory& memory) : memory_(memory), pages_(memory) {}
  ~PageArray() {
    while (FreeOne()) continue;
  }
  PageArray(const PageArray&) = delete;
  PageArray& operator=(const PageArray&) = delete;

  // Adds a page on the way to `elements` elements, every byte of it 0. kDone: it has as many.
  StepResult Extend(uint64_t elements) {
    const uint64_t wanted = (elements + kPageElements - 1) >> kPageBits;
    if (count_ >= wanted) return StepResult::kDone;
    if (!pages_.Reserve(wanted, count_)) return StepResult::kNoMemory;
    T* const page = static_cast<T*>(memory_.Allocate(sizeof(T) << kPageBits));
    if (page == nullptr) return StepResult::kNoMemory;
    std::memset(static_cast<void*>(page), 0, sizeof(T) << kPageBits);
    pages_[count_++] = page;
    return count_ == wanted ? StepResult::kDone : StepResult::kMore;
  }

  // Frees its last page. False: there is none.
  bool FreeOne() {
    if (count_ == 0) return false;
    memory_.Free(pages_[--count_], sizeof(T) << kPageBits);
    return true;
  }

  // All of them; nullptr: there is none.
  T* const* pages() const { return pages_.data(); }
  // REQUIRES: i is below the `elements` of Extend.
  T& operator[](uint64_t i) const { return pages_[i >> kPageBits][i & (kPageElements - 1)]; }

 private:
  QueryMemory& memory_;
  QueryArray<T*> pages_;
  uint64_t count_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_PAGE_ARRAY_H_
