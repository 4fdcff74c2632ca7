// The loops over columns, in vectors as wide as the machine's (Highway, chosen at run time). Pure
// functions on arrays of one block: no state, no allocation, any thread. Paper: ERIS 4.2.2.
//
// Rows are numbered from the start of the arrays, at most kBlockRows of them. Arrays are aligned to
// 64 bytes and may be read up to the next multiple of 64 bytes; columns of segments, which come
// from memory, are prefetched. In a bitmap row i is bit i % 64 of word i / 64, and bits after the
// last row are zero; nullptr means all rows.
#ifndef ERIS_STORAGE_TABLE_KERNELS_H_
#define ERIS_STORAGE_TABLE_KERNELS_H_

#include <cstdint>

#include "storage/table/kernels/exact_number.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage::kernels {

// Clears the rows of `mask` whose values are outside [lo, hi], or with `negated` those inside. NaNs
// are outside.
void KeepInRange(const int32_t* values, uint32_t rows, int32_t lo, int32_t hi, bool negated,
                 uint64_t* mask);
void KeepInRange(const int64_t* values, uint32_t rows, int64_t lo, int64_t hi, bool negated,
                 uint64_t* mask);
void KeepInRange(const uint64_t* values, uint32_t rows, uint64_t lo, uint64_t hi, bool negated,
                 uint64_t* mask);
void KeepInRange(const double* values, uint32_t rows, double lo, double hi, bool negated,
                 uint64_t* mask);
void KeepInRange(const uint16_t* values, uint32_t rows, uint16_t lo, uint16_t hi, bool negated,
                 uint64_t* mask);

// Counts the values within [lo, hi] without making a bitmap.
uint32_t CountInRange(const int32_t* values, uint32_t rows, int32_t lo, int32_t hi);
uint32_t CountInRange(const int64_t* values, uint32_t rows, int64_t lo, int64_t hi);
uint32_t CountInRange(const uint64_t* values, uint32_t rows, uint64_t lo, uint64_t hi);
uint32_t CountInRange(const double* values, uint32_t rows, double lo, double hi);

// A filter and a sum in one pass: adds the values of the rows with tested[i] within [lo, hi] to
// `sum`, and returns the number of these rows. A range of signed 64-bit integers is passed as one
// of unsigned ones, modulo 2^64. `tested` and `values` may be one column.
uint32_t SumInRange(const int32_t* tested, int32_t lo, int32_t hi, const int32_t* values,
                    uint32_t rows, Int128& sum);
uint32_t SumInRange(const uint64_t* tested, uint64_t lo, uint64_t hi, const int64_t* values,
                    uint32_t rows, Int128& sum);
uint32_t SumInRange(const uint64_t* tested, uint64_t lo, uint64_t hi, const uint64_t* values,
                    uint32_t rows, Int128& sum);
uint32_t SumInRange(const int32_t* tested, int32_t lo, int32_t hi, const int64_t* values,
                    uint32_t rows, Int128& sum);
uint32_t SumInRange(const int32_t* tested, int32_t lo, int32_t hi, const uint64_t* values,
                    uint32_t rows, Int128& sum);

// The number of rows in a bitmap.
uint32_t CountRows(const uint64_t* mask, uint32_t rows);

// Clears the rows of `mask` for which a `comparison` b is not true, or with `negated` is true.
enum class Comparison : uint8_t { kEqual, kLess, kLessEqual };
void KeepCompared(const int64_t* a, const int64_t* b, uint32_t rows, Comparison comparison,
                  bool negated, uint64_t* mask);
void KeepCompared(const uint64_t* a, const uint64_t* b, uint32_t rows, Comparison comparison,
                  bool negated, uint64_t* mask);
void KeepCompared(const double* a, const double* b, uint32_t rows, Comparison comparison,
                  bool negated, uint64_t* mask);

// Exact sums. `narrow`: the sum of a block fits in 64 bits.
Int128 Sum(const int32_t* values, uint32_t rows, const uint64_t* mask);
Int128 Sum(const int64_t* values, uint32_t rows, const uint64_t* mask, bool narrow);
Int128 Sum(const uint64_t* values, uint32_t rows, const uint64_t* mask, bool narrow);
// Adds in an unspecified order.
double Sum(const double* values, uint32_t rows, const uint64_t* mask);

// The smallest and the largest order key of the values (OrderKey), combined with those given.
struct Extremes {
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;
};
void FindExtremes(const int32_t* values, uint32_t rows, const uint64_t* mask, Extremes& out);
void FindExtremes(const int64_t* values, uint32_t rows, const uint64_t* mask, Extremes& out);
void FindExtremes(const uint64_t* values, uint32_t rows, const uint64_t* mask, Extremes& out);
void FindExtremes(const double* values, uint32_t rows, const uint64_t* mask, Extremes& out);

// Keys in the values' order. For doubles it is total: all NaNs are one value above all others; -0.0
// is below 0.0.
inline int64_t OrderKey(int64_t value) { return value; }
inline int64_t OrderKey(uint64_t value) {
  return static_cast<int64_t>(value ^ (uint64_t{1} << 63));
}
inline int64_t OrderKey(double value) {
  int64_t bits = 0x7ff8'0000'0000'0000;
  if (value == value) __builtin_memcpy(&bits, &value, sizeof bits);
  return bits ^ ((bits >> 63) & INT64_MAX);
}
inline uint64_t UnsignedOfKey(int64_t key) {
  return static_cast<uint64_t>(key) ^ (uint64_t{1} << 63);
}
inline double DoubleOfKey(int64_t key) {
  const int64_t bits = key ^ ((key >> 63) & INT64_MAX);
  double value = 0;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// The value at `rank` in the order of the values, and the one behind it; nullptr: that is not
// asked. Both arrays can be read, and `room` be written, so far: `values` up to kRankSpare behind
// the count, `room` four times as far. REQUIRES: rank < count, or with `behind` rank + 1 < count.
inline constexpr uint32_t kRankSpare = 8;
void ValuesAtRank(const int64_t* values, uint32_t count, uint32_t rank, int64_t* room, int64_t* at,
                  int64_t* behind);

// out[i] = a[i] op b[i]. Integers, signed or not, modulo 2^64. `out` may be an input.
enum class Operation : uint8_t { kAdd, kSubtract, kMultiply, kDivide };  // kDivide: of doubles
void Compute(Operation operation, const uint64_t* a, const uint64_t* b, uint32_t rows,
             uint64_t* out);
void Compute(Operation operation, const double* a, const double* b, uint32_t rows, double* out);
// The same with one operand for all rows: a[i] op b, or with `reversed` b op a[i].
void ComputeWith(Operation operation, const uint64_t* a, uint64_t b, bool reversed, uint32_t rows,
                 uint64_t* out);
void ComputeWith(Operation operation, const double* a, double b, bool reversed, uint32_t rows,
                 double* out);
void Widen(const int32_t* values, uint32_t rows, int64_t* out);

// For tests and reports: the name of the vectors in use, and a way to select others. Control plane.
const char* TargetName();

}  // namespace eris::storage::kernels

#endif  // ERIS_STORAGE_TABLE_KERNELS_H_
