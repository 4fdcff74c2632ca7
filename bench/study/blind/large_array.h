// An array from calloc, so from the preloaded allocator: zeros that no thread has touched. Counts
// as requested.
#ifndef ERIS_BENCH_STUDY_BLIND_LARGE_ARRAY_H_
#define ERIS_BENCH_STUDY_BLIND_LARGE_ARRAY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "bench/routing/machine.h"
#include "bench/study/blind/requested_bytes.h"

namespace eris::bench::study {

// `advise_huge`: asks the kernel for huge pages (madvise), as a program may for its large arrays.
template <class T>
class LargeArray {
 public:
  LargeArray(size_t size, bool advise_huge)
      : size_(size), data_(static_cast<T*>(std::calloc(size, sizeof(T)))) {
    if (data_ == nullptr) Die("no memory");
    requested_by_thread.all += bytes();
    ++requested_by_thread.calls;
    if (!advise_huge) return;
    constexpr uintptr_t kPageBytes = 4096;
    const auto begin = reinterpret_cast<uintptr_t>(data_);
    const uintptr_t first = (begin + kPageBytes - 1) & ~(kPageBytes - 1);
    const uintptr_t end = (begin + size * sizeof(T)) & ~(kPageBytes - 1);
    if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  }
  ~LargeArray() {
    requested_by_thread.freed += bytes();
    std::free(data_);
  }
  LargeArray(const LargeArray&) = delete;
  LargeArray& operator=(const LargeArray&) = delete;

  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T* data() const { return data_; }

 private:
  const size_t size_;
  T* const data_;
};

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_LARGE_ARRAY_H_
