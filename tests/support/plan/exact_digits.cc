#include "tests/support/plan/exact_digits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace eris::test {
namespace {

// More digits behind the point than any double has.
constexpr int kRealDigitsMax = 1074;
constexpr size_t kRealTextBytes = 1500;

ExactDigits Trimmed(bool negative, std::string whole, std::string fraction) {
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  const bool zero = whole.empty() && fraction.empty();
  return {negative && !zero, std::move(whole), std::move(fraction)};
}

std::strong_ordering CompareMagnitudes(const ExactDigits& left, const ExactDigits& right) {
  if (left.whole.size() != right.whole.size()) return left.whole.size() <=> right.whole.size();
  if (const auto order = left.whole.compare(right.whole) <=> 0; order != 0) return order;
  return left.fraction.compare(right.fraction) <=> 0;
}

}  // namespace

ExactDigits DigitsOf(Int128 unscaled, uint8_t scale) {
  const bool negative = unscaled < 0;
  Uint128 rest = negative ? -static_cast<Uint128>(unscaled) : static_cast<Uint128>(unscaled);
  std::string digits;
  for (; rest != 0 || digits.size() < scale; rest /= 10) {
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  std::reverse(digits.begin(), digits.end());
  const size_t whole = digits.size() - scale;
  return Trimmed(negative, digits.substr(0, whole), digits.substr(whole));
}

ExactDigits DigitsOf(double value) {
  std::vector<char> text(kRealTextBytes);
  std::snprintf(text.data(), text.size(), "%.*f", kRealDigitsMax, value);
  std::string digits = text.data();
  const bool negative = digits[0] == '-';
  if (negative) digits.erase(0, 1);
  const size_t point = digits.find('.');
  return Trimmed(negative, digits.substr(0, point), digits.substr(point + 1));
}

std::strong_ordering CompareDigits(const ExactDigits& left, const ExactDigits& right) {
  if (left.negative != right.negative) {
    return left.negative ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return left.negative ? CompareMagnitudes(right, left) : CompareMagnitudes(left, right);
}

std::optional<Int128> Rounded(const ExactDigits& digits, uint8_t scale, Halves halves) {
  std::string behind = digits.fraction;
  if (behind.size() < scale) behind.resize(scale, '0');
  const std::string kept = digits.whole + behind.substr(0, scale);
  const std::string dropped = behind.substr(scale);
  // `dropped` ends with a digit other than 0, so "5" alone is the half.
  const bool odd = !kept.empty() && (kept.back() - '0') % 2 != 0;
  const bool up = dropped == "5" ? halves == Halves::kAwayFromZero || odd : dropped > "5";
  const Uint128 most = static_cast<Uint128>(kInt128Largest) + (digits.negative ? 1 : 0);
  Uint128 magnitude = 0;
  for (const char digit : kept) {
    const auto number = static_cast<unsigned>(digit - '0');
    if (magnitude > (most - number) / 10) return std::nullopt;
    magnitude = magnitude * 10 + number;
  }
  if (up && magnitude++ == most) return std::nullopt;
  return static_cast<Int128>(digits.negative ? -magnitude : magnitude);
}

double NearestReal(const ExactDigits& digits) {
  return std::strtod(DigitsText(digits).c_str(), nullptr);
}

std::string DigitsText(const ExactDigits& digits) {
  std::string text = digits.negative ? "-" : "";
  text += digits.whole.empty() ? "0" : digits.whole;
  if (!digits.fraction.empty()) text += "." + digits.fraction;
  return text;
}

}  // namespace eris::test
