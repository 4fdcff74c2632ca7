#include "clients/load/key_picker.h"

#include <algorithm>

namespace eris::load {
namespace {

ERIS_LOAD_WIDE void FillUniform(uint64_t* numbers, size_t size, uint64_t base, double count) {
  for (size_t i = 0; i < size; ++i) {
    numbers[i] = ToBelow(Mix(base + (i + 1) * Random::kStep), count);
  }
}

ERIS_LOAD_WIDE void FillZipf(uint64_t* numbers, size_t size, uint64_t base, Zipf zipf) {
  for (size_t i = 0; i < size; ++i) numbers[i] = zipf.Rank(Mix(base + (i + 1) * Random::kStep));
}

}  // namespace

uint64_t KeyPicker::CountOf(const KeySet& keys, double key_part) {
  const double count = static_cast<double>(keys.count()) * key_part;
  return std::clamp<uint64_t>(static_cast<uint64_t>(count), 1, keys.count());
}

KeyPicker::KeyPicker(const KeySet& keys, const PickerOptions& options,
                     const std::optional<Zipf>& zipf)
    : keys_(keys),
      options_(options),
      zipf_(zipf),
      count_(CountOf(keys, options.key_part)),
      hot_count_(std::max<uint64_t>(
          1, static_cast<uint64_t>(static_cast<double>(count_) * options.hot_part))),
      inserts_max_(keys.count() * (KeySet::kGenerations - 2) / options.pickers),
      random_(SeedOf(options.seed, options.index, Draws::kKeys)),
      next_(count_ / options.pickers * options.index) {}

void KeyPicker::PickHot(absl::Span<uint64_t> numbers, uint64_t first) {
  for (uint64_t& number : numbers) {
    const bool hot = random_.Below(100) < options_.hot_percent;
    // All numbers that are not hot are equally likely.
    const uint64_t offset = hot || hot_count_ == count_
                                ? random_.Below(hot_count_)
                                : hot_count_ + random_.Below(count_ - hot_count_);
    number = first + offset;
    if (number >= count_) number -= count_;
  }
}

void KeyPicker::Pick(absl::Span<uint64_t> numbers, double elapsed_s, uint64_t inserted) {
  const auto fill_zipf = [&] {
    FillZipf(numbers.data(), numbers.size(), random_.Take(numbers.size()), *zipf_);
  };
  switch (options_.distribution) {
    case Distribution::kUniform:
      FillUniform(numbers.data(), numbers.size(), random_.Take(numbers.size()),
                  static_cast<double>(count_));
      return;
    case Distribution::kZipf:
      fill_zipf();
      return;
    case Distribution::kScrambled:
      fill_zipf();
      keys_.SpreadAll(numbers);
      return;
    case Distribution::kLatest:
      fill_zipf();
      for (uint64_t& number : numbers) {
        number = number < inserted ? InsertNumber(inserted - 1 - number)
                                   : count_ - 1 - (number - inserted);
      }
      return;
    case Distribution::kHot:
      PickHot(numbers, 0);
      return;
    case Distribution::kShifting: {
      const uint64_t places = (count_ + hot_count_ - 1) / hot_count_;
      PickHot(numbers, static_cast<uint64_t>(elapsed_s / options_.shift_s) % places * hot_count_);
      return;
    }
    case Distribution::kSequential:
      for (uint64_t& number : numbers) {
        if (next_ >= count_) next_ = 0;
        number = next_++;
      }
      return;
  }
}

}  // namespace eris::load
