#include "balancer/load/expected_load.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace eris::balancer {
namespace {

// A place is judged only with at least this many samples in both periods together: with fewer, it
// might seem to appear or disappear by chance.
constexpr uint32_t kSamplesPerPlace = 16;
constexpr size_t kPlacesMin = 64;
// A place with at most twice as much load as before is expected to keep it: so a load that shifts
// to half of its keys is followed immediately.
constexpr double kGrowth = 2;

// Walks over one of the two periods, or over the entries to judge, place by place.
class Walk {
 public:
  explicit Walk(const std::vector<WeightedKey>& keys) : keys_(keys) {
    for (const WeightedKey& one : keys) total_ += static_cast<double>(one.weight);
  }
  bool AtEnd() const { return at_ == keys_.size(); }
  uint64_t key() const { return keys_[at_].key; }
  double total() const { return total_; }
  size_t at() const { return at_; }
  // The fraction of all weight at `key`.
  double PartAt(uint64_t key) const {
    return AtEnd() || keys_[at_].key != key ? 0 : Part(keys_[at_]);
  }
  uint32_t SamplesAt(uint64_t key) const {
    return AtEnd() || keys_[at_].key != key ? 0 : keys_[at_].samples;
  }
  void Pass(uint64_t key) { at_ += !AtEnd() && keys_[at_].key == key; }
  // The fraction below `end`.
  double PassBelow(uint64_t end) {
    double part = 0;
    for (; !AtEnd() && keys_[at_].key < end; ++at_) part += Part(keys_[at_]);
    return part;
  }
  double PassAll() {
    double part = 0;
    for (; !AtEnd(); ++at_) part += Part(keys_[at_]);
    return part;
  }

 private:
  double Part(const WeightedKey& one) const {
    return total_ == 0 ? 0 : static_cast<double>(one.weight) / total_;
  }
  const std::vector<WeightedKey>& keys_;
  size_t at_ = 0;
  double total_ = 0;
};

// Keys at which places begin. Places have about equal load, of both periods together; a key with
// that much load is a place by itself.
std::vector<uint64_t> CutPlaces(const std::vector<WeightedKey>& before,
                                const std::vector<WeightedKey>& now, size_t places) {
  std::vector<uint64_t> begins;
  Walk old_walk(before);
  Walk new_walk(now);
  // of both periods: their fractions sum up to 2
  const double part_max = 2.0 / static_cast<double>(places);
  double part = 0;
  uint64_t samples = 0;
  bool open = false;
  while (!old_walk.AtEnd() || !new_walk.AtEnd()) {
    const uint64_t key = old_walk.AtEnd()   ? new_walk.key()
                         : new_walk.AtEnd() ? old_walk.key()
                                            : std::min(old_walk.key(), new_walk.key());
    const double key_part = old_walk.PartAt(key) + new_walk.PartAt(key);
    const uint64_t key_samples = old_walk.SamplesAt(key) + new_walk.SamplesAt(key);
    const bool hot = key_part >= part_max && key_samples >= 256 * kSamplesPerPlace;
    if (hot) open = false;
    if (!open) {
      begins.push_back(key);
      part = 0;
      samples = 0;
    }
    part += key_part;
    samples += key_samples;
    open = !hot && (part < part_max || samples < 256 * kSamplesPerPlace);
    old_walk.Pass(key);
    new_walk.Pass(key);
  }
  return begins;
}

}  // namespace

void ExpectedLoad::Add(const std::vector<WeightedKey>& fresh, size_t entries_max) {
  if (fresh.empty()) return;
  if (std::exchange(ended_, false)) before_ = std::exchange(now_, {});
  AccessHistory::Merge(now_, fresh, entries_max);
}

std::vector<uint64_t> ExpectedLoad::Of(const std::vector<WeightedKey>& entries,
                                       size_t places) const {
  std::vector<uint64_t> expected(entries.size());
  Walk old_walk(before_);
  Walk new_walk(now_);
  Walk all(entries);
  const std::vector<uint64_t> begins = CutPlaces(before_, now_, std::max(places, kPlacesMin));
  // If there was more load in the last period than now, its parts are compared by load and not by
  // share: the losses of other places say nothing about this one.
  const double grown =
      new_walk.total() == 0 ? 1 : std::max(1.0, old_walk.total() / new_walk.total());
  size_t at = 0;
  for (size_t i = 0; i <= begins.size(); ++i) {
    // Keys before the first place were accessed in neither period.
    const bool last = i == begins.size();
    const double old_part = last ? old_walk.PassAll() : old_walk.PassBelow(begins[i]);
    const double new_part = last ? new_walk.PassAll() : new_walk.PassBelow(begins[i]);
    const double part = last ? all.PassAll() : all.PassBelow(begins[i]);
    const double lasting = kGrowth * std::min(old_part * grown, new_part);
    const double factor = part <= lasting ? 1 : lasting / part;
    for (; at < all.at(); ++at) {
      expected[at] = static_cast<uint64_t>(static_cast<double>(entries[at].weight) * factor);
    }
  }
  return expected;
}

}  // namespace eris::balancer
