// A growing array in blocks of a LocalCache: aligned to 64 bytes, and readable up to the next
// multiple of 64. It has no destructor: its owner must free it with the same cache. Used by the
// thread of the AEU that owns the partition.
#ifndef ERIS_STORAGE_TABLE_CACHE_ARRAY_H_
#define ERIS_STORAGE_TABLE_CACHE_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/cache_line.h"
#include "memory/local_cache.h"
#include "storage/home_work.h"

namespace eris::storage {

template <class T>
class CacheArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  T* data() const { return data_; }
  T& operator[](size_t i) const { return data_[i]; }
  uint32_t capacity() const { return capacity_; }

  // Makes room for `wanted` elements, and keeps the first `used`. False: no memory, nothing has
  // changed. REQUIRES: used <= capacity().
  [[nodiscard]] bool Reserve(memory::LocalCache& cache, uint32_t wanted, uint32_t used) {
    if (wanted <= capacity_) return true;
    T* const grown = static_cast<T*>(cache.Allocate(Bytes(wanted)));
    if (grown == nullptr) return false;
    if (used > 0) std::memcpy(grown, data_, used * sizeof(T));
    Free(cache);
    data_ = grown;
    capacity_ = wanted;
    return true;
  }
  void Free(memory::LocalCache& cache) {
    if (data_ != nullptr) cache.Free(data_, Bytes(capacity_));
    data_ = nullptr;
    capacity_ = 0;
  }
  // Its memory comes to the NumaNode of the cache's AEU (storage/home_work.h).
  void BringHome(memory::LocalCache& cache, HomeWork& work) {
    if (data_ != nullptr) data_ = static_cast<T*>(work.Move(cache, data_, Bytes(capacity_)));
  }

 private:
  static size_t Bytes(uint32_t elements) {
    return base::RoundUp(elements * sizeof(T), base::kCacheLineBytes);
  }

  T* data_ = nullptr;
  uint32_t capacity_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_CACHE_ARRAY_H_
