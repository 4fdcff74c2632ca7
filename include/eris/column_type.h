// What a column type is: the values that it has in memory, and what programs, messages and Arrow
// call it. All that follows from these facts alone is written once, as a template over the values'
// C++ type, and VisitColumnType picks the instance. Header-only; pure functions, any thread.
// Paper: ERIS 3.1 (data objects).
#ifndef ERIS_COLUMN_TYPE_H_
#define ERIS_COLUMN_TYPE_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <type_traits>

namespace eris {

enum class ColumnType : uint8_t {
  kInt32 = 1,
  kInt64 = 2,
  kUint64 = 3,
  kFloat64 = 4,
  kDate = 5,        // i32, days since 1970-01-01
  kDecimal = 6,     // i64, times 10^-scale
  kString = 7,      // text in UTF-8, compared by its bytes: that is the order of its code points
  kInt128 = 8,      // of results alone (sums): 16 bytes, times 10^-scale
  kBytes = 9,       // any bytes, compared as such
  kTimestamp = 10,  // i64, microseconds since 1970-01-01 00:00:00 UTC, without leap seconds
};

// Those that a column of an object may have.
inline constexpr ColumnType kColumnTypes[] = {
    ColumnType::kInt32,   ColumnType::kInt64,  ColumnType::kUint64,
    ColumnType::kFloat64, ColumnType::kDate,   ColumnType::kTimestamp,
    ColumnType::kDecimal, ColumnType::kString, ColumnType::kBytes};

// A value of kInt128 in memory: two's complement.
struct Int128Halves {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Int128Halves&, const Int128Halves&) = default;
};

// What VisitColumnType hands over. T: a value in memory, a number or Int128Halves; of strings
// and bytes, which have no fixed width, void.
template <class T>
struct ColumnTraits {
  using Value = T;
  const char* name;          // "int32", "decimal"
  const char* arrow_format;  // $0: the scale
};

// Calls function(ColumnTraits<T>), which returns the same type for every T.
template <class Function>
constexpr auto VisitColumnType(ColumnType type, Function function) {
  switch (type) {
    case ColumnType::kInt32:
      return function(ColumnTraits<int32_t>{"int32", "i"});
    case ColumnType::kInt64:
      return function(ColumnTraits<int64_t>{"int64", "l"});
    case ColumnType::kUint64:
      return function(ColumnTraits<uint64_t>{"uint64", "L"});
    case ColumnType::kFloat64:
      return function(ColumnTraits<double>{"float64", "g"});
    case ColumnType::kDate:
      return function(ColumnTraits<int32_t>{"date", "tdD"});
    case ColumnType::kTimestamp:
      return function(ColumnTraits<int64_t>{"timestamp", "tsu:"});
    case ColumnType::kDecimal:
      return function(ColumnTraits<int64_t>{"decimal", "d:18,$0,64"});
    case ColumnType::kString:
      return function(ColumnTraits<void>{"string", "u"});
    case ColumnType::kInt128:
      return function(ColumnTraits<Int128Halves>{"int128", "d:38,$0"});
    case ColumnType::kBytes:
      return function(ColumnTraits<void>{"bytes", "z"});
  }
  return function(ColumnTraits<void>{"unknown", "n"});
}

// Bytes of one value; of strings and bytes 0.
constexpr uint32_t ColumnValueBytes(ColumnType type) {
  return VisitColumnType(type, []<class T>(ColumnTraits<T>) -> uint32_t {
    if constexpr (std::is_void_v<T>) {
      return 0;
    } else {
      return sizeof(T);
    }
  });
}

// "int32", "float64", "decimal", "string", "bytes": what a type is called, in messages and by
// programs.
constexpr const char* ColumnTypeName(ColumnType type) {
  return VisitColumnType(type, [](auto traits) { return traits.name; });
}

// Whether its values are byte strings, of any length and with offsets: kString, whose bytes are
// UTF-8, and kBytes. They are stored, compared, hashed and sent in the same way.
constexpr bool IsByteString(ColumnType type) {
  return type == ColumnType::kString || type == ColumnType::kBytes;
}

// Whether its values are points in time, which are compared with each other, and written as text.
// They are no numbers: nothing is added to them.
constexpr bool IsTimeType(ColumnType type) {
  return type == ColumnType::kDate || type == ColumnType::kTimestamp;
}

// Whether a column of an object may have it.
constexpr bool IsColumnType(ColumnType type) {
  return std::find(std::begin(kColumnTypes), std::end(kColumnTypes), type) !=
         std::end(kColumnTypes);
}

}  // namespace eris

#endif  // ERIS_COLUMN_TYPE_H_
