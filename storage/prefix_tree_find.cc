// The batched lookup: a group of probes goes down the tree side by side. Each level has two rounds:
// find every probe's slot and prefetch it, then load the slots and prefetch what they refer to.
// A TreeNode256 needs no first round, since its slot's address follows from the reference alone.
#include <cstdint>

#include "base/check.h"
#include "storage/prefix_tree.h"

namespace eris::storage {
namespace {

void Prefetch(const void* address) { __builtin_prefetch(address, 0, 3); }

// What the next step with this reference and key will read first.
void PrefetchStep(TreeRef ref, uint64_t key) {
  const auto* block = static_cast<const char*>(ref.block());
  switch (ref.kind()) {
    case TreeNodeKind::k48:
      Prefetch(&ref.node48()->index[ref.Byte(key)]);
      if (ref.IsLastLevel()) Prefetch(block);
      break;
    case TreeNodeKind::k256:
      Prefetch(&ref.node256()->slots[ref.Byte(key)]);
      if (ref.IsLastLevel()) Prefetch(block);
      break;
    default:
      Prefetch(block);
  }
}

}  // namespace

void PrefixTree::FindGroup(const uint64_t* keys, uint32_t count, uint64_t** values) {
  ERIS_DCHECK(count <= kFindGroupMax);
  TreeRef refs[kFindGroupMax];
  uint64_t* slots[kFindGroupMax];
  // Probes at a TreeNode, and those that have reached a leaf, by index in the group.
  uint8_t active[kFindGroupMax];
  uint8_t at_leaf[kFindGroupMax];
  static_assert(kFindGroupMax <= 256);
  uint32_t active_count = 0;
  uint32_t leaf_count = 0;

  for (uint32_t i = 0; i < count; ++i) {
    values[i] = nullptr;
    refs[i] = root_;
    if (root_.IsTreeNode()) {
      PrefetchStep(root_, keys[i]);
      active[active_count++] = static_cast<uint8_t>(i);
    } else if (root_.IsLeaf()) {
      at_leaf[leaf_count++] = static_cast<uint8_t>(i);
    }
  }
  while (active_count > 0) {
    uint32_t going = 0;
    for (uint32_t j = 0; j < active_count; ++j) {
      const uint8_t i = active[j];
      const TreeRef ref = refs[i];
      const unsigned byte = ref.Byte(keys[i]);
      uint64_t* slot;
      if (ref.IsLastLevel()) {
        slot = FindSlot(ref, byte);
        if (slot != nullptr && ref.PrefixMatches(keys[i])) {
          values[i] = slot;
          Prefetch(slot);
        }
        continue;
      }
      if (ref.kind() == TreeNodeKind::k256) {
        slot = &ref.node256()->slots[byte];
      } else {
        slot = FindSlot(ref, byte);
        if (slot == nullptr) continue;
        Prefetch(slot);
      }
      slots[i] = slot;
      active[going++] = i;
    }
    active_count = 0;
    for (uint32_t j = 0; j < going; ++j) {
      const uint8_t i = active[j];
      const TreeRef ref(*slots[i]);
      if (ref.IsTreeNode()) {
        refs[i] = ref;
        PrefetchStep(ref, keys[i]);
        active[active_count++] = i;
      } else if (ref.IsLeaf()) {
        refs[i] = ref;
        Prefetch(ref.block());
        at_leaf[leaf_count++] = i;
      }
    }
  }
  for (uint32_t j = 0; j < leaf_count; ++j) {
    const uint8_t i = at_leaf[j];
    Leaf* leaf = refs[i].leaf();
    if (leaf->key == keys[i]) values[i] = &leaf->value;
  }
}

}  // namespace eris::storage
