// The sampled accesses of one data object, the older ones weighing less: what an adaptive histogram
// is cut from. Sorted by key and bounded, whatever the keys are. One thread at a time. Paper: ERIS
// 3.3 (monitoring), 3.3.1.
#ifndef ERIS_BALANCER_ACCESS_HISTORY_H_
#define ERIS_BALANCER_ACCESS_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eris::balancer {

struct WeightedKey {
  uint64_t key = 0;
  uint64_t weight = 0;   // execution time that it stands for, in nanoseconds
  uint32_t samples = 0;  // in 1/256 of a sample: they fade, too
  float accesses = 0;    // that the samples stand for: likewise
};

class AccessHistory {
 public:
  // A period has ended: all that is known weighs half from now on; what has become of less than a
  // sixteenth of a sample is forgotten.
  void Fade();
  // Adds samples, in any order. When they are enough to tell that the accesses have shifted (the
  // largest difference between the two distributions, or that in a small part of them, is far
  // beyond chance) the older ones are forgotten: they would only delay the answer. True: that
  // happened. Keeps `entries_max` keys at most: neighbours then count as one key of theirs, but
  // keys with a large part of the load never.
  bool Add(std::vector<WeightedKey> fresh, size_t entries_max);

  // Ascending, each key once.
  const std::vector<WeightedKey>& entries() const { return entries_; }
  uint64_t total_weight() const;
  // Adds samples to `entries`, which then are ascending, each key once, and bounded as by Add.
  static void Merge(std::vector<WeightedKey>& entries, const std::vector<WeightedKey>& fresh,
                    size_t entries_max);
  // As LoadSample::accesses.
  double EffectiveAccesses() const;

 private:
  static double EffectiveSamples(const std::vector<WeightedKey>& entries);
  bool HasShifted(const std::vector<WeightedKey>& fresh) const;

  std::vector<WeightedKey> entries_;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_ACCESS_HISTORY_H_
