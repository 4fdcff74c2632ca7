// An envelope: rows of a query between two operators, in columns. It is filled once, through the
// ResultRows that scans write to, then sealed: from then on it is immutable, any thread may read
// it, and its SegmentView lets the kernels process it as they do a table's segment. Filled by one
// thread. Named after Bobox's envelopes (locality-aware scheduling in Bobox, 3).
//
//   one block   Envelope | SegmentColumn[] | ResultColumn[] | Tally[] | arrays, column by column
//
// One block, so that handing it to another AEU is handing over a pointer, and the block goes home
// by the recollection bin when that AEU frees it.
#ifndef ERIS_STORAGE_QUERY_ENVELOPE_H_
#define ERIS_STORAGE_QUERY_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "eris/schema.h"
#include "storage/query/rows/query_memory.h"
#include "storage/table/query/result_rows.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

inline constexpr uint32_t kEnvelopeRowsMax = kSegmentRows;

struct EnvelopeColumn {
  ColumnType type = ColumnType::kInt64;
  uint8_t scale = 0;  // of kDecimal and kInt128
  friend bool operator==(const EnvelopeColumn&, const EnvelopeColumn&) = default;
};

class alignas(base::kCacheLineBytes) Envelope {
 public:
  // An empty one with room for `rows` rows, 1 to kEnvelopeRowsMax, and for string_bytes[c] bytes of
  // strings in column c, which is ignored for other columns. As many string_bytes as columns; both
  // spans are read during the call only. nullptr: no memory.
  [[nodiscard]] static Envelope* Create(QueryMemory& memory,
                                        std::span<const EnvelopeColumn> columns, uint32_t rows,
                                        std::span<const uint32_t> string_bytes);
  // The bytes of the block of such an envelope.
  static size_t BytesOf(std::span<const EnvelopeColumn> columns, uint32_t rows,
                        std::span<const uint32_t> string_bytes);
  // `memory`: of the AEU that has it now.
  static void Free(Envelope* envelope, QueryMemory& memory);

  // To be filled. The writer appends rows to all columns, then sets ResultRows::rows.
  // REQUIRES: !sealed().
  ResultRows& out() { return out_; }
  // Takes in bounds and nulls of the rows appended since the last call. Optional: Seal takes in the
  // rest. A writer that calls it after each block reads them while they are in the core's cache,
  // and keeps Seal short.
  void Count();
  // No row may be appended afterwards. O(rows since the last Count + columns).
  void Seal();
  bool sealed() const { return sealed_; }

  // REQUIRES: sealed().
  const SegmentView& view() const { return view_; }
  uint32_t rows() const { return out_.rows; }
  const SegmentColumn& column(uint32_t c) const { return columns_[c]; }
  size_t bytes() const { return bytes_; }  // of the block
  // What a reader of all rows reads: values, strings, and bits of columns with nulls. REQUIRES:
  // sealed(). O(columns).
  size_t row_bytes() const;

  // The next one of a chain (outgoing_envelopes.h), for its owner.
  Envelope* next() const { return next_; }
  void SetNext(Envelope* next) { next_ = next; }

 private:
  // What is known of the values counted so far.
  struct Tally {
    int64_t min_key = INT64_MAX;  // order keys (kernels::OrderKey)
    int64_t max_key = INT64_MIN;
    SegmentColumn::Bounds bounds{};
  };

  Envelope() = default;
  // Places the columns' arrays behind `at` bytes; `block` nullptr: only counts. Returns the end.
  static size_t Place(std::span<const EnvelopeColumn> columns, uint32_t rows,
                      std::span<const uint32_t> string_bytes, std::byte* block);
  void CountBlock(uint32_t first, uint32_t rows);
  void SealColumn(uint32_t c);

  SegmentView view_;
  ResultRows out_;
  SegmentColumn* columns_ = nullptr;
  Tally* tallies_ = nullptr;
  size_t bytes_ = 0;
  Envelope* next_ = nullptr;
  uint32_t counted_ = 0;  // rows
  bool sealed_ = false;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_ENVELOPE_H_
