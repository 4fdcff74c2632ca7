// The sealed envelopes of one input of an operator, and a number for each of their rows. Owns the
// envelopes. Filled by one thread; once it is complete any thread may read it. Not from the paper.
#ifndef ERIS_STORAGE_QUERY_ENVELOPE_LIST_H_
#define ERIS_STORAGE_QUERY_ENVELOPE_LIST_H_

#include <array>
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
  // `memory` outlives the list. `columns`: of every envelope; at most kTableColumnsMax.
  EnvelopeList(QueryMemory& memory, std::span<const EnvelopeColumn> columns)
      : memory_(memory), envelopes_(memory), column_count_(columns.size()) {
    ERIS_DCHECK(columns.size() <= kTableColumnsMax);
    std::copy(columns.begin(), columns.end(), columns_.begin());
  }
  ~EnvelopeList() { Clear(); }
  EnvelopeList(const EnvelopeList&) = delete;
  EnvelopeList& operator=(const EnvelopeList&) = delete;

  // Takes the envelope over, which must be sealed. kNoMemory: no memory; kFull: the list has
  // kEnvelopesMax. Then it stays the caller's.
  enum class Added : uint8_t { kYes, kNoMemory, kFull };
  [[nodiscard]] Added Add(Envelope* envelope) {
    ERIS_DCHECK(envelope->sealed());
    ERIS_DCHECK(envelope->view().columns.size() == column_count_);
    if (count_ == kEnvelopesMax) return Added::kFull;
    if (!envelopes_.ReserveTwice(std::max(count_ + 1, 8u), count_)) return Added::kNoMemory;
    envelopes_[count_++] = envelope;
    rows_ += envelope->rows();
    return Added::kYes;
  }
  // Frees all envelopes.
  void Clear() {
    for (uint32_t e = 0; e < count_; ++e) Envelope::Free(envelopes_[e], memory_);
    count_ = 0;
    rows_ = 0;
  }

  std::span<const EnvelopeColumn> columns() const { return {columns_.data(), column_count_}; }
  uint32_t size() const { return count_; }
  const Envelope& operator[](uint32_t e) const { return *envelopes_[e]; }
  uint64_t rows() const { return rows_; }

 private:
  QueryMemory& memory_;
  QueryArray<Envelope*> envelopes_;
  std::array<EnvelopeColumn, kTableColumnsMax> columns_{};
  const size_t column_count_;
  uint32_t count_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_ENVELOPE_LIST_H_
