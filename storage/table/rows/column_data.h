// One column of one segment: the arrays behind a SegmentColumn, and how rows are appended to them.
// Fixed-width values are an array; strings begin as u16 codes of a dictionary, and change to
// offsets and bytes when there are too many distinct ones. There is a validity bitmap from the
// first null on.
//
// Values after the segment's last row are ignored until the segment counts them: a refused piece
// leaves values there, which the next one overwrites, and wider bounds. Used by the thread of the
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

// Limit for one column of strings in one segment. Beyond it the segment is full, whatever its
// number of rows, so that no allocation is larger. The strings of a piece always fit.
inline constexpr uint32_t kSegmentStringBytesMax = 16u << 20;
static_assert(uint64_t{kPieceRows} * kTableStringBytesMax <= kSegmentStringBytesMax);

enum class PutResult : uint8_t {
  kDone,
  kFull,      // the rows do not fit in addition to the existing ones
  kNoMemory,  // nothing visible has changed
};

// What to do if the arrays have no room.
enum class Growth : uint8_t {
  kCopy,  // allocate longer arrays and copy everything
  kNone,  // kFull, unless the arrays are empty: the cost of a call depends only on its own rows
};

class ColumnData {
 public:
  // `of_key`: of the table's key, whose equal numbers are one: -0.0 is stored as 0.0.
  explicit ColumnData(ColumnType type, bool of_key = false)
      : one_zero_(of_key && type == ColumnType::kFloat64) {
    view_.type = type;
  }

  // First makes room for `capacity` rows, then writes the picked rows of `source`, which is of this
  // type, to rows [at, at + pick.count). REQUIRES: at + pick.count <= capacity.
  PutResult Put(memory::LocalCache& cache, const ColumnSource& source, const RowPick& pick,
                uint32_t at, uint32_t capacity, Growth growth = Growth::kCopy);

  const SegmentColumn& view() const { return view_; }
  // CountNulls: counts the nulls among rows [first, last), which the segment counts from now on.
  // RecountNulls: counts again those of the first `rows` rows, after rows were taken back.
  void CountNulls(uint32_t first, uint32_t last);
  void RecountNulls(uint32_t rows) {
    view_.nulls = 0;
    CountNulls(0, rows);
  }
  // The string bytes of `rows` rows; 0 if there is a dictionary.
  uint32_t string_bytes(uint32_t rows) const {
    return view_.offsets == nullptr ? 0 : offsets_[rows];
  }
  const StringDictionary& dictionary() const { return dictionary_; }
  // Whether a dictionary was not worthwhile, or will not be much longer.
  bool MostlyDistinct(uint32_t rows) const {
    return view_.offsets != nullptr || !DictionaryServes(rows) || 2 * dictionary_.size() > rows;
  }
  // Reserves room, so that the strings need not grow repeatedly. Only a hint, which may fail.
  // `plain`: without a dictionary from the first row on.
  void ExpectStrings(uint32_t bytes, bool plain = false) {
    expected_bytes_ = bytes;
    plain_ = plain;
  }
  // Moves the arrays to the NumaNode of the cache's AEU. Afterwards view() is another one.
  void BringHome(memory::LocalCache& cache, HomeWork& work);
  // The column itself has been copied to another address.
  void MovedHere();
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
  // Whether codes are still better for the first `rows` rows.
  bool DictionaryServes(uint32_t rows) const;
  // With Growth::kNone: only if no row of the segment counts.
  PutResult LeaveDictionary(memory::LocalCache& cache, uint32_t rows);
  // Makes 0.0 of the zeros among `count` values.
  static void PutOneZero(char* values, uint32_t count);
  void WidenBounds(const ColumnSource& source, const RowPick& pick);
  template <class T>
  void WidenBy(const ColumnSource& source, const RowPick& pick);

  uint32_t ValueBytes() const {
    return IsByteString(view_.type) ? sizeof(uint16_t) : ColumnValueBytes(view_.type);
  }

  SegmentColumn view_;  // the view for kernels
  SegmentColumn::Bounds bounds_{};
  bool nan_ = false;
  const bool one_zero_;
  bool plain_ = false;
  uint32_t expected_bytes_ = 0;
  // Values, or codes; for strings without a dictionary their bytes.
  CacheArray<char> values_;
  CacheArray<uint64_t> validity_;
  CacheArray<uint32_t> offsets_;
  StringDictionary dictionary_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_COLUMN_DATA_H_
