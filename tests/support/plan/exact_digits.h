// The decimal digits of a number, all of them: of a double too, whose expansion always ends.
// Numbers of different types are compared, rounded and converted by their digits, so that the
// oracle of plans shares no arithmetic with the engine. Slow and plain. Pure functions, any thread.
#ifndef ERIS_TESTS_SUPPORT_PLAN_EXACT_DIGITS_H_
#define ERIS_TESTS_SUPPORT_PLAN_EXACT_DIGITS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace eris::test {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

inline constexpr Int128 kInt128Largest = static_cast<Int128>(~Uint128{0} >> 1);
inline constexpr Int128 kInt128Smallest = -kInt128Largest - 1;

// `whole` begins with a digit other than 0, `fraction` ends with one. Both empty: zero, which is
// not negative.
struct ExactDigits {
  bool negative = false;
  std::string whole{};
  std::string fraction{};
};

// The digits of unscaled * 10^-scale.
ExactDigits DigitsOf(Int128 unscaled, uint8_t scale);
// REQUIRES: `value` is finite.
ExactDigits DigitsOf(double value);

std::strong_ordering CompareDigits(const ExactDigits& left, const ExactDigits& right);

// How a number is rounded that is in the middle of two.
enum class Halves : uint8_t { kAwayFromZero, kToEven };

// The nearest number of `scale` digits behind the point, times 10^scale; nullopt: 128 bits do not
// hold it.
std::optional<Int128> Rounded(const ExactDigits& digits, uint8_t scale, Halves halves);
// The nearest double, ties to even.
double NearestReal(const ExactDigits& digits);

// For example "-12.5".
std::string DigitsText(const ExactDigits& digits);

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_EXACT_DIGITS_H_
