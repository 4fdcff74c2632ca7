#include "aeu/object_slot.h"

#include <algorithm>

namespace eris::aeu {

OwnedRange* ObjectSlot::Find(uint64_t key) {
  // The last range that begins at or before the key.
  auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), key,
      [](uint64_t k, const OwnedRange& owned) { return k < owned.partition->range().lo.head; });
  if (after == ranges_.begin()) return nullptr;
  OwnedRange& owned = *std::prev(after);
  return owned.partition->range().ContainsU64(key) ? &owned : nullptr;
}

}  // namespace eris::aeu
