// Exact operations on numbers of different types: 128-bit integers times powers of ten, and
// doubles. For plans, slow paths and results. Pure functions, any thread.
#ifndef ERIS_STORAGE_TABLE_EXACT_NUMBER_H_
#define ERIS_STORAGE_TABLE_EXACT_NUMBER_H_

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "eris/column_type.h"

namespace eris::storage {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

inline constexpr Int128 kInt128Max = static_cast<Int128>(~Uint128{0} >> 1);
inline constexpr Int128 kInt128Min = -kInt128Max - 1;

inline Int128 NumberOfHalves(const Int128Halves& halves) {
  return static_cast<Int128>(Uint128{halves.high} << 64 | halves.low);
}
inline Int128Halves HalvesOf(Int128 number) {
  return {static_cast<uint64_t>(number), static_cast<uint64_t>(static_cast<Uint128>(number) >> 64)};
}

inline constexpr auto kPowersOfTen = [] {
  std::array<int64_t, 19> powers{};
  int64_t power = 1;
  for (size_t i = 0; i < powers.size(); ++i) {
    powers[i] = power;
    if (i + 1 < powers.size()) power *= 10;
  }
  return powers;
}();

// The largest integer not above value * 10^scale, and whether the two are equal. Beyond 2^125: a
// number of the same sign outside every column's range. `value` is not a NaN.
struct Floor {
  Int128 value = 0;
  bool exact = true;
};
Floor FloorOf(double value, uint8_t scale);
// Floor of unscaled * 10^-from at scale `to`. Beyond 2^125: as above.
Floor FloorOf(Int128 unscaled, uint8_t from, uint8_t to);

// Compares a number and a double; unordered if that is a NaN.
std::partial_ordering Compare(Int128 unscaled, uint8_t scale, double value);
// Compares two numbers.
std::strong_ordering Compare(Int128 left, uint8_t left_scale, Int128 right, uint8_t right_scale);

// The double nearest to unscaled * 10^-scale, ties to even: any unscaled.
double NearestDouble(Int128 unscaled, uint8_t scale);
// The number at scale `to`, digits beyond it rounded, halves away from zero. False: it does not
// fit.
bool Rescale(Int128 unscaled, uint8_t from, uint8_t to, Int128& out);
// The same of a double; at scale 0 halves are rounded to the even number. False also for a NaN.
bool Rescale(double value, uint8_t to, Int128& out);
// The doubles next to unscaled * 10^-scale: the largest not above it, the smallest not below it.
double LargestNotAbove(Int128 unscaled, uint8_t scale);
double SmallestNotBelow(Int128 unscaled, uint8_t scale);

// How often y is in x, cut off towards 0, or with `rest` what is then left. False: y is 0, or the
// result does not fit.
inline bool DivideExactly(Int128 x, Int128 y, bool rest, Int128& out) {
  if (y == 0) return false;
  if (y == -1) {
    // The processor could not divide the smallest number.
    out = 0;
    return rest || !__builtin_sub_overflow(Int128{0}, x, &out);
  }
  out = rest ? x % y : x / y;
  return true;
}

// For example "-12.50" for -1250 and 2.
std::string DecimalText(Int128 unscaled, uint8_t scale);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_EXACT_NUMBER_H_
