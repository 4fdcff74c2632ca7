// The sealed envelopes of one input of an operator, and a number for each of their rows. Owns the
// envelopes, or refers to those of other lists. Filled by one thread; once it is complete any
// thread may read it. Not from the paper.
#ifndef ERIS_STORAGE_QUERY_ENVELOPE_LIST_H_
#define ERIS_STORAGE_QUERY_ENVELOPE_LIST_H_

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "storage/query/rows/envelope.h"
#include "storage/query/rows/query_memory.h"

namespace eris::storage {

// A row of a list: its envelope's position in the high half, its row there in the low one. So
// numbers have gaps, but finding a row is a shift.
using RowNumber = uint32_t;
inline constexpr uint32_t kRowBits = 16;
static_assert(kEnvelopeRowsMax == uint32_t{1} << kRowBits);
constexpr RowNumber RowNumberOf(uint32_t envelope, uint32_t row) {
  return envelope << kRowBits | row;
}
constexpr uint32_t EnvelopeOf(RowNumber number) { return number >> kRowBits; }
constexpr uint32_t RowOf(RowNumber number) { return number & (kEnvelopeRowsMax - 1); }
// No row: the partner of a row without one.
inline constexpr RowNumber kNoRow = ~RowNumber{0};
// So none has the number kNoRow.
inline constexpr uint32_t kEnvelopesMax = (1u << (32 - kRowBits)) - 1;

class EnvelopeList {
 public:
  enum class Owns : bool { kNo, kYes };
  // `memory` outlives the list. `columns`: of every envelope; at most kTableColumnsMax. kNo: the
  // envelopes belong to other lists, which outlive this one.
  EnvelopeList(QueryMemory& memory, std::span<const EnvelopeColumn> columns, Owns owns = Owns::kYes)
      : memory_(memory), envelopes_(memory), column_count_(columns.size()), owns_(owns) {
    ERIS_DCHECK(columns.size() <= kTableColumnsMax);
    std::copy(columns.begin(), columns.end(), columns_.begin());
  }
  ~EnvelopeList() { Clear(); }
  EnvelopeList(const EnvelopeList&) = delete;
  EnvelopeList& operator=(const EnvelopeList&) = delete;

  // Takes the envelope over, or refers to it. It must be sealed. kNoMemory: no memory; kFull: the
  // list has kEnvelopesMax. Then it stays the caller's.
  enum class Added : uint8_t { kYes, kNoMemory, kFull };
  [[nodiscard]] Added Add(Envelope* envelope) {
    ERIS_DCHECK(envelope->sealed());
    ERIS_DCHECK(envelope->view().columns.size() == column_count_);
    if (count_ == kEnvelopesMax) return Added::kFull;
    if (!envelopes_.ReserveTwice(std::max(count_ + 1, 8u), count_)) return Added::kNoMemory;
    envelopes_[count_++] = envelope;
    rows_ += envelope->rows();
    for (uint32_t c = 0; c < column_count_; ++c) {
      has_nulls_[c] = has_nulls_[c] || envelope->column(c).validity != nullptr;
    }
    return Added::kYes;
  }
  // Gives up all envelopes: frees those that it owns.
  void Clear() { GiveUp(kEnvelopesMax); }
  // The same for at most `most` of them, the last ones. False: none is left.
  bool GiveUp(uint32_t most) {
    if (owns_ == Owns::kNo) {  // they may be gone
      count_ = 0;
      rows_ = 0;
    }
    const uint32_t left = count_ - std::min(most, count_);
    while (count_ > left) {
      Envelope* const last = envelopes_[--count_];
      rows_ -= last->rows();
      Envelope::Free(last, memory_);
    }
    return count_ > 0;
  }

  std::span<const EnvelopeColumn> columns() const { return {columns_.data(), column_count_}; }
  uint32_t size() const { return count_; }
  const Envelope& operator[](uint32_t e) const { return *envelopes_[e]; }
  Envelope* at(uint32_t e) const { return envelopes_[e]; }
  uint64_t rows() const { return rows_; }
  // False: no row added so far has a null there.
  bool has_nulls(uint32_t column) const { return has_nulls_[column]; }
  Owns owns() const { return owns_; }

 private:
  QueryMemory& memory_;
  QueryArray<Envelope*> envelopes_;
  std::array<EnvelopeColumn, kTableColumnsMax> columns_{};
  std::bitset<kTableColumnsMax> has_nulls_;
  const size_t column_count_;
  const Owns owns_;
  uint32_t count_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_ENVELOPE_LIST_H_
