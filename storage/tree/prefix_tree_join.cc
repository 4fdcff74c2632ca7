// Absorb: two trees of adjacent ranges share at most a path. It is followed from the top, and all
// memory is allocated on the way. Only then the trees are changed, bottom up.
#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "storage/tree/prefix_tree.h"

namespace eris::storage {
namespace {

uint64_t MinKey(TreeRef ref) {
  while (ref.IsTreeNode()) ref = NextChild(ref, 0).ref();
  if (ref.IsPage()) return ref.header()->prefix | internal::NextBit(ref.page()->bitmap, 0);
  ref.run()->Sort();
  return ref.run()->pairs()[0].key;
}

uint64_t MaxKey(TreeRef ref) {
  while (ref.IsTreeNode()) ref = PreviousChild(ref, 256).ref();
  if (ref.IsPage()) return ref.header()->prefix | internal::LastBit(ref.page()->bitmap, 255);
  ref.run()->Sort();
  return ref.run()->pairs()[ref.run()->count - 1].key;
}

// Adds the keys of a run, a page, or a last-level TreeNode to a page of the same prefix.
void AddToPage(TreeRef page, TreeRef ref) {
  const auto put = [&](unsigned byte, uint64_t value) {
    internal::SetBit(page.page()->bitmap, byte);
    page.page()->slots[byte] = value;
  };
  if (ref.IsRun()) {
    for (unsigned i = 0; i < ref.run()->count; ++i) {
      const Pair& pair = ref.run()->pairs()[i];
      put(ByteAt(pair.key, kShiftLast), pair.value);
    }
  } else if (ref.IsPage()) {
    for (unsigned byte = internal::NextBit(ref.page()->bitmap, 0); byte < 256;
         byte = internal::NextBit(ref.page()->bitmap, byte + 1)) {
      put(byte, ref.page()->slots[byte]);
    }
  } else {
    for (Child child = NextChild(ref, 0); child.start < 256;
         child = NextChild(ref, child.start + 1)) {
      AddToPage(page, child.ref());
    }
  }
}

}  // namespace

// A TreeNode on the shared path: it gets the children of both sides next to each other. The last
// child of the lower side and the first one of the upper side may have keys of the same byte. Then
// the next joint is of those two; of a run only its keys of that byte take part.
struct PrefixTree::Joint {
  unsigned shift = 0;
  uint64_t prefix = 0;
  uint64_t keys = 0;  // when done
  TreeRef lower;      // TreeNodes of that shift, or a future child
  TreeRef upper;
  unsigned upper_start = 0;  // of its first child
  bool shares = false;       // there is a next joint
  // Pairs of the border run that do not take part in the next joint; 0: all take part, or it is no
  // run.
  unsigned lower_stays = 0;
  unsigned upper_stays = 0;
  TreeRef room;  // a block for the result, if neither side has enough room

  bool lower_is_node() const { return lower.IsTreeNode() && lower.shift() == shift; }
  bool upper_is_node() const { return upper.IsTreeNode() && upper.shift() == shift; }
  TreeRef last() const { return lower_is_node() ? PreviousChild(lower, 256).ref() : lower; }
  TreeRef first() const { return upper_is_node() ? NextChild(upper, 0).ref() : upper; }
  unsigned Children() const {
    return (lower_is_node() ? lower.Children() : 1) + (upper_is_node() ? upper.Children() : 1) -
           (shares ? 1 : 0) + (lower_stays > 0 ? 1 : 0) + (upper_stays > 0 ? 1 : 0);
  }
};

struct PrefixTree::JointPath {
  Joint joints[kLevelsMax];
  unsigned depth = 0;
  // The result of the lowest joint, if it shares: one of the two, or both in a new run, or in the
  // page that one of them is.
  TreeRef end;
  TreeRef merged[2];
  // Runs made on the way, for a part of one of the trees' runs.
  TreeRef made[2 * kLevelsMax];
  unsigned made_count = 0;

  bool Made(TreeRef ref) const {
    return std::find(made, made + made_count, ref) < made + made_count;
  }
};

bool PrefixTree::Absorb(PrefixTree& other) {
  ERIS_CHECK(other.cache_ == cache_);
  ERIS_CHECK(other.weight_ == weight_);
  ERIS_CHECK(&other != this);
  if (empty() || other.empty()) {
    if (empty()) Swap(other);
    return true;
  }
  const bool below = MaxKey(root_) < MinKey(other.root_);
  JointPath path;
  if (!ReserveJoints(below ? root_ : other.root_, below ? other.root_ : root_, path)) {
    Unreserve(path);
    return false;
  }
  TreeRef result = path.end;
  for (const TreeRef merged : path.merged) {
    if (merged.IsNone() || merged == result) continue;
    if (result.IsPage()) {
      AddToPage(result, merged);
      result.header()->keys = result.header()->keys + KeysOf(merged);
      if (merged.IsTreeNode()) {
        FreeSubtree(merged);
        continue;
      }
    }
    Free(merged);
  }
  for (unsigned i = path.depth; i-- > 0;) result = Join(path.joints[i], result);
  root_ = result;
  other.root_ = TreeRef();
  return true;
}

bool PrefixTree::TakeShared(Joint& joint, JointPath& path, TreeRef& lower, TreeRef& upper) {
  // Some pairs of a run, in a run of their own.
  const auto take_apart = [&](TreeRef run, unsigned from, unsigned count) {
    const TreeRef part = NewRun(run.run()->pairs() + from, count, count);
    if (!part.IsNone()) path.made[path.made_count++] = part;
    return part;
  };
  lower = joint.last();
  upper = joint.first();
  const uint64_t border = MaxKey(lower) >> joint.shift << joint.shift;  // its byte's lowest key
  if (lower.IsRun()) {
    TreeRun& run = *lower.run();
    joint.lower_stays = run.LowerBound(border);
    if (joint.lower_stays > 0) {
      lower = take_apart(lower, joint.lower_stays, run.count - joint.lower_stays);
    }
  }
  if (upper.IsRun()) {
    TreeRun& run = *upper.run();
    const uint64_t behind = border | ((uint64_t{1} << joint.shift) - 1);
    unsigned same = run.LowerBound(behind);
    if (same < run.count && run.pairs()[same].key == behind) ++same;
    joint.upper_stays = run.count - same;
    if (joint.upper_stays > 0) upper = take_apart(upper, 0, same);
  }
  return !lower.IsNone() && !upper.IsNone();
}

bool PrefixTree::ReserveJoints(TreeRef lower, TreeRef upper, JointPath& path) {
  for (;;) {
    path.merged[0] = lower;
    path.merged[1] = upper;
    const unsigned shift = ShiftOf(MinKey(lower) ^ MaxKey(upper));
    if (lower.IsRun() && upper.IsRun() && lower.Keys() + upper.Keys() <= kRunPairsMax) {
      Pair pairs[kRunPairsMax];
      Pair* const end = std::copy_n(lower.run()->pairs(), lower.run()->count, pairs);
      std::copy_n(upper.run()->pairs(), upper.run()->count, end);
      const auto count = static_cast<unsigned>(lower.Keys() + upper.Keys());
      path.end = NewRun(pairs, count, count);
      return !path.end.IsNone();
    }
    if (shift == kShiftLast && (lower.IsPage() || upper.IsPage())) {
      path.end = lower.IsPage() ? lower : upper;
      return true;
    }
    path.merged[0] = path.merged[1] = TreeRef();
    Joint& joint = path.joints[path.depth++];
    joint.shift = shift;
    joint.prefix = MinKey(lower);
    joint.keys = KeysOf(lower) + KeysOf(upper);
    joint.lower = lower;
    joint.upper = upper;
    joint.upper_start = ByteAt(MinKey(joint.first()), shift);
    joint.shares = ByteAt(MaxKey(joint.last()), shift) == joint.upper_start;
    if (joint.shares && !TakeShared(joint, path, lower, upper)) return false;
    const unsigned children = joint.Children();
    const auto holds = [&](bool node, TreeRef ref) {
      return node && CapacityOf(ref.kind()) >= children;
    };
    if (!holds(joint.lower_is_node(), joint.lower) && !holds(joint.upper_is_node(), joint.upper)) {
      const TreeNodeKind kind = KindFor(children);
      void* block = Allocate(kind);
      if (block == nullptr) return false;
      joint.room = TreeRef::To(block, kind, shift);
    }
    if (!joint.shares) return true;
  }
}

void PrefixTree::Unreserve(JointPath& path) {
  for (unsigned i = 0; i < path.depth; ++i) {
    if (!path.joints[i].room.IsNone()) Free(path.joints[i].room);
  }
  for (unsigned i = 0; i < path.made_count; ++i) Free(path.made[i]);
}

// `shared` is the result of the next joint.
TreeRef PrefixTree::Join(Joint& joint, TreeRef shared) {
  const unsigned shift = joint.shift;
  ChildList list;
  if (joint.lower_is_node()) {
    list.AddFrom(joint.lower, 0, 256);
  } else {
    list.Add(0, joint.lower);
  }
  if (joint.shares) {
    if (joint.lower_stays > 0) {
      joint.last().run()->Truncate(joint.lower_stays);
      list.Add(joint.upper_start, shared);
    } else {
      list.words[list.count - 1] = shared.word();
    }
    if (joint.upper_stays > 0) {
      TreeRun* run = joint.first().run();
      run->DropFirst(run->count - joint.upper_stays);
      list.Add(ByteAt(run->pairs()[0].key, shift), joint.first());
    }
  } else {
    list.Add(joint.upper_start, joint.first());
  }
  if (joint.upper_is_node()) {
    list.AddFrom(joint.upper, NextChild(joint.upper, 0).start + 1, 256);
  }
  TreeRef into = joint.room;
  if (into.IsNone()) {
    const auto holds = [&](bool node, TreeRef ref) {
      return node && CapacityOf(ref.kind()) >= list.count;
    };
    into = holds(joint.lower_is_node(), joint.lower) ? joint.lower : joint.upper;
  } else {
    FormatTreeNode(into.block(), into.kind(), shift, joint.prefix);
  }
  for (const TreeRef side : {joint.lower, joint.upper}) {
    if (side.IsTreeNode() && side.shift() == shift && side != into) Free(side);
  }
  WriteChildren(into, list);
  into.header()->keys = joint.keys;
  return into;
}

}  // namespace eris::storage
