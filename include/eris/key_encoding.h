// Keys of other types than u64: encodes signed integers, floating-point numbers, dates and
// timestamps as u64 keys in the same order, so that ranges and scans work. The engine itself knows
// only u64 keys. The type is a property of the object (CreateOptions::schema), and the caller
// converts. Header-only; pure functions, any thread. Keys as text: key_text.h.
//
//   ColumnType    key                                        order
//   kUint64    the number itself                          0 .. 2^64-1
//   kInt64     two's complement, sign bit flipped         -2^63 .. -1, 0 .. 2^63-1
//   kFloat64   IEEE 754 bits: below zero negated as one   -inf, -max .. -denorm_min, 0,
//              integer, else the sign bit flipped         denorm_min .. max, inf
//   kDate      int32 days since 1970-01-01 (Arrow's       -5877641-06-23 .. 5881580-07-11
//              date32), sign bit flipped: below 2^32
//   kTimestamp int64 microseconds since 1970-01-01 as     see calendar_text.h
//              kInt64
//
// Equal numbers are equal keys: -0.0 becomes 0.0 and is read back as 0.0. (Negating its bits gives
// the key of 0.0; flipping all of them would give another key.) Other numbers come back bit for
// bit. NaN equals nothing, not even itself, so it is no key: the functions over spans refuse it;
// for a single number it is a precondition.
#ifndef ERIS_KEY_ENCODING_H_
#define ERIS_KEY_ENCODING_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "eris/types.h"

namespace eris {

namespace key_internal {
inline constexpr uint64_t kSignBit = uint64_t{1} << 63;
inline constexpr uint32_t kSignBit32 = uint32_t{1} << 31;

// Uses pointers: with a checked span the compiler does not vectorize the loop.
template <class From, class To, class Function>
constexpr void Convert(absl::Span<const From> from, absl::Span<To> to, Function function) {
  const From* in = from.data();
  To* out = to.data();
  const size_t count = from.size();
  for (size_t i = 0; i < count; ++i) out[i] = function(in[i]);
}
}  // namespace key_internal

constexpr uint64_t KeyFromInt64(int64_t number) {
  return static_cast<uint64_t>(number) ^ key_internal::kSignBit;
}
constexpr int64_t Int64FromKey(uint64_t key) {
  return static_cast<int64_t>(key ^ key_internal::kSignBit);
}

// REQUIRES: no NaN. Computes with integers, so rounding modes and flushed denormals do not matter.
constexpr uint64_t KeyFromFloat64(double number) {
  const auto bits = std::bit_cast<uint64_t>(number);
  const uint64_t below_zero = 0 - (bits >> 63);  // all ones, or 0
  return ((bits ^ below_zero) - below_zero) ^ (~below_zero & key_internal::kSignBit);
}
// REQUIRES: LowestKey <= key <= HighestKey.
constexpr double Float64FromKey(uint64_t key) {
  const uint64_t below_zero = (key >> 63) - 1;
  return std::bit_cast<double>(((key ^ below_zero) - below_zero) ^
                               (~below_zero & key_internal::kSignBit));
}
// The highest bit is set only for NaN: or-ed over a batch, it shows whether one is there. Uses bits
// because the compiler may fold away a comparison of a number with itself (-ffast-math).
constexpr uint64_t NanMark(double number) {
  constexpr auto kInfinity = std::bit_cast<uint64_t>(std::numeric_limits<double>::infinity());
  return kInfinity - (std::bit_cast<uint64_t>(number) & ~key_internal::kSignBit);
}

constexpr bool IsNan(double number) { return NanMark(number) >> 63 != 0; }

constexpr uint64_t KeyFromDate(int32_t days) {
  return static_cast<uint32_t>(days) ^ key_internal::kSignBit32;
}
// REQUIRES: key < 2^32.
constexpr int32_t DateFromKey(uint64_t key) {
  return static_cast<int32_t>(static_cast<uint32_t>(key) ^ key_internal::kSignBit32);
}

// The key of a value of any C++ type that a column's values have, by the functions above. Those of
// four bytes are keys below 2^32.
template <class T>
constexpr uint64_t EncodeKey(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return KeyFromFloat64(value);
  } else {
    using Bits = std::make_unsigned_t<T>;
    constexpr Bits kSign = std::is_signed_v<T> ? Bits{1} << (8 * sizeof(T) - 1) : Bits{0};
    return static_cast<Bits>(static_cast<Bits>(value) ^ kSign);
  }
}
template <class T>
constexpr T DecodeKey(uint64_t key) {
  if constexpr (std::is_floating_point_v<T>) {
    return Float64FromKey(key);
  } else {
    return static_cast<T>(EncodeKey(static_cast<T>(key)));  // flips a sign bit back
  }
}

// The type of an index's keys that has a column's values in their order: of int32 and decimals
// int64. Bounds of a table's partitions are such keys for a client.
constexpr ColumnType NearestKeyType(ColumnType type) {
  if (IsTimeType(type)) return type;
  return VisitColumnType(type, []<class T>(ColumnTraits<T>) {
    if constexpr (std::is_floating_point_v<T>) return ColumnType::kFloat64;
    return std::is_signed_v<T> ? ColumnType::kInt64 : ColumnType::kUint64;
  });
}
// EncodeKey of a column's value, as the key of NearestKeyType.
constexpr uint64_t NearestKey(ColumnType type, uint64_t encoded) {
  if (NearestKeyType(type) == type) return encoded;
  return VisitColumnType(type, [encoded]<class T>(ColumnTraits<T>) -> uint64_t {
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return EncodeKey(Wide{DecodeKey<T>(encoded)});
    } else {
      return encoded;
    }
  });
}

// The lowest and the highest key of a type. Those of kFloat64 are the infinities: NaNs would lie
// outside.
constexpr uint64_t LowestKey(ColumnType type) {
  return type == ColumnType::kFloat64 ? KeyFromFloat64(-std::numeric_limits<double>::infinity())
                                      : 0;
}
constexpr uint64_t HighestKey(ColumnType type) {
  if (type == ColumnType::kFloat64) return KeyFromFloat64(std::numeric_limits<double>::infinity());
  return type == ColumnType::kDate ? std::numeric_limits<uint32_t>::max()
                                   : std::numeric_limits<uint64_t>::max();
}

// Batches. Shapes: both spans have the same length; they do not overlap.
constexpr void KeysFromInt64(absl::Span<const int64_t> numbers, absl::Span<uint64_t> keys) {
  key_internal::Convert(numbers, keys, KeyFromInt64);
}
constexpr void Int64FromKeys(absl::Span<const uint64_t> keys, absl::Span<int64_t> numbers) {
  key_internal::Convert(keys, numbers, Int64FromKey);
}
constexpr void KeysFromDates(absl::Span<const int32_t> days, absl::Span<uint64_t> keys) {
  key_internal::Convert(days, keys, KeyFromDate);
}
constexpr void DatesFromKeys(absl::Span<const uint64_t> keys, absl::Span<int32_t> days) {
  key_internal::Convert(keys, days, DateFromKey);
}
constexpr void Float64FromKeys(absl::Span<const uint64_t> keys, absl::Span<double> numbers) {
  key_internal::Convert(keys, numbers, Float64FromKey);
}
// Errors: InvalidArgument, naming the first position that holds NaN; `keys` is then unspecified.
inline absl::Status KeysFromFloat64(absl::Span<const double> numbers, absl::Span<uint64_t> keys) {
  uint64_t nans = 0;
  key_internal::Convert(numbers, keys, [&nans](double number) {
    nans |= NanMark(number);
    return KeyFromFloat64(number);
  });
  if (nans >> 63 == 0) return absl::OkStatus();
  size_t first = 0;
  while (!IsNan(numbers[first])) ++first;
  return absl::InvalidArgumentError(absl::StrCat("element ", first, " is NaN, which is no key"));
}

// The keys of [lo, hi). Without lo from the lowest key; without hi up to and including the highest.
constexpr KeyRange Int64Range(std::optional<int64_t> lo, std::optional<int64_t> hi) {
  KeyRange range;
  if (lo) range.lo = KeyFromInt64(*lo);
  if (hi) range.hi = KeyFromInt64(*hi);
  return range;
}
constexpr KeyRange DateRange(std::optional<int32_t> lo, std::optional<int32_t> hi) {
  KeyRange range;
  if (lo) range.lo = KeyFromDate(*lo);
  if (hi) range.hi = KeyFromDate(*hi);
  return range;
}
// Errors: InvalidArgument (a bound is NaN).
inline absl::StatusOr<KeyRange> Float64Range(std::optional<double> lo, std::optional<double> hi) {
  if ((lo && IsNan(*lo)) || (hi && IsNan(*hi))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", lo && IsNan(*lo) ? "lower" : "upper", " bound is NaN"));
  }
  KeyRange range;
  if (lo) range.lo = KeyFromFloat64(*lo);
  if (hi) range.hi = KeyFromFloat64(*hi);
  return range;
}

}  // namespace eris

#endif  // ERIS_KEY_ENCODING_H_
