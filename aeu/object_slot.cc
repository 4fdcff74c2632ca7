#include "aeu/object_slot.h"

#include <algorithm>

namespace eris::aeu {

OwnedRange* ObjectSlot::Find(uint64_t key) {
  // The last range that begins at or before the key.
  auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), key,
      [](uint64_t k, const OwnedRange& owned) { return k < owned.partition->range().lo.head; });
  while (after != ranges_.begin()) {
    OwnedRange& owned = *--after;
    if (owned.partition->range().ContainsU64(key)) return &owned;
    // An empty range may share its beginning with the one that has the key.
    if (!owned.partition->range().Empty()) return nullptr;
  }
  return nullptr;
}

}  // namespace eris::aeu
