// Makes a key filter of a column of rows, in steps, in the memory of a query. Used by one thread
// until it is made. Not from the paper.
#ifndef ERIS_STORAGE_QUERY_KEY_FILTER_MAKER_H_
#define ERIS_STORAGE_QUERY_KEY_FILTER_MAKER_H_

#include <cstdint>
#include <vector>

#include "storage/query/rows/envelope_list.h"
#include "storage/query/rows/page_array.h"
#include "storage/query/rows/query_memory.h"
#include "storage/table/query/key_filter.h"

namespace eris::storage {

class KeyFilterMaker final : public KeyFilter {
 public:
  // The rows of all `lists`, whose column has HasKeyFilter. They are complete, and stay until it is
  // made; `memory` outlives it. `known`: keys in this range are enough, so envelopes without any
  // are not read.
  KeyFilterMaker(QueryMemory& memory, std::vector<const EnvelopeList*> lists, uint32_t column,
                 NumberRange known = {});
  KeyFilterMaker(const KeyFilterMaker&) = delete;
  KeyFilterMaker& operator=(const KeyFilterMaker&) = delete;

  // One step: a page of 128 KiB, or at most kInsertedAtOnce rows. After kNoMemory the filter must
  // not be used.
  StepResult Make();
  // How many rows of lists[list] it has read. After kDone.
  uint64_t rows_of(size_t list) const { return rows_of_[list]; }

 private:
  enum class Phase : uint8_t { kMeasure, kRoom, kInsert, kDone };
  static constexpr uint32_t kMeasuredAtOnce = 256;  // envelopes
  static constexpr uint32_t kInsertedAtOnce = 4096;
  // Numbers between the smallest and the largest key for which they get a bit each: 8 bytes a row,
  // or what stays in a core's cache anyway. A filter with a bit each is never wrong.
  static constexpr uint64_t kBitsPerRow = 64;
  static constexpr uint64_t kBitsAnyway = uint64_t{1} << 20;
  // Four bits set of 16 that a row has: fewer than 5 of 100 absent keys pass (key_filter_test.cc).
  static constexpr uint64_t kRowsPerBloomWord = 4;

  // Goes to the envelope that comes next. False: there is none.
  bool NextEnvelope();
  bool IsRead(const SegmentColumn& column) const {
    return column.bounds == nullptr ||
           known_.Overlaps(column.bounds->min.u64, column.bounds->max.u64);
  }
  void Measure();
  void Widen(const SegmentColumn& column);
  StepResult MakeRoom();
  void InsertRows();
  template <class T>
  void Insert(const SegmentColumn& column, const T* values, uint32_t end);

  const std::vector<const EnvelopeList*> lists_;
  const uint32_t column_;
  PageArray<uint64_t, kPageBits> bits_;
  Phase phase_ = Phase::kMeasure;
  uint64_t rows_ = 0;
  std::vector<uint64_t> rows_of_;  // by list
  // The row that comes next.
  size_t list_ = 0;
  uint32_t envelope_ = 0;
  uint32_t row_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_KEY_FILTER_MAKER_H_
