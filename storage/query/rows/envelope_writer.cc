#include "storage/query/rows/envelope_writer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace eris::storage {

EnvelopeWriter::EnvelopeWriter(QueryMemory& memory, std::span<const EnvelopeColumn> columns,
                               size_t bytes_target, uint32_t rows_max)
    : memory_(memory),
      column_count_(columns.size()),
      bytes_target_(bytes_target),
      rows_max_(rows_max) {
  ERIS_DCHECK(columns.size() <= kTableColumnsMax);
  std::copy(columns.begin(), columns.end(), columns_.begin());
  expected_.fill(kExpectedStringBytes);
  Decide();
}

EnvelopeWriter::~EnvelopeWriter() {
  if (open_ != nullptr) Envelope::Free(open_, memory_);
}

Envelope* EnvelopeWriter::Open() {
  if (open_ == nullptr) {
    open_ = Envelope::Create(memory_, columns(), rows_, {string_bytes_.data(), column_count_});
  }
  return open_;
}

Envelope* EnvelopeWriter::Take() {
  if (open_ == nullptr) return nullptr;
  open_->Seal();
  if (open_->rows() > 0) Learn(*open_);
  return std::exchange(open_, nullptr);
}

void EnvelopeWriter::Widen(uint32_t string_bytes) {
  ERIS_DCHECK(!has_rows());
  if (open_ != nullptr) Envelope::Free(open_, memory_);
  open_ = nullptr;
  string_bytes_min_ = std::max(string_bytes_min_, string_bytes);
  Decide();
}

void EnvelopeWriter::Learn(const Envelope& full) {
  string_bytes_min_ = 0;
  for (uint32_t c = 0; c < column_count_; ++c) {
    if (!IsByteString(columns_[c].type)) continue;
    // An eighth more: strings are not all equally long, and the column that is full first ends the
    // envelope.
    const uint64_t bytes = full.column(c).offsets[full.rows()];
    expected_[c] = static_cast<uint32_t>((bytes + bytes / 8) / full.rows()) + 1;
  }
  Decide();
}

void EnvelopeWriter::Decide() {
  uint64_t row_bits = 0;
  for (uint32_t c = 0; c < column_count_; ++c) {
    const bool is_string = IsByteString(columns_[c].type);
    const uint64_t bytes =
        is_string ? expected_[c] + sizeof(uint32_t) : ColumnValueBytes(columns_[c].type);
    row_bits += 8 * bytes + 1;
  }
  static constexpr std::array<uint32_t, kTableColumnsMax> kNoStrings{};
  const size_t fixed = Envelope::BytesOf(columns(), 1, {kNoStrings.data(), column_count_});
  const uint64_t left = bytes_target_ > 2 * fixed ? bytes_target_ - fixed : bytes_target_ / 2;
  uint64_t rows = std::clamp<uint64_t>(8 * left / std::max<uint64_t>(row_bits, 1), 1, rows_max_);
  if (rows >= 64) rows = rows / 64 * 64;  // whole words of bitmaps
  rows_ = static_cast<uint32_t>(rows);
  for (uint32_t c = 0; c < column_count_; ++c) {
    string_bytes_[c] =
        IsByteString(columns_[c].type) ? std::max(rows_ * expected_[c], string_bytes_min_) : 0;
  }
}

}  // namespace eris::storage
