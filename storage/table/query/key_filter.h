// Which values a key may have so that its row has a partner in a join: made of the keys of the
// side that is there already, and looked at by the scan of the other side. It may let a value pass
// that has no partner, but never drops one that has. Immutable once it is made; then any thread may
// read it. Not from the paper.
//
//   kNone    no key: nothing passes
//   kBits    one bit per number between the smallest and the largest key
//   kBloom   keys that are far apart: a blocked Bloom filter, each key sets four bits of one word
//
// It may know the keys of a range alone, e.g. of those that a scan is expected to meet. Then values
// outside of the range pass.
#ifndef ERIS_STORAGE_TABLE_KEY_FILTER_H_
#define ERIS_STORAGE_TABLE_KEY_FILTER_H_

#include <cstdint>
#include <vector>

#include "eris/schema.h"
#include "storage/table/kernels/exact_number.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// Whether keys of that type can be filtered: numbers of at most 64 bits that are equal if their
// bits are.
constexpr bool HasKeyFilter(ColumnType type) {
  return type == ColumnType::kInt32 || type == ColumnType::kInt64 || type == ColumnType::kUint64 ||
         IsTimeType(type) || type == ColumnType::kDecimal;
}

// The numbers from `min` to min + last, in the order of their column; signed ones as two's
// complement. By default all.
struct NumberRange {
  uint64_t min = 0;
  uint64_t last = ~uint64_t{0};

  bool Has(uint64_t number) const { return number - min <= last; }
  bool Overlaps(uint64_t lo, uint64_t hi) const { return Has(lo) || min - lo <= hi - lo; }
  bool all() const { return last == ~uint64_t{0}; }
};

class KeyFilter {
 public:
  enum class Form : uint8_t { kNone, kBits, kBloom };
  // Words are in pages of this many.
  static constexpr uint32_t kPageBits = 14;

  Form form() const { return form_; }
  // False: no row of the column, whose bounds are known, can pass.
  bool MayHave(const SegmentColumn& column) const;
  // Clears the bits of rows that do not pass, nulls among them: bit i is for row base + i of the
  // column, whose type has HasKeyFilter. `base` is a multiple of 64; bits from `rows` on are 0.
  void Keep(const SegmentColumn& column, uint32_t base, uint32_t rows, uint64_t* mask) const;

 protected:
  // What KeyFilterMaker (storage/query/operators/key_filter_maker.h) fills.
  KeyFilter() = default;
  ~KeyFilter() = default;

  static constexpr uint64_t kPageWords = uint64_t{1} << kPageBits;
  uint64_t& WordAt(uint64_t word) const { return pages_[word >> kPageBits][word % kPageWords]; }
  // In kBloom: the word of a key, and its bits there.
  uint64_t BloomWord(uint64_t hash) const {
    return static_cast<uint64_t>(Uint128{hash} * words_ >> 64);
  }
  static uint64_t BloomBits(uint64_t hash) {
    return uint64_t{1} << (hash & 63) | uint64_t{1} << (hash >> 6 & 63) |
           uint64_t{1} << (hash >> 12 & 63) | uint64_t{1} << (hash >> 18 & 63);
  }
  static uint64_t HashOf(uint64_t key) {
    key = (key ^ key >> 32) * 0x9e37'79b9'7f4a'7c15;
    key = (key ^ key >> 29) * 0xbf58'476d'1ce4'e5b9;
    return key ^ key >> 32;
  }

  Form form_ = Form::kNone;
  bool is_signed_ = true;  // the order of keys
  uint64_t min_ = 0;
  uint64_t last_ = 0;  // the largest key - min_
  uint64_t words_ = 0;
  uint64_t* const* pages_ = nullptr;
  NumberRange known_{};  // outside of it every value passes

 private:
  template <class T, class Test>
  static void KeepRows(const T* values, uint32_t rows, uint64_t* mask, Test test);
  template <bool kKnowsAll, class T>
  void KeepValues(const T* values, uint32_t rows, uint64_t* mask) const;
};

// A filter of a column of a scan's table.
struct ColumnFilter {
  uint32_t column = 0;
  const KeyFilter* filter = nullptr;
  bool required = false;  // it never rests
};

// The filters of one scan. In a segment of which a filter drops little it is not asked any more.
// Belongs to one TableRun.
class ColumnFilters {
 public:
  // They outlive this.
  void Set(std::vector<ColumnFilter> filters) {
    filters_.clear();
    for (const ColumnFilter& filter : filters) filters_.push_back({.what = filter});
  }
  bool empty() const { return filters_.empty(); }
  // In every slice. False: no row of the segment can pass.
  bool BeginSegment(const SegmentView& segment);
  // As KeyFilter::Keep, for all filters. How many rows are left; `count`: how many there are.
  uint32_t Keep(const SegmentView& segment, uint32_t base, uint32_t rows, uint64_t* mask,
                uint32_t count);

 private:
  struct One {
    ColumnFilter what{};
    // In this segment.
    uint32_t looked = 0;
    uint32_t passed = 0;
    bool off = false;
  };
  // So many rows of a segment tell whether a filter is worth its time: if more than kPassingMax of
  // 8 pass, it is not.
  static constexpr uint32_t kTriedRows = 4096;
  static constexpr uint32_t kPassingMax = 7;

  std::vector<One> filters_;
  uint64_t segment_ = 0;  // that of the last call, by its id; 0: unknown
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_KEY_FILTER_H_
