// Numbers as decimal digits, as many as they have: what queries' comparisons and casts are compared
// with. Slow, and shares nothing with the engine's arithmetic.
#ifndef ERIS_TESTS_UNIT_TABLE_QUERY_NUMBERS_H_
#define ERIS_TESTS_UNIT_TABLE_QUERY_NUMBERS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "storage/table/kernels/exact_number.h"

namespace eris::storage {

// Digits before the point without leading zeros, digits behind it without trailing ones.
class Digits {
 public:
  // REQUIRES: finite.
  explicit Digits(double value) : negative_(value < 0) {
    char text[1500];  // 309 digits at most before the point, 1,074 behind it
    int exponent = 0;
    std::frexp(value, &exponent);
    std::snprintf(text, sizeof text, "%.*f", std::max(0, 53 - exponent), std::abs(value));
    Cut(text);
  }
  Digits(Int128 unscaled, uint8_t scale) : negative_(unscaled < 0) {
    Uint128 left = negative_ ? -static_cast<Uint128>(unscaled) : static_cast<Uint128>(unscaled);
    std::string text;
    for (uint32_t i = 0; left != 0 || i <= scale; ++i, left /= 10) {
      if (i == scale) text.push_back('.');
      text.push_back(static_cast<char>('0' + static_cast<int>(left % 10)));
    }
    std::reverse(text.begin(), text.end());
    Cut(text);
  }

  // -1, 0 or 1.
  int CompareTo(const Digits& other) const {
    if (zero() && other.zero()) return 0;
    if (negative_ != other.negative_) return negative_ ? -1 : 1;
    int order = Sign(whole_.size(), other.whole_.size());
    if (order == 0) order = Sign(whole_, other.whole_);
    if (order == 0) order = Sign(fraction_, other.fraction_);
    return negative_ ? -order : order;
  }

  // With `scale` digits behind the point, as an integer. Halves go away from zero, or with
  // `half_even` to the even number. nullopt: 128 bits do not hold it.
  std::optional<Int128> Rounded(uint8_t scale, bool half_even) const {
    std::string kept = fraction_.substr(0, scale);
    kept.resize(scale, '0');
    kept = whole_ + kept;
    if (fraction_.size() > scale) {
      const bool odd = !kept.empty() && (kept.back() - '0') % 2 != 0;
      const std::string rest = fraction_.substr(scale);
      if (rest > "5" || (rest == "5" && (!half_even || odd))) Increment(kept);
    }
    Uint128 magnitude = 0;
    const Uint128 most = static_cast<Uint128>(kInt128Max) + (negative_ ? 1 : 0);
    for (const char digit : kept) {
      if (magnitude > (~Uint128{0} - 9) / 10) return std::nullopt;
      magnitude = magnitude * 10 + static_cast<Uint128>(digit - '0');
    }
    if (magnitude > most) return std::nullopt;
    return static_cast<Int128>(negative_ ? -magnitude : magnitude);
  }

  // The nearest double, as the C library rounds it.
  double Nearest() const {
    return std::strtod(((negative_ ? "-" : "") + whole_ + "." + fraction_ + "0").c_str(), nullptr);
  }

 private:
  template <class T>
  static int Sign(const T& a, const T& b) {
    return a < b ? -1 : b < a ? 1 : 0;
  }
  static void Increment(std::string& digits) {
    size_t at = digits.size();
    while (at > 0 && digits[at - 1] == '9') digits[--at] = '0';
    if (at == 0) {
      digits.insert(digits.begin(), '1');
    } else {
      ++digits[at - 1];
    }
  }
  bool zero() const { return whole_.empty() && fraction_.empty(); }
  void Cut(const std::string& text) {
    const size_t point = text.find('.');
    whole_ = text.substr(0, point);
    whole_.erase(0, whole_.find_first_not_of('0'));
    if (point != std::string::npos) fraction_ = text.substr(point + 1);
    fraction_.resize(fraction_.find_last_not_of('0') + 1);
  }

  bool negative_;
  std::string whole_, fraction_;
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_TABLE_QUERY_NUMBERS_H_
