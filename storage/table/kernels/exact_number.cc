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

}  // namespace

Floor FloorOf(double value, uint8_t scale) {
  if (std::isinf(value)) return {value > 0 ? kBeyond : -kBeyond, false};
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // |fraction| in [0.5, 1), or 0
  const auto mantissa = static_cast<int64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  const Int128 scaled = Int128{mantissa} * kPowersOfTen[scale];  // below 2^113
  if (scaled == 0) return {0, true};
  if (exponent >= 0) {
    const auto magnitude = static_cast<Uint128>(scaled < 0 ? -scaled : scaled);
    if (BitsOf(magnitude) + exponent > 125) return {scaled > 0 ? kBeyond : -kBeyond, false};
    return {scaled * (Int128{1} << exponent), true};
  }
  if (-exponent >= 126) return {scaled < 0 ? -1 : 0, false};
  const Int128 floor = scaled >> -exponent;  // arithmetic shift: rounds towards minus infinity
  return {floor, floor * (Int128{1} << -exponent) == scaled};
}

Floor FloorOf(Int128 unscaled, uint8_t from, uint8_t to) {
  if (from <= to) return {unscaled * kPowersOfTen[to - from], true};
  const Int128 power = kPowersOfTen[from - to];
  Int128 floor = unscaled / power;
  const bool exact = floor * power == unscaled;
  if (!exact && unscaled < 0) --floor;
  return {floor, exact};
}

std::partial_ordering Compare(Int128 unscaled, uint8_t scale, double value) {
  if (std::isnan(value)) return std::partial_ordering::unordered;
  const Floor floor = FloorOf(value, scale);
  if (unscaled < floor.value) return std::partial_ordering::less;
  if (unscaled > floor.value) return std::partial_ordering::greater;
  return floor.exact ? std::partial_ordering::equivalent : std::partial_ordering::less;
}

std::strong_ordering Compare(Int128 left, uint8_t left_scale, Int128 right, uint8_t right_scale) {
  const uint8_t scale = std::max(left_scale, right_scale);
  left *= kPowersOfTen[scale - left_scale];
  right *= kPowersOfTen[scale - right_scale];
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
