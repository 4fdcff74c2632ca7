// The sampled accesses of one data object, with less weight for older ones: the input of an
// adaptive histogram. Sorted by key and bounded, whatever the keys are. One thread at a time.
// Paper: ERIS 3.3 (monitoring), 3.3.1.
#ifndef ERIS_BALANCER_ACCESS_HISTORY_H_
#define ERIS_BALANCER_ACCESS_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eris::balancer {

struct WeightedKey {
  uint64_t key = 0;
  uint64_t weight = 0;   // execution time that it represents, in nanoseconds
  uint32_t samples = 0;  // in 1/256 of a sample: they fade too
  float accesses = 0;    // accesses that the samples represent: they fade too
};

class AccessHistory {
 public:
  // A period has ended: all entries have half the weight from now on; an entry with less than a
  // sixteenth of a sample left is removed.
  void Fade();
  // Adds samples, in any order. If they prove that the accesses have shifted, the older ones are
  // forgotten, because they would only delay the reaction. The proof is the largest difference
  // between the two distributions, or that in a small part of them, if it is far beyond chance.
  // True: that happened. Keeps at most `entries_max` keys: neighbours are then merged into one key
  // of theirs, but never keys with a large part of the load.
  bool Add(std::vector<WeightedKey> fresh, size_t entries_max);

  // Ascending, each key once.
  const std::vector<WeightedKey>& entries() const { return entries_; }
  uint64_t total_weight() const;
  // Adds samples to `entries`, which are then ascending, each key once, and bounded as by Add.
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
