// The distinct strings of one segment's column, while they are few: string -> code by a hash table,
// code -> string by offsets, as kernels read them. Codes are given in order of appearance and never
// taken back; one that no row uses harms nobody. Used by the thread of the AEU that owns the
// partition. Paper: ERIS 3.1 (column store).
#ifndef ERIS_STORAGE_TABLE_STRING_DICTIONARY_H_
#define ERIS_STORAGE_TABLE_STRING_DICTIONARY_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "memory/local_cache.h"
#include "storage/table/rows/cache_array.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// More than this, and a segment's column keeps the strings themselves. Slots of two bytes for twice
// as many stay in the core's first cache while rows are loaded.
inline constexpr uint32_t kDictionaryStringsMax = 4096;
inline constexpr uint32_t kDictionaryBytesMax = 1u << 20;
// Beyond so many, strings that are more than half of the rows are not worth one. Fewer tell
// nothing.
inline constexpr uint32_t kDictionaryUnjudged = 1024;

class StringDictionary {
 public:
  // The string's code, which is new if it was not there; kNoCode: no memory, nothing has changed.
  static constexpr uint32_t kNoCode = ~uint32_t{0};
  uint32_t CodeOf(memory::LocalCache& cache, absl::string_view text);

  const DictionaryView& view() const { return view_; }
  uint32_t size() const { return view_.size; }
  uint32_t bytes() const { return view_.size == 0 ? 0 : offsets_[view_.size]; }
  absl::string_view StringOf(uint32_t code) const {
    return {bytes_.data() + offsets_[code], offsets_[code + 1] - offsets_[code]};
  }

  void Free(memory::LocalCache& cache);

 private:
  static uint64_t Hash(absl::string_view text);
  bool Grow(memory::LocalCache& cache, size_t length);

  DictionaryView view_;
  CacheArray<uint32_t> offsets_;  // size + 1
  CacheArray<char> bytes_;
  CacheArray<uint16_t> slots_;  // code + 1, or 0; a power of two of them, at most half of it used
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_STRING_DICTIONARY_H_
