// Which key ranges an AEU has taken in lately, and by which version of the partition table each
// became its own. A sender that still goes by an older version may have commands on their way that
// went elsewhere first: those behind them are refused here, so that no key's commands are executed
// in another order than they were sent in (docs/internals/ROUTING.md). Plain values of the AEU's
// thread, one for each object. Paper: ERIS 3.3.2 (an AEU compares each incoming data command
// against its bounds).
#ifndef ERIS_AEU_RANGE_HISTORY_H_
#define ERIS_AEU_RANGE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/key.h"

namespace eris::aeu {

class RangeHistory {
 public:
  // What has been taken in before counts for all keys.
  static constexpr size_t kRangesMax = 32;

  // From now on TookIn needs no memory. Throws std::bad_alloc.
  void Reserve() { taken_.reserve(kRangesMax); }
  // `range` is the AEU's by `version`, not below those before. An empty one changes nothing.
  // REQUIRES: Reserve; bounds of one part.
  void TookIn(const storage::Range& range, uint64_t version);

  // No key is too new for a command of `version`. O(1).
  bool Knows(uint64_t version) const { return version >= newest_; }
  // A command of `version` on `key` is refused, whether the AEU has the key now or not.
  // O(kRangesMax) where Knows says no.
  bool TooOld(uint64_t key, uint64_t version) const;

 private:
  struct Taken {
    uint64_t first;
    uint64_t last;
    uint64_t version;
  };
  std::vector<Taken> taken_;  // ascending by version
  uint64_t newest_ = 0;
  uint64_t oldest_ = 0;  // commands of older versions are refused whatever their key is
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_RANGE_HISTORY_H_
