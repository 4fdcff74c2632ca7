#include "storage/query/rows/gather.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "base/prefetch.h"
#include "storage/table/query/block_values.h"
#include "storage/table/query/row_output.h"

namespace eris::storage {
namespace {

// How many rows ahead a value is fetched. Of a string the offsets are fetched at twice the
// distance, because its bytes can only be fetched when they are there.
constexpr uint32_t kGatherAhead = 16;
constexpr uint32_t kFewEnvelopes = 128;

class ListColumn {
 public:
  ListColumn(const EnvelopeList& list, uint32_t column) : list_(list), column_(column) {}

  const SegmentColumn& of(RowNumber number) const {
    return list_[EnvelopeOf(number)].column(column_);
  }
  bool IsNull(RowNumber number) const {
    if (number == kNoRow) return true;
    const uint64_t* const validity = of(number).validity;
    return validity != nullptr && !BitAt(validity, RowOf(number));
  }
  bool has_nulls() const { return list_.has_nulls(column_); }
  uint32_t envelopes() const { return list_.size(); }
  template <class T>
  const T* At(RowNumber number) const {
    return static_cast<const T*>(of(number).values) + RowOf(number);
  }
  const uint32_t* Offsets(RowNumber number) const { return of(number).offsets + RowOf(number); }
  const char* Text(RowNumber number) const {
    return static_cast<const char*>(of(number).values) + *Offsets(number);
  }

 private:
  const EnvelopeList& list_;
  const uint32_t column_;
};

void FetchText(const ListColumn& column, const RowNumber* numbers, uint32_t i, uint32_t count) {
  if (i + 2 * kGatherAhead < count && numbers[i + 2 * kGatherAhead] != kNoRow) {
    base::Prefetch(column.Offsets(numbers[i + 2 * kGatherAhead]));
  }
  if (i + kGatherAhead < count && numbers[i + kGatherAhead] != kNoRow) {
    base::Prefetch(column.Text(numbers[i + kGatherAhead]));
  }
}

// Where no row of the column is null, the rows themselves are not looked at.
void GatherValid(const ListColumn& column, const RowNumber* numbers, uint32_t count,
                 ResultColumn& out, uint32_t rows) {
  if (column.has_nulls()) {
    PutValidity(count, out, rows, [&](uint32_t i) { return !column.IsNull(numbers[i]); });
  } else {
    PutValidity(count, out, rows, [&](uint32_t i) { return numbers[i] != kNoRow; });
  }
}

// at(number): where a row's value is.
template <class T, class At>
void GatherFrom(At at, const RowNumber* numbers, uint32_t count, T* out) {
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kGatherAhead < count && numbers[i + kGatherAhead] != kNoRow) {
      base::Prefetch(at(numbers[i + kGatherAhead]));
    }
    out[i] = numbers[i] == kNoRow ? T{} : *at(numbers[i]);
  }
}

template <class T>
void GatherValues(const ListColumn& column, const RowNumber* numbers, uint32_t count, void* to,
                  uint32_t rows) {
  T* const out = static_cast<T*>(to) + rows;
  const T* begins[kFewEnvelopes];
  if (column.envelopes() > std::min(count, kFewEnvelopes)) {
    GatherFrom([&](RowNumber number) { return column.At<T>(number); }, numbers, count, out);
    return;
  }
  // Looked up once for an envelope instead of for each row, which takes two loads more.
  for (uint32_t e = 0; e < column.envelopes(); ++e) begins[e] = column.At<T>(RowNumberOf(e, 0));
  GatherFrom([&](RowNumber number) { return begins[EnvelopeOf(number)] + RowOf(number); }, numbers,
             count, out);
}

void GatherStrings(const ListColumn& column, const RowNumber* numbers, uint32_t count,
                   ResultColumn& out, uint32_t rows) {
  if (rows == 0) out.offsets[0] = 0;
  uint32_t end = out.offsets[rows];
  for (uint32_t i = 0; i < count; ++i) {
    FetchText(column, numbers, i, count);
    if (!column.IsNull(numbers[i])) {
      const std::string_view text = StringAt(column.of(numbers[i]), RowOf(numbers[i]));
      if (!text.empty())
        std::memcpy(static_cast<char*>(out.values) + end, text.data(), text.size());
      end += static_cast<uint32_t>(text.size());
    }
    out.offsets[rows + i + 1] = end;
  }
}

template <class T>
void CopyPicks(const SegmentColumn& from, uint32_t base, const uint16_t* picks, uint32_t count,
               ResultColumn& out, uint32_t rows) {
  const T* const values = static_cast<const T*>(from.values) + base;
  T* const to = static_cast<T*>(out.values) + rows;
  // Most often, as each row has one partner.
  bool follow = true;
  for (uint32_t i = 0; i < count; ++i) follow &= uint32_t{picks[i]} - picks[0] == i;
  if (follow) {
    std::memcpy(to, values + picks[0], count * sizeof(T));
    return;
  }
  for (uint32_t i = 0; i < count; ++i) to[i] = values[picks[i]];
}

// How many rows from `first` on fit with their strings.
uint32_t RangeThatFits(const SegmentColumn& from, uint32_t first, uint32_t count,
                       const ResultColumn& out, uint32_t rows) {
  const uint32_t left = out.bytes_max - (rows == 0 ? 0 : out.offsets[rows]);
  const uint32_t* const ends = from.offsets + first + 1;
  const auto fits = [&](uint32_t end) { return end - from.offsets[first] <= left; };
  return static_cast<uint32_t>(std::partition_point(ends, ends + count, fits) - ends);
}

void CopyRange(const SegmentColumn& from, uint32_t first, uint32_t count, ResultColumn& out,
               uint32_t rows) {
  if (from.validity == nullptr) {
    PutAllValid(count, out, rows);
  } else {
    PutValidity(count, out, rows, [&](uint32_t i) { return BitAt(from.validity, first + i); });
  }
  const auto* const values = static_cast<const std::byte*>(from.values);
  auto* const to = static_cast<std::byte*>(out.values);
  if (!IsByteString(from.type)) {
    const size_t width = ColumnValueBytes(from.type);
    std::memcpy(to + rows * width, values + first * width, count * width);
    return;
  }
  if (rows == 0) out.offsets[0] = 0;
  const uint32_t begin = from.offsets[first];
  const uint32_t end = out.offsets[rows];
  const uint32_t bytes = from.offsets[first + count] - begin;
  if (bytes > 0) std::memcpy(to + end, values + begin, bytes);
  for (uint32_t i = 1; i <= count; ++i) {
    out.offsets[rows + i] = end + from.offsets[first + i] - begin;
  }
}

// Calls function(T()) with an unsigned type as wide as the values.
template <class Function>
void WithWidth(ColumnType type, Function function) {
  switch (ColumnValueBytes(type)) {
    case sizeof(uint32_t):
      function(uint32_t{});
      break;
    case sizeof(uint64_t):
      function(uint64_t{});
      break;
    default:
      function(Int128Halves{});
  }
}

}  // namespace

uint32_t GatherThatFit(const EnvelopeList& from, uint32_t column, const RowNumber* numbers,
                       uint32_t count, const ResultColumn& out, uint32_t rows) {
  if (!IsByteString(out.type)) return count;
  const ListColumn texts(from, column);
  uint64_t bytes = rows == 0 ? 0 : out.offsets[rows];
  for (uint32_t i = 0; i < count; ++i) {
    FetchText(texts, numbers, i, count);
    if (texts.IsNull(numbers[i])) continue;
    bytes += StringAt(texts.of(numbers[i]), RowOf(numbers[i])).size();
    if (bytes > out.bytes_max) return i;
  }
  return count;
}

void GatherColumn(const EnvelopeList& from, uint32_t column, const RowNumber* numbers,
                  uint32_t count, ResultColumn& out, uint32_t rows) {
  const ListColumn values(from, column);
  if (IsByteString(out.type)) {
    GatherStrings(values, numbers, count, out, rows);
  } else {
    WithWidth(out.type,
              [&]<class T>(T) { GatherValues<T>(values, numbers, count, out.values, rows); });
  }
  GatherValid(values, numbers, count, out, rows);
}

uint32_t GatherRows(const EnvelopeList& from, const RowNumber* numbers, uint32_t count,
                    ResultRows& out) {
  count = std::min(count, out.capacity - out.rows);
  for (uint32_t c = 0; c < out.columns.size(); ++c) {
    count = GatherThatFit(from, c, numbers, count, out.columns[c], out.rows);
  }
  for (uint32_t c = 0; c < out.columns.size(); ++c) {
    GatherColumn(from, c, numbers, count, out.columns[c], out.rows);
  }
  out.rows += count;
  return count;
}

void GatherPicks(const SegmentColumn& from, uint32_t base, const uint16_t* picks, uint32_t count,
                 ResultColumn& out, uint32_t rows) {
  if (IsByteString(from.type)) {
    // For strings the order of the picks does not matter there.
    AppendColumn(from, base, picks, count, out, rows);
    return;
  }
  WithWidth(from.type, [&]<class T>(T) { CopyPicks<T>(from, base, picks, count, out, rows); });
  PutPickedValid(from, base, picks, count, out, rows);
}

uint32_t AppendRange(std::span<const SegmentColumn> from, uint32_t first, uint32_t count,
                     ResultRows& out) {
  ERIS_DCHECK(from.size() == out.columns.size());
  count = std::min(count, out.capacity - out.rows);
  for (size_t c = 0; c < from.size(); ++c) {
    if (!IsByteString(from[c].type)) continue;
    ERIS_DCHECK(from[c].dictionary == nullptr);
    count = RangeThatFits(from[c], first, count, out.columns[c], out.rows);
  }
  for (size_t c = 0; c < from.size() && count > 0; ++c) {
    CopyRange(from[c], first, count, out.columns[c], out.rows);
  }
  out.rows += count;
  return count;
}

}  // namespace eris::storage
