// The distinct strings of one segment's column, while they are few: string -> code by a hash table,
// code -> string by offsets, as kernels read them. Codes are assigned in order of appearance and
// never removed; an unused code is harmless. Used by the thread of the AEU that owns the partition.
// Paper: ERIS 3.1 (column store).
#ifndef ERIS_STORAGE_TABLE_STRING_DICTIONARY_H_
#define ERIS_STORAGE_TABLE_STRING_DICTIONARY_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "memory/local_cache.h"
#include "storage/table/rows/cache_array.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// With more strings than this, a segment's column stores the strings themselves. Two-byte slots for
// twice as many stay in the core's first cache while rows are loaded.
inline constexpr uint32_t kDictionaryStringsMax = 4096;
inline constexpr uint32_t kDictionaryBytesMax = 1u << 20;
// Above this number a dictionary is not worthwhile if the strings are more than half of the rows.
// Fewer strings are not enough to judge.
inline constexpr uint32_t kDictionaryUnjudged = 1024;

class StringDictionary {
 public:
  // The string's code, a new one if it was absent; kNoCode: no memory, nothing has changed.
  static constexpr uint32_t kNoCode = ~uint32_t{0};
  uint32_t CodeOf(memory::LocalCache& cache, absl::string_view text);

  const DictionaryView& view() const { return view_; }
  uint32_t size() const { return view_.size; }
  uint32_t bytes() const { return view_.size == 0 ? 0 : offsets_[view_.size]; }
  absl::string_view StringOf(uint32_t code) const {
    return {bytes_.data() + offsets_[code], offsets_[code + 1] - offsets_[code]};
  }

  void BringHome(memory::LocalCache& cache, HomeWork& work);
  void Free(memory::LocalCache& cache);

 private:
  static uint64_t Hash(absl::string_view text);
  bool Grow(memory::LocalCache& cache, size_t length);

  DictionaryView view_;
  CacheArray<uint32_t> offsets_;  // size + 1
  CacheArray<char> bytes_;
  CacheArray<uint16_t> slots_;  // code + 1, or 0; the size is a power of two, at most half used
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_STRING_DICTIONARY_H_
