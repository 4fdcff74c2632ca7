#include "clients/load/key_set.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace eris::load {
namespace {

constexpr uint64_t kGenerationMask = KeySet::kGenerations - 1;

// The upper word of a 53-bit product is enough for a place: it only has to look random.
uint64_t PlaceOf(uint64_t number, double stride) {
  return ToBelow(Mix(number), stride) & ~kGenerationMask;
}

// index * factor modulo count: a permutation, because the two are coprime. The floating-point
// quotient is off by at most one, since both are below 2^40.
uint64_t Permuted(uint64_t index, uint64_t factor, double part, uint64_t count) {
  const auto quotient = static_cast<uint64_t>(
      static_cast<int64_t>(static_cast<double>(static_cast<int64_t>(index)) * part));
  auto rest = static_cast<int64_t>(index * factor - quotient * count);
  rest += rest < 0 ? static_cast<int64_t>(count) : 0;
  rest -= rest >= static_cast<int64_t>(count) ? static_cast<int64_t>(count) : 0;
  return static_cast<uint64_t>(rest);
}

uint64_t CoprimeNear(uint64_t wanted, uint64_t count) {
  for (uint64_t factor = std::max<uint64_t>(wanted, 1);; ++factor) {
    if (std::gcd(factor, count) == 1) return factor;
  }
}

// Places stay away from the stride's end, so that rounding cannot move one into the next stride,
// and below the conversion's limit.
double Places(uint64_t stride) {
  return std::min(static_cast<double>(stride) * (1 - 0x1p-20), 0x1p62);
}

ERIS_LOAD_WIDE void ToSparse(uint64_t* numbers, size_t count, uint64_t stride) {
  const double places = Places(stride);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = numbers[i] * stride + PlaceOf(numbers[i], places);
  }
}

ERIS_LOAD_WIDE void PermuteAll(uint64_t* indices, size_t size, uint64_t factor, double part,
                               uint64_t count) {
  for (size_t i = 0; i < size; ++i) indices[i] = Permuted(indices[i], factor, part, count);
}

ERIS_LOAD_WIDE void FillValuesOf(const uint64_t* keys, uint64_t* values, size_t count) {
  for (size_t i = 0; i < count; ++i) values[i] = ValueOf(keys[i]);
}

ERIS_LOAD_WIDE uint64_t CountWrong(const uint64_t* keys, const char* values, size_t count) {
  uint64_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t value;
    std::memcpy(&value, values + i * sizeof value, sizeof value);
    wrong += value != ValueOf(keys[i]) ? 1 : 0;
  }
  return wrong;
}

}  // namespace

KeySet::KeySet(uint64_t count, Layout layout)
    : count_(count),
      layout_(layout),
      // A multiple of the generations: then the lowest bits of slot * stride are 0.
      stride_(~uint64_t{0} / count & ~kGenerationMask),
      // Near the golden ratio, adjacent indices are far apart.
      spread_(CoprimeNear(static_cast<uint64_t>(static_cast<double>(count) * 0.6180339887), count)),
      spread_part_(static_cast<double>(spread_) / static_cast<double>(count)) {}

uint64_t KeySet::Spread(uint64_t index) const {
  return Permuted(index, spread_, spread_part_, count_);
}

void KeySet::SpreadAll(absl::Span<uint64_t> indices) const {
  PermuteAll(indices.data(), indices.size(), spread_, spread_part_, count_);
}

uint64_t KeySet::Key(uint64_t number) const {
  if (layout_ == Layout::kDense) return number;
  const uint64_t place = PlaceOf(number, Places(stride_));
  if (number < count_) return number * stride_ + place;
  return Spread(number % count_) * stride_ + place + number / count_;
}

void KeySet::ToKeys(absl::Span<uint64_t> numbers) const {
  if (layout_ == Layout::kDense) return;
  uint64_t last = 0;
  for (const uint64_t number : numbers) last = std::max(last, number);
  if (last < count_) {
    ToSparse(numbers.data(), numbers.size(), stride_);
  } else {
    for (uint64_t& number : numbers) number = Key(number);
  }
}

std::vector<uint64_t> KeySet::SplitPoints(uint32_t partitions) const {
  std::vector<uint64_t> points;
  for (uint64_t i = 1; i < partitions; ++i) {
    const uint64_t number = count_ / partitions * i + count_ % partitions * i / partitions;
    const uint64_t point = layout_ == Layout::kDense ? number : number * stride_;
    if (point > (points.empty() ? 0 : points.back())) points.push_back(point);
  }
  return points;
}

void FillValues(absl::Span<const uint64_t> keys, absl::Span<uint64_t> values) {
  FillValuesOf(keys.data(), values.data(), keys.size());
}

uint64_t CountWrongValues(absl::Span<const uint64_t> keys, const char* values) {
  return CountWrong(keys.data(), values, keys.size());
}

}  // namespace eris::load
