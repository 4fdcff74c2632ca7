// The memory of a query's operators on one AEU: blocks of the AEU's cache, counted in the budget
// that all queries of the engine share. A refusal is a value; the operator stays as it was, and may
// go on once there is memory. Used by the AEU's thread. Not from the paper: a server needs it.
#ifndef ERIS_STORAGE_QUERY_QUERY_MEMORY_H_
#define ERIS_STORAGE_QUERY_QUERY_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/cache_line.h"
#include "memory/local_cache.h"
#include "storage/table/groups/run_memory.h"

namespace eris::storage {

// What one call of an operator that works in steps has achieved.
enum class StepResult : uint8_t {
  kMore,      // call it again
  kDone,      // there is nothing left to do
  kNoMemory,  // refused: QueryMemory::Refusal. It may be called again
};

class QueryMemory {
 public:
  // Both outlive it. `budget` nullptr: no limit except the cache's.
  QueryMemory(memory::LocalCache& cache, RunMemory* budget) : cache_(cache), budget_(budget) {}
  QueryMemory(const QueryMemory&) = delete;
  QueryMemory& operator=(const QueryMemory&) = delete;

  // As LocalCache::Allocate, with whole cache lines: so blocks are aligned to 64 bytes, and may be
  // read up to the next multiple of 64. nullptr: the budget or the cache has refused it.
  [[nodiscard]] void* Allocate(size_t bytes);
  // `bytes` as given to Allocate. The block may come from the QueryMemory of another AEU, if both
  // have the same budget and their caches are of one object.
  void Free(void* block, size_t bytes);

  // ResourceExhausted for the last refusal. The text names the operator, the bytes that it asked
  // for, and the limit.
  absl::Status Refusal(absl::string_view operator_name) const;

  // Bytes allocated here minus bytes freed here: blocks change hands between AEUs, so a single one
  // may be below 0, but the sum over a query's AEUs is what it uses.
  int64_t used_bytes() const { return used_bytes_; }
  memory::LocalCache& cache() const { return cache_; }

 private:
  static constexpr size_t Rounded(size_t bytes) {
    return base::RoundUp(std::max<size_t>(bytes, 1), base::kCacheLineBytes);
  }

  memory::LocalCache& cache_;
  RunMemory* const budget_;
  int64_t used_bytes_ = 0;
  // The last refusal.
  size_t refused_bytes_ = 0;
  bool over_budget_ = false;
};

// An array in one such block, which grows by copying.
template <class T>
class QueryArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // `memory` outlives the array.
  explicit QueryArray(QueryMemory& memory) : memory_(memory) {}
  ~QueryArray() { Free(); }
  QueryArray(const QueryArray&) = delete;
  QueryArray& operator=(const QueryArray&) = delete;

  T* data() const { return data_; }
  T& operator[](size_t i) const { return data_[i]; }
  size_t capacity() const { return capacity_; }

  // Makes room for `wanted` elements, and keeps the first `used`. False: no memory, nothing has
  // changed.
  [[nodiscard]] bool Reserve(size_t wanted, size_t used = 0) {
    if (wanted <= capacity_) return true;
    T* const grown = static_cast<T*>(memory_.Allocate(wanted * kElementBytes));
    if (grown == nullptr) return false;
    if (used > 0) std::memcpy(static_cast<void*>(grown), data_, used * kElementBytes);
    Free();
    data_ = grown;
    capacity_ = wanted;
    return true;
  }
  // The same with room for twice as many if it has to grow, so that appending costs O(1) each.
  [[nodiscard]] bool ReserveTwice(size_t wanted, size_t used) {
    if (wanted <= capacity_) return true;
    return Reserve(std::max(wanted, 2 * capacity_), used);
  }
  void Free() {
    if (data_ != nullptr) memory_.Free(data_, capacity_ * kElementBytes);
    data_ = nullptr;
    capacity_ = 0;
  }

 private:
  static constexpr size_t kElementBytes = sizeof(T);  // NOLINT: T may be a pointer

  QueryMemory& memory_;
  T* data_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_QUERY_MEMORY_H_
