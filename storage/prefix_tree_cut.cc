// SplitAt and Absorb: both go down one path, take the memory that they will need on the way, and
// only then change the tree, from the bottom up.
#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "storage/prefix_tree.h"

namespace eris::storage {
namespace {

// Keys below the children with bytes in [from, to).
uint64_t KeysBetween(TreeRef ref, unsigned from, unsigned to) {
  if (ref.IsLastLevel()) return ChildrenBelow(ref, to) - ChildrenBelow(ref, from);
  uint64_t keys = 0;
  for (Child child = NextChild(ref, from); child.byte < to;
       child = NextChild(ref, child.byte + 1)) {
    keys += TreeRef(*child.slot).Keys();
  }
  return keys;
}

// Below every byte's shift: where a leaf would branch.
constexpr int kLeafShift = -8;

int ShiftOrLeaf(TreeRef ref) { return ref.IsLeaf() ? kLeafShift : static_cast<int>(ref.shift()); }
uint64_t PrefixOf(TreeRef ref) { return ref.IsLeaf() ? ref.leaf()->key : ref.header()->prefix; }

// The bits by which the two cannot be one below the other; 0 when they can.
uint64_t Difference(TreeRef a, TreeRef b) {
  const int shift = std::max(ShiftOrLeaf(a), ShiftOrLeaf(b));
  const uint64_t mask =
      shift == kLeafShift ? ~uint64_t{0} : PrefixMask(static_cast<unsigned>(shift));
  return (PrefixOf(a) ^ PrefixOf(b)) & mask;
}

}  // namespace

// --- SplitAt ---

// One TreeNode on the path of the cut. Children below `byte` stay, children from `first_moved` on
// move; above the last level the child at `byte` itself is cut too.
struct PrefixTree::Cut {
  TreeRef ref;
  unsigned byte = 0;
  unsigned first_moved = 0;
  TreeNodeKind kind = TreeNodeKind::kNone;  // of the block
  void* block = nullptr;  // room for what moves; nullptr where the TreeNode is never shared out
};

struct PrefixTree::CutPath {
  Cut cuts[kLevelsMax];
  unsigned depth = 0;
  // What the path ends in goes whole to one of the sides.
  TreeRef lower_end;
  TreeRef upper_end;
};

bool PrefixTree::SplitAt(uint64_t key, PrefixTree& upper) {
  ERIS_CHECK(upper.cache_ == cache_);
  ERIS_CHECK(upper.empty());
  CutPath path;
  if (!ReserveCuts(key, path)) return false;
  TreeRef low = path.lower_end;
  TreeRef high = path.upper_end;
  for (unsigned i = path.depth; i-- > 0;) CutAt(path.cuts[i], low, high);
  root_ = low;
  upper.root_ = high;
  return true;
}

bool PrefixTree::ReserveCuts(uint64_t key, CutPath& path) {
  TreeRef ref = root_;
  while (ref.IsTreeNode() && ref.PrefixMatches(key)) {
    Cut& cut = path.cuts[path.depth++];
    cut.ref = ref;
    cut.byte = ref.Byte(key);
    cut.first_moved = cut.byte + (ref.IsLastLevel() ? 0 : 1);
    const uint64_t* slot = ref.IsLastLevel() ? nullptr : FindSlot(ref, cut.byte);
    const unsigned moved = ref.Children() - ChildrenBelow(ref, cut.first_moved);
    const bool some_stay = moved < ref.Children();
    if (moved > 0 && some_stay) {
      cut.kind = KindFor(moved + (slot != nullptr ? 1 : 0));
      cut.block = Allocate(cut.kind);
      if (cut.block == nullptr) {
        while (path.depth-- > 0) {
          const Cut& taken = path.cuts[path.depth];
          if (taken.block != nullptr) cache_->Free(taken.block, BytesOf(taken.kind));
        }
        return false;
      }
    }
    ref = slot == nullptr ? TreeRef() : TreeRef(*slot);
  }
  if (!ref.IsNone()) (PrefixOf(ref) < key ? path.lower_end : path.upper_end) = ref;
  return true;
}

// `lower` and `upper` are the two sides of what stood at cut.byte, and become those of cut.ref.
void PrefixTree::CutAt(const Cut& cut, TreeRef& lower, TreeRef& upper) {
  const TreeRef ref = cut.ref;
  const unsigned below = ChildrenBelow(ref, cut.byte);
  const unsigned moved = ref.Children() - ChildrenBelow(ref, cut.first_moved);
  const uint64_t keys = ref.header()->keys;
  const uint64_t keys_middle = lower.Keys() + upper.Keys();

  // Puts a side of the middle child in its place, or takes the child out.
  const auto replace_middle = [&](TreeRef side) {
    uint64_t* slot = cut.first_moved == cut.byte ? nullptr : FindSlot(ref, cut.byte);
    if (slot == nullptr) return;
    if (side.IsNone()) {
      RemoveChild(ref, cut.byte);
    } else {
      *slot = side.word();
    }
  };

  if (moved == 0) {  // stays, but for a part of its middle child
    ref.header()->keys = keys - upper.Keys();
    replace_middle(lower);
    lower = Settle(ref);
  } else if (below == 0 && lower.IsNone()) {  // moves whole
    ref.header()->keys = keys;
    replace_middle(upper);
    upper = Settle(ref);
    lower = TreeRef();
    if (cut.block != nullptr) cache_->Free(cut.block, BytesOf(cut.kind));
  } else {
    // Counted on the side with fewer children: their headers may have to be fetched.
    const uint64_t keys_moved = moved <= below ? KeysBetween(ref, cut.first_moved, 256)
                                               : keys - KeysBetween(ref, 0, cut.byte) - keys_middle;
    const TreeRef target = FormatTreeNode(cut.block, cut.kind, ref.shift(), ref.header()->prefix);
    if (!upper.IsNone()) InsertChild(target, cut.byte, upper.word());
    for (Child child = NextChild(ref, cut.first_moved); child.byte < 256;
         child = NextChild(ref, child.byte + 1)) {
      InsertChild(target, child.byte, *child.slot);
      RemoveChild(ref, child.byte);
    }
    target.header()->keys = keys_moved + upper.Keys();
    ref.header()->keys = keys - keys_moved - upper.Keys();
    replace_middle(lower);
    lower = Settle(ref);
    upper = Settle(target);
  }
}

// --- Absorb ---

// One TreeNode on the shared path: takes the children of `guest`, and at `byte` the result of the
// joint below.
struct PrefixTree::Joint {
  TreeRef into;
  TreeRef guest;                            // none: only what comes from below
  unsigned byte = 256;                      // 256: nothing comes from below
  TreeNodeKind kind = TreeNodeKind::kNone;  // of the block
  void* block = nullptr;                    // for `into` to grow; nullptr where it has room
  uint64_t keys = 0;                        // when done
};

struct PrefixTree::JointPath {
  Joint joints[kLevelsMax + 1];
  unsigned depth = 0;
  uint64_t end_word = 0;  // what the lowest joint, or the root, receives
  TreeRef emptied;        // a leaf whose value end_word is
};

bool PrefixTree::Absorb(PrefixTree& other) {
  ERIS_CHECK(other.cache_ == cache_);
  ERIS_CHECK(&other != this);
  JointPath path;
  if (!ReserveJoints(root_, other.root_, path)) return false;
  uint64_t word = path.end_word;
  for (unsigned i = path.depth; i-- > 0;) word = Join(path.joints[i], word).word();
  if (!path.emptied.IsNone()) Free(path.emptied);
  root_ = TreeRef(word);
  other.root_ = TreeRef();
  return true;
}

bool PrefixTree::ReserveJoints(TreeRef mine, TreeRef theirs, JointPath& path) {
  bool enough = true;
  const auto reserve = [&](Joint& joint, unsigned children) {
    if (joint.into.IsTreeNode() && children <= CapacityOf(joint.into.kind())) return;
    joint.kind = KindFor(children);
    joint.block = Allocate(joint.kind);
    enough = joint.block != nullptr;
  };
  while (enough) {
    if (mine.IsNone() || theirs.IsNone()) {
      path.end_word = mine.IsNone() ? theirs.word() : mine.word();
      break;
    }
    Joint& joint = path.joints[path.depth++];
    joint.keys = mine.Keys() + theirs.Keys();
    const uint64_t difference = Difference(mine, theirs);
    if (difference != 0) {  // a new TreeNode4 over both
      joint.into = mine;
      joint.guest = theirs;
      joint.kind = TreeNodeKind::k4;
      joint.block = Allocate(joint.kind);
      enough = joint.block != nullptr;
      break;
    }
    if (ShiftOrLeaf(mine) == ShiftOrLeaf(theirs)) {
      ERIS_DCHECK(mine.IsTreeNode());  // else they would hold the same key
      const bool mine_larger = mine.kind() >= theirs.kind();
      joint.into = mine_larger ? mine : theirs;
      joint.guest = mine_larger ? theirs : mine;
      uint64_t* shared = nullptr;
      for (Child child = NextChild(joint.guest, 0); child.byte < 256 && shared == nullptr;
           child = NextChild(joint.guest, child.byte + 1)) {
        shared = FindSlot(joint.into, child.byte);
        if (shared == nullptr) continue;
        joint.byte = child.byte;
        mine = TreeRef(*shared);
        theirs = TreeRef(*child.slot);
      }
      ERIS_DCHECK(shared == nullptr || !joint.into.IsLastLevel());
      reserve(joint, joint.into.Children() + joint.guest.Children() - (shared != nullptr ? 1 : 0));
      if (shared == nullptr) break;
      continue;
    }
    // One lies below the other.
    const bool mine_above = ShiftOrLeaf(mine) > ShiftOrLeaf(theirs);
    joint.into = mine_above ? mine : theirs;
    const TreeRef below = mine_above ? theirs : mine;
    joint.byte = joint.into.Byte(PrefixOf(below));
    const uint64_t* slot = FindSlot(joint.into, joint.byte);
    if (slot == nullptr) {
      reserve(joint, joint.into.Children() + 1);
      path.end_word = below.word();
      if (joint.into.IsLastLevel()) {
        path.end_word = below.leaf()->value;
        path.emptied = below;
      }
      break;
    }
    ERIS_DCHECK(!joint.into.IsLastLevel());
    mine = TreeRef(*slot);
    theirs = below;
  }
  if (enough) return true;
  while (path.depth-- > 0) {
    const Joint& taken = path.joints[path.depth];
    if (taken.block != nullptr) cache_->Free(taken.block, BytesOf(taken.kind));
  }
  return false;
}

// `word` is the result from below, for joint.byte.
TreeRef PrefixTree::Join(const Joint& joint, uint64_t word) {
  const uint64_t difference = joint.guest.IsNone() ? 0 : Difference(joint.into, joint.guest);
  if (difference != 0) {
    const unsigned shift = ShiftOf(difference);
    const TreeRef node = FormatTreeNode(joint.block, joint.kind, shift, PrefixOf(joint.into));
    for (const TreeRef side : {joint.into, joint.guest}) {
      const bool value = shift == kShiftLast;  // then both are leaves
      InsertChild(node, ByteAt(PrefixOf(side), shift), value ? side.leaf()->value : side.word());
      if (value) Free(side);
    }
    node.header()->keys = joint.keys;
    return node;
  }
  TreeRef node = joint.into;
  if (joint.block != nullptr) {
    node = CopyTreeNode(joint.into, joint.kind, joint.block);
    Free(joint.into);
  }
  if (!joint.guest.IsNone()) {
    for (Child child = NextChild(joint.guest, 0); child.byte < 256;
         child = NextChild(joint.guest, child.byte + 1)) {
      if (child.byte != joint.byte) InsertChild(node, child.byte, *child.slot);
    }
    Free(joint.guest);
  }
  if (joint.byte < 256) {
    uint64_t* slot = FindSlot(node, joint.byte);
    if (slot != nullptr) {
      *slot = word;
    } else {
      InsertChild(node, joint.byte, word);
    }
  }
  node.header()->keys = joint.keys;
  return node;
}

}  // namespace eris::storage
