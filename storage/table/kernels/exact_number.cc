#include "storage/table/kernels/exact_number.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace eris::storage {
namespace {

constexpr Int128 kBeyond = Int128{1} << 125;

int BitsOf(Uint128 value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  const auto low = static_cast<uint64_t>(value);
  if (high != 0) return 128 - __builtin_clzll(high);
  return low != 0 ? 64 - __builtin_clzll(low) : 0;
}

// FloorOf for numbers from -2^bits to 2^bits - 1; others are beyond.
Floor FloorWithin(double value, uint8_t scale, int bits) {
  if (std::isinf(value)) return {value > 0 ? kBeyond : -kBeyond, false};
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // |fraction| in [0.5, 1), or 0
  const auto mantissa = static_cast<int64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  const Int128 scaled = Int128{mantissa} * kPowersOfTen[scale];  // below 2^113
  if (scaled == 0) return {0, true};
  if (exponent >= 0) {
    const auto magnitude = static_cast<Uint128>(scaled < 0 ? -scaled : scaled);
    const bool lowest = scaled < 0 && (magnitude & (magnitude - 1)) == 0;
    if (BitsOf(magnitude) + exponent > bits + (lowest ? 1 : 0)) {
      return {scaled > 0 ? kBeyond : -kBeyond, false};
    }
    return {scaled * (Int128{1} << exponent), true};
  }
  if (-exponent >= 126) return {scaled < 0 ? -1 : 0, false};
  const Int128 floor = scaled >> -exponent;  // arithmetic shift: rounds towards minus infinity
  return {floor, floor * (Int128{1} << -exponent) == scaled};
}

// Whether a floor is that of a number which FloorWithin does not tell. Those that are not exact are
// below 2^113.
bool IsBeyond(const Floor& floor) {
  return !floor.exact && (floor.value == kBeyond || floor.value == -kBeyond);
}

}  // namespace

Floor FloorOf(double value, uint8_t scale) { return FloorWithin(value, scale, 125); }

Floor FloorOf(Int128 unscaled, uint8_t from, uint8_t to) {
  Int128 floor = unscaled;
  bool exact = true;
  bool fits = true;
  if (from <= to) {
    fits = !__builtin_mul_overflow(unscaled, Int128{kPowersOfTen[to - from]}, &floor);
  } else {
    const Int128 power = kPowersOfTen[from - to];
    floor = unscaled / power;
    exact = floor * power == unscaled;
    if (!exact && unscaled < 0) --floor;
  }
  if (fits && floor <= kBeyond && floor >= -kBeyond) return {floor, exact};
  return {unscaled > 0 ? kBeyond : -kBeyond, false};
}

std::partial_ordering Compare(Int128 unscaled, uint8_t scale, double value) {
  if (std::isnan(value)) return std::partial_ordering::unordered;
  // A number is on the side of a double on which its nearest one is, if that is another one.
  const double nearest = NearestDouble(unscaled, scale);
  if (nearest != value) return nearest <=> value;
  const Floor floor = FloorWithin(value, scale, 127);
  if (IsBeyond(floor)) {
    return value > 0 ? std::partial_ordering::less : std::partial_ordering::greater;
  }
  if (unscaled < floor.value) return std::partial_ordering::less;
  if (unscaled > floor.value) return std::partial_ordering::greater;
  return floor.exact ? std::partial_ordering::equivalent : std::partial_ordering::less;
}

std::strong_ordering Compare(Int128 left, uint8_t left_scale, Int128 right, uint8_t right_scale) {
  const int left_sign = left < 0 ? -1 : 1;
  const int right_sign = right < 0 ? -1 : 1;
  const uint8_t scale = std::max(left_scale, right_scale);
  // A number that does not fit at that scale is beyond the other one, which does.
  if (__builtin_mul_overflow(left, Int128{kPowersOfTen[scale - left_scale]}, &left)) {
    return left_sign < 0 ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (__builtin_mul_overflow(right, Int128{kPowersOfTen[scale - right_scale]}, &right)) {
    return right_sign < 0 ? std::strong_ordering::greater : std::strong_ordering::less;
  }
  return left < right   ? std::strong_ordering::less
         : left > right ? std::strong_ordering::greater
                        : std::strong_ordering::equal;
}

double NearestDouble(Int128 unscaled, uint8_t scale) {
  const bool negative = unscaled < 0;
  const Uint128 magnitude = negative ? -static_cast<Uint128>(unscaled) : unscaled;
  const auto power = static_cast<Uint128>(kPowersOfTen[scale]);
  double result = 0;
  if (magnitude <= Uint128{1} << 53) {
    // Both are exact, so one division rounds once.
    result = static_cast<double>(static_cast<uint64_t>(magnitude)) /
             static_cast<double>(kPowersOfTen[scale]);
  } else {
    // The quotient has 66 bits or more; the remainder matters only for ties.
    const int shift = 127 - BitsOf(magnitude);
    const Uint128 shifted = magnitude << (shift > 0 ? shift : 0);
    Uint128 quotient = shifted / power;
    if (quotient * power != shifted) quotient |= 1;
    result = std::ldexp(static_cast<double>(quotient), shift > 0 ? -shift : 0);
  }
  return negative ? -result : result;
}

bool Rescale(Int128 unscaled, uint8_t from, uint8_t to, Int128& out) {
  if (from <= to) {
    return !__builtin_mul_overflow(unscaled, Int128{kPowersOfTen[to - from]}, &out);
  }
  const Int128 power = kPowersOfTen[from - to];
  out = unscaled / power;
  const Int128 rest = unscaled % power;
  const Int128 half = power / 2;  // a power of ten is even
  if (rest >= half) ++out;
  if (rest <= -half) --out;
  return true;
}

bool Rescale(double value, uint8_t to, Int128& out) {
  if (std::isnan(value)) return false;
  if (to == 0) value = std::nearbyint(value);
  const Floor floor = FloorWithin(value, to, 127);
  out = floor.value;
  if (floor.exact || IsBeyond(floor)) return floor.exact;
  // Twice the number, rounded towards zero: the last bit tells on which side of a half it is.
  const Floor twice = FloorWithin(2 * std::abs(value), to, 127);
  out = (twice.value + 1) / 2;
  if (value < 0) out = -out;
  return true;
}

double LargestNotAbove(Int128 unscaled, uint8_t scale) {
  double value = NearestDouble(unscaled, scale);
  while (Compare(unscaled, scale, value) == std::partial_ordering::less) {
    value = std::nextafter(value, -std::numeric_limits<double>::infinity());
  }
  return value;
}

double SmallestNotBelow(Int128 unscaled, uint8_t scale) {
  double value = NearestDouble(unscaled, scale);
  while (Compare(unscaled, scale, value) == std::partial_ordering::greater) {
    value = std::nextafter(value, std::numeric_limits<double>::infinity());
  }
  return value;
}

std::string DecimalText(Int128 unscaled, uint8_t scale) {
  const bool negative = unscaled < 0;
  Uint128 magnitude = negative ? -static_cast<Uint128>(unscaled) : unscaled;
  std::string text;
  for (uint32_t digit = 0; magnitude != 0 || digit <= scale; ++digit) {
    if (digit == scale && scale > 0) text.push_back('.');
    text.push_back(static_cast<char>('0' + static_cast<int>(magnitude % 10)));
    magnitude /= 10;
  }
  if (negative) text.push_back('-');
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace eris::storage
