// One column of one segment: the arrays behind a SegmentColumn, and how rows are appended to them.
// Fixed-width values are an array; strings begin as u16 codes of a dictionary, and become offsets
// and bytes when they turn out to be many. A validity bitmap stands there once a null has come.
//
// What is put behind the segment's rows is nobody's until the segment counts it: a refused piece
// leaves values there that the next one writes over, and wider bounds. Used by the thread of the
// AEU that owns the partition. Paper: ERIS 3.1 (column store).
#ifndef ERIS_STORAGE_TABLE_COLUMN_DATA_H_
#define ERIS_STORAGE_TABLE_COLUMN_DATA_H_

#include <cstdint>
#include <cstring>

#include "memory/local_cache.h"
#include "storage/table/rows/cache_array.h"
#include "storage/table/rows/row_source.h"
#include "storage/table/rows/segment_view.h"
#include "storage/table/rows/string_dictionary.h"

namespace eris::storage {

// Of one column of strings in one segment: beyond it the segment is full, whatever rows it has, so
// that no allocation is larger. The strings of a piece always fit.
inline constexpr uint32_t kSegmentStringBytesMax = 16u << 20;
static_assert(uint64_t{kPieceRows} * kTableStringBytesMax <= kSegmentStringBytesMax);

enum class PutResult : uint8_t {
  kDone,
  kFull,      // the rows do not fit beside those that are there
  kNoMemory,  // nothing that counts has changed
};

// What is done for rows that the arrays have no room for.
enum class Growth : uint8_t {
  kCopy,  // longer arrays, to which all that is there is copied
  kNone,  // kFull, unless nothing is there: what a call costs depends on its own rows alone
};

class ColumnData {
 public:
  // `of_key`: of the table's key, whose equal numbers are one: -0.0 is stored as 0.0.
  explicit ColumnData(ColumnType type, bool of_key = false)
      : one_zero_(of_key && type == ColumnType::kFloat64) {
    view_.type = type;
  }

  // Writes the picked rows of `source`, which is of this type, to rows [at, at + pick.count), and
  // makes room for `capacity` rows before. REQUIRES: at + pick.count <= capacity.
  PutResult Put(memory::LocalCache& cache, const ColumnSource& source, const RowPick& pick,
                uint32_t at, uint32_t capacity, Growth growth = Growth::kCopy);

  const SegmentColumn& view() const { return view_; }
  // Counts the nulls among rows [first, last), which the segment counts from now on; or anew those
  // of the first `rows` rows, where rows were taken back.
  void CountNulls(uint32_t first, uint32_t last);
  void RecountNulls(uint32_t rows) {
    view_.nulls = 0;
    CountNulls(0, rows);
  }
  // Of the strings of `rows` rows; 0 where there is a dictionary.
  uint32_t string_bytes(uint32_t rows) const {
    return view_.offsets == nullptr ? 0 : offsets_[rows];
  }
  const StringDictionary& dictionary() const { return dictionary_; }
  // Whether a dictionary has not been worth it, or would not be for long.
  bool MostlyDistinct(uint32_t rows) const {
    return view_.offsets != nullptr || !DictionaryServes(rows) || 2 * dictionary_.size() > rows;
  }
  // So that the strings need not grow again and again. A hint, as is its outcome. `plain`: without
  // a dictionary from the first row on.
  void ExpectStrings(uint32_t bytes, bool plain = false) {
    expected_bytes_ = bytes;
    plain_ = plain;
  }
  void Free(memory::LocalCache& cache);

#ifdef ERIS_TABLE_FAULTS
  void Narrow(const ColumnSource& source, const RowPick& pick) {
    view_.bounds = nullptr;
    WidenBounds(source, pick);
  }
  void CopyWithin(uint32_t from, uint32_t to) {
    std::memcpy(values_.data() + size_t{to} * ValueBytes(),
                values_.data() + size_t{from} * ValueBytes(), ValueBytes());
  }
#endif

 private:
  bool ReserveRows(memory::LocalCache& cache, const ColumnSource& source, const RowPick& pick,
                   uint32_t at, uint32_t capacity);
  void PutValidity(const ColumnSource& source, const RowPick& pick, uint32_t at);
  PutResult PutCodes(memory::LocalCache& cache, const ColumnSource& source, const RowPick& pick,
                     uint32_t at, Growth growth);
  PutResult PutStrings(memory::LocalCache& cache, const ColumnSource& source, const RowPick& pick,
                       uint32_t at, Growth growth);
  // Whether codes are still the better way for the first `rows` rows.
  bool DictionaryServes(uint32_t rows) const;
  // With Growth::kNone only before a segment's first rows count.
  PutResult LeaveDictionary(memory::LocalCache& cache, uint32_t rows);
  // Makes 0.0 of the zeros among `count` values.
  static void PutOneZero(char* values, uint32_t count);
  void WidenBounds(const ColumnSource& source, const RowPick& pick);
  template <class T>
  void WidenBy(const ColumnSource& source, const RowPick& pick);

  uint32_t ValueBytes() const {
    return view_.type == ColumnType::kString ? sizeof(uint16_t) : ColumnValueBytes(view_.type);
  }

  SegmentColumn view_;  // what kernels see
  SegmentColumn::Bounds bounds_{};
  bool nan_ = false;
  const bool one_zero_;
  bool plain_ = false;
  uint32_t expected_bytes_ = 0;
  // Values, or codes; of strings without a dictionary their bytes.
  CacheArray<char> values_;
  CacheArray<uint64_t> validity_;
  CacheArray<uint32_t> offsets_;
  StringDictionary dictionary_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_COLUMN_DATA_H_
