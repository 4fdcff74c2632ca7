#include "storage/query/rows/envelope.h"

#include <algorithm>
#include <bit>
#include <new>
#include <type_traits>

#include "base/cache_line.h"
#include "base/check.h"
#include "storage/table/kernels/kernels.h"

namespace eris::storage {
namespace {

// Hands out the parts of a block one after the other, or only counts them.
class BlockParts {
 public:
  explicit BlockParts(std::byte* block) : block_(block) {}
  template <class T>
  T* Take(size_t elements) {
    std::byte* const part = block_ == nullptr ? nullptr : block_ + bytes_;
    bytes_ += base::RoundUp(elements * sizeof(T), base::kCacheLineBytes);
    return reinterpret_cast<T*>(part);
  }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* const block_;
  size_t bytes_ = 0;
};

// The non-null ones of `rows` rows, with zeros after the last one, as kernels need them.
uint32_t CopyValid(const uint64_t* validity, uint32_t rows, uint64_t* out) {
  uint32_t valid = 0;
  for (uint32_t w = 0; w * 64 < rows; ++w) {
    const uint32_t in_word = std::min(rows - w * 64, 64u);
    out[w] = in_word == 64 ? validity[w] : validity[w] & ((uint64_t{1} << in_word) - 1);
    valid += static_cast<uint32_t>(std::popcount(out[w]));
  }
  return valid;
}

}  // namespace

size_t Envelope::Place(std::span<const EnvelopeColumn> columns, uint32_t rows,
                       std::span<const uint32_t> string_bytes, std::byte* block) {
  BlockParts parts(block);
  auto* const self = parts.Take<Envelope>(1);
  auto* const segment = parts.Take<SegmentColumn>(columns.size());
  auto* const out = parts.Take<ResultColumn>(columns.size());
  auto* const tallies = parts.Take<Tally>(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    const bool is_string = IsByteString(columns[c].type);
    const size_t bytes =
        is_string ? string_bytes[c] : size_t{rows} * ColumnValueBytes(columns[c].type);
    auto* const values = parts.Take<std::byte>(bytes);
    auto* const validity = parts.Take<uint64_t>((rows + 63) / 64);
    auto* const offsets = parts.Take<uint32_t>(is_string ? rows + 1 : 0);
    if (block == nullptr) continue;
    if (is_string) offsets[0] = 0;
    new (out + c) ResultColumn{.type = columns[c].type,
                               .values = values,
                               .validity = validity,
                               .offsets = is_string ? offsets : nullptr,
                               .bytes_max = is_string ? string_bytes[c] : 0};
    new (segment + c) SegmentColumn{
        .type = columns[c].type, .values = values, .offsets = is_string ? offsets : nullptr};
    new (tallies + c) Tally();
  }
  if (block != nullptr) {
    self->out_ = {.columns = {out, columns.size()}, .capacity = rows};
    self->columns_ = segment;
    self->tallies_ = tallies;
  }
  return parts.bytes();
}

size_t Envelope::BytesOf(std::span<const EnvelopeColumn> columns, uint32_t rows,
                         std::span<const uint32_t> string_bytes) {
  return Place(columns, rows, string_bytes, nullptr);
}

Envelope* Envelope::Create(QueryMemory& memory, std::span<const EnvelopeColumn> columns,
                           uint32_t rows, std::span<const uint32_t> string_bytes) {
  ERIS_DCHECK(rows >= 1 && rows <= kEnvelopeRowsMax);
  ERIS_DCHECK(string_bytes.size() == columns.size());
  const size_t bytes = BytesOf(columns, rows, string_bytes);
  void* const block = memory.Allocate(bytes);
  if (block == nullptr) return nullptr;
  Envelope* const envelope = new (block) Envelope();
  envelope->bytes_ = bytes;
  Place(columns, rows, string_bytes, static_cast<std::byte*>(block));
  return envelope;
}

void Envelope::Free(Envelope* envelope, QueryMemory& memory) {
  memory.Free(envelope, envelope->bytes_);
}

void Envelope::Count() {
  ERIS_DCHECK(!sealed_);
  ERIS_DCHECK(out_.rows <= out_.capacity);
  while (counted_ < out_.rows) {
    const uint32_t rows = std::min(out_.rows - counted_, kBlockRows - counted_ % kBlockRows);
    CountBlock(counted_, rows);
    counted_ += rows;
  }
}

// Rows [first, first + rows), all in one block. The first up to 63 of the word may be counted for
// the second time in bounds, which changes nothing; nulls are counted by SealColumn.
void Envelope::CountBlock(uint32_t first, uint32_t rows) {
  const uint32_t base = first / 64 * 64;
  rows += first - base;
  for (uint32_t c = 0; c < out_.columns.size(); ++c) {
    const ResultColumn& column = out_.columns[c];
    VisitColumnType(column.type, [&]<class T>(ColumnTraits<T>) {
      if constexpr (std::is_arithmetic_v<T>) {
        uint64_t valid[kBlockWords];
        if (column.any_null) CopyValid(column.validity + base / 64, rows, valid);
        kernels::Extremes extremes{.min = tallies_[c].min_key, .max = tallies_[c].max_key};
        kernels::FindExtremes(static_cast<const T*>(column.values) + base, rows,
                              column.any_null ? valid : nullptr, extremes);
        tallies_[c].min_key = extremes.min;
        tallies_[c].max_key = extremes.max;
      }
    });
  }
}

void Envelope::Seal() {
  Count();
  for (uint32_t c = 0; c < out_.columns.size(); ++c) SealColumn(c);
  view_ = {.rows = out_.rows, .columns = {columns_, out_.columns.size()}, .ever = out_.rows};
  sealed_ = true;
}

size_t Envelope::row_bytes() const {
  size_t bytes = 0;
  for (const SegmentColumn& column : view_.columns) {
    if (IsByteString(column.type)) {
      bytes += (rows() + 1) * sizeof(uint32_t) + column.offsets[rows()];
    } else {
      bytes += size_t{rows()} * ColumnValueBytes(column.type);
    }
    if (column.validity != nullptr) bytes += (rows() + 7) / 8;
  }
  return bytes;
}

void Envelope::SealColumn(uint32_t c) {
  const ResultColumn& from = out_.columns[c];
  SegmentColumn& column = columns_[c];
  if (from.any_null) {
    uint64_t valid[kBlockWords];
    uint32_t count = 0;
    for (uint32_t base = 0; base < out_.rows; base += kBlockRows) {
      count += CopyValid(from.validity + base / 64, std::min(out_.rows - base, kBlockRows), valid);
    }
    column.nulls = out_.rows - count;
    if (column.nulls > 0) column.validity = from.validity;
  }
  Tally& tally = tallies_[c];
  if (tally.min_key > tally.max_key) return;  // no values, or a type without bounds
  if (from.type == ColumnType::kFloat64) {
    tally.bounds.min.f64 = kernels::DoubleOfKey(tally.min_key);
    tally.bounds.max.f64 = kernels::DoubleOfKey(tally.max_key);
    if (tally.bounds.max.f64 != tally.bounds.max.f64) return;  // a NaN is above all others
  } else if (from.type == ColumnType::kUint64) {
    tally.bounds.min.u64 = kernels::UnsignedOfKey(tally.min_key);
    tally.bounds.max.u64 = kernels::UnsignedOfKey(tally.max_key);
  } else {
    tally.bounds.min.i64 = tally.min_key;
    tally.bounds.max.i64 = tally.max_key;
  }
  column.bounds = &tally.bounds;
}

}  // namespace eris::storage
