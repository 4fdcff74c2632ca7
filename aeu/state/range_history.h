// The key ranges that an AEU has taken in recently, and the version of the partition table by which
// it got each. A sender that still uses an older version may have commands in flight that went
// elsewhere first. Later commands of it are refused here, so that no key's commands are executed in
// another order than they were sent (docs/internals/ROUTING.md). Plain values of the AEU's thread,
// one for each object. Paper: ERIS 3.3.2 (an AEU compares each incoming data command against its
// bounds).
#ifndef ERIS_AEU_RANGE_HISTORY_H_
#define ERIS_AEU_RANGE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/key.h"

namespace eris::aeu {

class RangeHistory {
 public:
  // Older entries are merged and apply to all keys.
  static constexpr size_t kRangesMax = 32;

  // After it, TookIn needs no memory. Throws std::bad_alloc.
  void Reserve() { taken_.reserve(kRangesMax); }
  // The AEU got `range` by `version`, which is not below earlier ones. An empty range changes
  // nothing.
  // REQUIRES: Reserve; bounds of one part.
  void TookIn(const storage::Range& range, uint64_t version);

  // No key was taken in after `version`. O(1).
  bool Knows(uint64_t version) const { return version >= newest_; }
  // Whether a command of `version` on `key` is refused, even if the AEU owns the key now.
  // O(kRangesMax) if Knows is false.
  bool TooOld(uint64_t key, uint64_t version) const;

 private:
  struct Taken {
    uint64_t first;
    uint64_t last;
    uint64_t version;
  };
  std::vector<Taken> taken_;  // ascending by version
  uint64_t newest_ = 0;
  uint64_t oldest_ = 0;  // commands of older versions are refused for all keys
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_RANGE_HISTORY_H_
