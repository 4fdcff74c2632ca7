// SplitAt: descends one path, allocates the memory that it will need on the way, and only then
// changes the tree, bottom up.
#include <cstdint>

#include "base/check.h"
#include "storage/tree/prefix_tree.h"

namespace eris::storage {

// One TreeNode on the path of the cut. The middle child's interval contains the cut. Children
// before it stay; those after it move.
struct PrefixTree::Cut {
  TreeRef ref;
  unsigned middle = 0;                      // where its interval starts
  TreeNodeKind kind = TreeNodeKind::kNone;  // kind of `block`
  void* block = nullptr;  // for the children that move; nullptr if the TreeNode is never divided
};

struct PrefixTree::CutPath {
  Cut cuts[kLevelsMax];
  unsigned depth = 0;
  // The two sides of the path's end; if the end itself is cut, its blocks.
  TreeRef lower_end;
  TreeRef upper_end;
  // For a run: the pairs that stay. For a page: the byte from which on values move.
  unsigned at = 0;
  bool cut_end = false;
};

bool PrefixTree::SplitAt(uint64_t key, PrefixTree& upper) {
  ERIS_CHECK(upper.cache_ == cache_);
  ERIS_CHECK(upper.weight_ == weight_);
  ERIS_CHECK(upper.empty());
  CutPath path;
  if (!ReserveCuts(key, path)) return false;
  TreeRef low = path.lower_end;
  TreeRef high = path.upper_end;
  if (path.cut_end && low.IsRun()) {
    TreeRun* run = low.run();
    WriteRun(high.block(), high.lines(), run->pairs() + path.at, run->count - path.at);
    run->Truncate(path.at);
  } else if (path.cut_end) {
    TreePage* from = low.page();
    TreePage* to = high.page();
    for (unsigned byte = internal::NextBit(from->bitmap, path.at); byte < 256;
         byte = internal::NextBit(from->bitmap, byte + 1)) {
      internal::ClearBit(from->bitmap, byte);
      internal::SetBit(to->bitmap, byte);
      to->slots[byte] = from->slots[byte];
      to->header.keys = to->header.keys + WeightOf(from->slots[byte]);
    }
    from->header.keys = from->header.keys - to->header.keys;
  }
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
    const Child child = ChildAt(ref, ref.Byte(key));
    cut.middle = child.start;
    ref = child.ref();
  }
  // Cut the end of the path.
  if (ref.IsRun()) {
    ref.run()->Sort();
    path.at = ref.run()->LowerBound(key);
    path.cut_end = path.at > 0 && path.at < ref.run()->count;
    if (!path.cut_end) (path.at > 0 ? path.lower_end : path.upper_end) = ref;
  } else if (ref.IsPage() && ref.PrefixMatches(key)) {
    const uint64_t* bitmap = ref.page()->bitmap;
    path.at = ref.Byte(key);
    const bool some_move = internal::NextBit(bitmap, path.at) < 256;
    const bool some_stay = internal::NextBit(bitmap, 0) < path.at;
    path.cut_end = some_move && some_stay;
    if (!path.cut_end) (some_stay ? path.lower_end : path.upper_end) = ref;
  } else if (!ref.IsNone()) {
    (ref.header()->prefix < key ? path.lower_end : path.upper_end) = ref;
  }
  if (path.cut_end) {
    path.lower_end = ref;
    if (ref.IsRun()) {
      const unsigned lines = RunLinesFor(ref.run()->count - path.at);
      void* block = AllocateRun(lines);
      if (block == nullptr) return false;
      path.upper_end = TreeRef::To(block, TreeNodeKind::kRun, lines);
    } else {
      void* block = Allocate(TreeNodeKind::kPage);
      if (block == nullptr) return false;
      path.upper_end = FormatPage(block, key);
    }
  }
  // If children go to both sides, the upper ones need a TreeNode.
  bool lower = !path.lower_end.IsNone();
  bool upper = !path.upper_end.IsNone();
  for (unsigned i = path.depth; i-- > 0;) {
    Cut& cut = path.cuts[i];
    ChildList below;
    below.AddFrom(cut.ref, 0, cut.middle);
    const unsigned moved = cut.ref.Children() - below.count - (upper ? 0 : 1);
    lower = lower || below.count > 0;
    upper = moved > 0;
    if (!lower || !upper) continue;
    cut.kind = KindFor(moved);
    cut.block = Allocate(cut.kind);
    if (cut.block != nullptr) continue;
    for (const Cut& taken : path.cuts) {
      if (taken.block != nullptr) cache_->Free(taken.block, BytesOf(taken.kind));
    }
    if (path.cut_end) Free(path.upper_end);
    return false;
  }
  return true;
}

// `lower` and `upper` are the two sides of the middle child; on return they are those of cut.ref.
void PrefixTree::CutAt(const Cut& cut, TreeRef& lower, TreeRef& upper) {
  const TreeRef ref = cut.ref;
  ChildList low, high;
  low.AddFrom(ref, 0, cut.middle);
  const unsigned below = low.count;
  if (!lower.IsNone()) low.Add(cut.middle, lower);
  if (!upper.IsNone()) high.Add(cut.middle, upper);
  high.AddFrom(ref, cut.middle + 1, 256);
  if (low.count == 0 || high.count == 0) {  // stays or moves completely, with the new middle child
    WriteChildren(ref, low.count == 0 ? high : low);
    const TreeRef settled = Settle(ref);
    lower = low.count == 0 ? TreeRef() : settled;
    upper = low.count == 0 ? settled : TreeRef();
    return;
  }
  // Count on the side with fewer children: their headers may have to be fetched.
  const uint64_t keys = ref.header()->keys;
  const bool count_low = below <= high.count;
  const ChildList& fewer = count_low ? low : high;
  uint64_t counted = 0;
  for (unsigned i = 0; i < fewer.count; ++i) counted += KeysOf(TreeRef(fewer.words[i]));
  const TreeRef target = FormatTreeNode(cut.block, cut.kind, ref.shift(), ref.header()->prefix);
  WriteChildren(target, high);
  WriteChildren(ref, low);
  ref.header()->keys = count_low ? counted : keys - counted;
  target.header()->keys = count_low ? keys - counted : counted;
  lower = Settle(ref);
  upper = Settle(target);
}

}  // namespace eris::storage
