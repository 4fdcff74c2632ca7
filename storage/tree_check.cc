#include "storage/tree_check.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/tree_node.h"

namespace eris::storage {
namespace {

absl::Status Fault(TreeRef ref, absl::string_view what) {
  return absl::InternalError(
      absl::StrCat("TreeNode of ", CapacityOf(ref.kind()), " at shift ", ref.shift(),
                   " with prefix ", absl::Hex(ref.header()->prefix, absl::kZeroPad16), ": ", what));
}

absl::Status CheckAscending(TreeRef ref, const uint8_t* bytes) {
  for (unsigned i = 1; i < ref.Children(); ++i) {
    if (bytes[i - 1] >= bytes[i]) return Fault(ref, "bytes do not ascend");
  }
  return absl::OkStatus();
}

absl::Status CheckLayout48(TreeRef ref) {
  const TreeNode48* node = ref.node48();
  uint64_t slots_seen = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint8_t slot = node->index[byte];
    const bool there = slot != TreeNode48::kNoSlot;
    if (there != internal::TestBit(node->bitmap, byte)) {
      return Fault(ref, absl::StrCat("bitmap and index differ at byte ", byte));
    }
    if (!there) continue;
    if (slot >= ref.Children()) return Fault(ref, absl::StrCat("slot ", slot, " is not in use"));
    if ((slots_seen >> slot) & 1) return Fault(ref, absl::StrCat("slot ", slot, " used twice"));
    slots_seen |= uint64_t{1} << slot;
  }
  return absl::OkStatus();
}

absl::Status CheckLayout256(TreeRef ref) {
  const TreeNode256* node = ref.node256();
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool there = internal::TestBit(node->bitmap, byte);
    if (ref.IsLastLevel() ? (!there && node->slots[byte] != 0)
                          : there != (node->slots[byte] != 0)) {
      return Fault(ref, absl::StrCat("bitmap and slot differ at byte ", byte));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLayout(TreeRef ref) {
  switch (ref.kind()) {
    case TreeNodeKind::k4:
      return CheckAscending(ref, ref.node4()->bytes);
    case TreeNodeKind::k16:
      return CheckAscending(ref, ref.node16()->bytes);
    case TreeNodeKind::k48:
      return CheckLayout48(ref);
    default:
      return CheckLayout256(ref);
  }
}

absl::Status CheckTreeNode(TreeRef ref);

// `child` stands at `byte` of `ref`, which is not of the last level.
absl::Status CheckChild(TreeRef ref, unsigned byte, TreeRef child) {
  if (child.kind() < TreeNodeKind::kLeaf || child.kind() > TreeNodeKind::k256) {
    return Fault(ref, absl::StrCat("no reference at byte ", byte));
  }
  if (child.IsTreeNode() && child.shift() >= ref.shift()) {
    return Fault(ref, absl::StrCat("shift does not fall at byte ", byte));
  }
  const uint64_t prefix = child.IsLeaf() ? child.leaf()->key : child.header()->prefix;
  const uint64_t path = ref.header()->prefix | uint64_t{byte} << ref.shift();
  const uint64_t mask = PrefixMask(ref.shift()) | uint64_t{0xff} << ref.shift();
  if ((prefix & mask) != path) {
    return Fault(ref, absl::StrCat("child at byte ", byte, " has prefix or key ",
                                   absl::Hex(prefix, absl::kZeroPad16)));
  }
  return child.IsTreeNode() ? CheckTreeNode(child) : absl::OkStatus();
}

absl::Status CheckTreeNode(TreeRef ref) {
  const unsigned children = ref.Children();
  if (children > CapacityOf(ref.kind()) || children < (ref.IsLastLevel() ? 1 : 2)) {
    return Fault(ref, absl::StrCat(children, " children"));
  }
  if ((ref.header()->prefix & ~PrefixMask(ref.shift())) != 0) {
    return Fault(ref, "bits below the prefix");
  }
  ERIS_RETURN_IF_ERROR(CheckLayout(ref));
  unsigned children_seen = 0;
  uint64_t keys_seen = 0;
  for (Child child = NextChild(ref, 0); child.byte < 256; child = NextChild(ref, child.byte + 1)) {
    ++children_seen;
    if (FindSlot(ref, child.byte) != child.slot) {
      return Fault(ref, absl::StrCat("byte ", child.byte, " is not found"));
    }
    if (ref.IsLastLevel()) {
      ++keys_seen;
      continue;
    }
    const TreeRef below(*child.slot);
    ERIS_RETURN_IF_ERROR(CheckChild(ref, child.byte, below));
    keys_seen += below.Keys();
  }
  if (children_seen != children) {
    return Fault(ref, absl::StrCat(children_seen, " children seen, ", children, " counted"));
  }
  if (keys_seen != ref.header()->keys) {
    const uint64_t counted = ref.header()->keys;
    return Fault(ref, absl::StrCat(keys_seen, " keys seen, ", counted, " counted"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTree(const PrefixTree& tree) {
  return tree.root().IsTreeNode() ? CheckTreeNode(tree.root()) : absl::OkStatus();
}

}  // namespace eris::storage
