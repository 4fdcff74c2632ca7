// The part of a load that is expected to last. A load in key order is hot at another place in each
// period: boundaries that follow it are wrong as soon as they have been placed. So a place counts
// for as much of the load as it had in both of the last two periods, and at most twice that. The
// rest is moving along the keys. One thread at a time. Paper: ERIS 3.3.1 assumes that all load
// lasts.
#ifndef ERIS_BALANCER_EXPECTED_LOAD_H_
#define ERIS_BALANCER_EXPECTED_LOAD_H_

#include <cstddef>
#include <vector>

#include "balancer/load/access_history.h"

namespace eris::balancer {

class ExpectedLoad {
 public:
  // Adds samples of the current period, in any order. An empty `fresh` changes nothing: the last
  // two periods with accesses stay known.
  void Add(const std::vector<WeightedKey>& fresh, size_t entries_max);
  // The next samples are of a new period.
  void EndPeriod() { ended_ = true; }

  // Nothing is known before the second period: then all load is expected.
  bool knows() const { return !before_.empty() && !now_.empty(); }
  // The expected part of each entry's weight. `entries`: ascending, each key once.
  // REQUIRES: knows(). O(entries + samples).
  std::vector<uint64_t> Of(const std::vector<WeightedKey>& entries, size_t places) const;

 private:
  std::vector<WeightedKey> before_;
  std::vector<WeightedKey> now_;
  bool ended_ = false;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_EXPECTED_LOAD_H_
