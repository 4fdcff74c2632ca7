// Values of Arrow's types as those of an object's columns. Buffers of a client need not be aligned,
// so values are loaded byte by byte. All rows are converted without a branch; only if one does not
// fit is it searched. Pure functions.
#ifndef ERIS_WIRE_ARROW_VALUES_H_
#define ERIS_WIRE_ARROW_VALUES_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "eris/column_type.h"

namespace eris::wire {

inline constexpr int64_t kDecimalEnd = 1'000'000'000'000'000'000;  // the first of 19 digits

template <class T>
T LoadAt(const char* values, uint64_t row) {
  T value;
  std::memcpy(&value, values + row * sizeof(T), sizeof(T));
  return value;
}

inline bool IsNullAt(const uint8_t* validity, uint64_t row) {
  return validity != nullptr && (validity[row >> 3] >> (row & 7) & 1) == 0;
}

// The first row that is not null and for which `wrong(row)`; `rows`: none. Values of null rows are
// unspecified.
template <class Wrong>
uint64_t FindRow(uint64_t rows, const uint8_t* validity, Wrong wrong) {
  uint64_t row = 0;
  while (row < rows && (IsNullAt(validity, row) || !wrong(row))) ++row;
  return row;
}

// Each returns the first row whose value does not fit; `rows`: all fit.
template <class From, class To>
uint64_t WidenIntegers(const char* from, uint64_t rows, const uint8_t* validity, To* to) {
  constexpr bool kMayNotFit = std::is_signed_v<From> && std::is_unsigned_v<To>;
  From all = 0;  // the bits of all values: negative if one is
  for (uint64_t row = 0; row < rows; ++row) {
    const From value = LoadAt<From>(from, row);
    to[row] = static_cast<To>(value);
    all = static_cast<From>(all | value);
  }
  if constexpr (kMayNotFit) {
    if (all < 0) {
      return FindRow(rows, validity, [&](uint64_t row) { return LoadAt<From>(from, row) < 0; });
    }
  }
  return rows;
}

inline bool IsDecimal(int64_t value) { return value > -kDecimalEnd && value < kDecimalEnd; }
inline uint64_t CheckDecimals(const char* from, uint64_t rows, const uint8_t* validity) {
  bool all = true;
  for (uint64_t row = 0; row < rows; ++row) all &= IsDecimal(LoadAt<int64_t>(from, row));
  if (all) return rows;
  return FindRow(rows, validity,
                 [&](uint64_t row) { return !IsDecimal(LoadAt<int64_t>(from, row)); });
}

inline bool IsDecimal(const Int128Halves& value) {
  const auto low = static_cast<int64_t>(value.low);
  return static_cast<int64_t>(value.high) == (low < 0 ? -1 : 0) && IsDecimal(low);
}
inline uint64_t NarrowDecimals(const char* from, uint64_t rows, const uint8_t* validity,
                               int64_t* to) {
  bool all = true;
  for (uint64_t row = 0; row < rows; ++row) {
    const auto value = LoadAt<Int128Halves>(from, row);
    to[row] = static_cast<int64_t>(value.low);
    all &= IsDecimal(value);
  }
  if (all) return rows;
  return FindRow(rows, validity,
                 [&](uint64_t row) { return !IsDecimal(LoadAt<Int128Halves>(from, row)); });
}

// Timestamps in seconds, milliseconds or nanoseconds (`scale` 0, 3 or 9) as microseconds. One fits
// that is a whole number of them, within an i64.
inline uint64_t ToMicroseconds(const char* from, uint64_t rows, const uint8_t* validity,
                               int32_t scale, int64_t* to) {
  const int64_t factor = scale == 0 ? 1'000'000 : 1'000;
  const auto convert = [&](uint64_t row, int64_t& result) {
    const auto value = LoadAt<int64_t>(from, row);
    if (scale < 6) return !__builtin_mul_overflow(value, factor, &result);
    result = value / factor;
    return value % factor == 0;
  };
  bool all = true;
  for (uint64_t row = 0; row < rows; ++row) all &= convert(row, to[row]);
  if (all) return rows;
  return FindRow(rows, validity, [&](uint64_t row) {
    int64_t result = 0;
    return !convert(row, result);
  });
}

// Whether offsets ascend up to `bytes`. Copies them to `to` if it is not nullptr.
template <class Offset>
bool CheckOffsets(const char* from, uint64_t rows, uint64_t bytes, uint32_t* to) {
  bool ascend = true;
  Offset before = 0;
  for (uint64_t i = 0; i <= rows; ++i) {
    const Offset offset = LoadAt<Offset>(from, i);
    ascend &= before <= offset;
    before = offset;
    if (to != nullptr) to[i] = static_cast<uint32_t>(offset);
  }
  return ascend && before <= bytes && bytes <= UINT32_MAX;
}

}  // namespace eris::wire

#endif  // ERIS_WIRE_ARROW_VALUES_H_
