#include "balancer/load/sub_ranges.h"

#include <cstddef>
#include <utility>

namespace eris::balancer {
namespace {

// A sub-range with this many keys may grow over a gap, unless that would make it more than
// kGapWidths times as wide.
constexpr size_t kCloseKeysMin = 4;
constexpr uint64_t kGapWidths = 16;

class Cutter {
 public:
  explicit Cutter(uint64_t quantum) : quantum_(quantum) {}

  void Add(const WeightedKey& sample) {
    const bool hot = sample.weight >= quantum_ / 2 + 1;
    if (keys_ > 0 && (hot || weight_ >= quantum_ || FarFrom(sample.key))) Close();
    if (keys_ == 0) first_ = sample.key;
    last_ = sample.key;
    weight_ += sample.weight;
    ++keys_;
    if (hot) Close();
  }
  std::vector<SubRange> Take() {
    if (keys_ > 0) Close();
    return std::move(result_);
  }

 private:
  bool FarFrom(uint64_t key) const {
    return keys_ >= kCloseKeysMin && (key - last_) / kGapWidths > last_ - first_;
  }
  void Close() {
    // The gap after the previous one ends where this one begins.
    if (!result_.empty() && result_.back().begin == first_) result_.pop_back();
    result_.push_back({first_, weight_});
    if (last_ != ~uint64_t{0}) result_.push_back({last_ + 1, 0});
    keys_ = 0;
    weight_ = 0;
  }

  const uint64_t quantum_;
  uint64_t first_ = 0;
  uint64_t last_ = 0;
  uint64_t weight_ = 0;
  size_t keys_ = 0;
  std::vector<SubRange> result_;
};

}  // namespace

std::vector<SubRange> CutSubRanges(absl::Span<const WeightedKey> samples, uint64_t quantum) {
  Cutter cutter(quantum);
  for (const WeightedKey& sample : samples) cutter.Add(sample);
  return cutter.Take();
}

}  // namespace eris::balancer
