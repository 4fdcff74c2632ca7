// Erase, and what it leaves behind: runs shrink or are merged with a neighbour, pages become runs,
// and TreeNodes become smaller or go. Where there is no memory for the smaller form, the larger one
// stays.
#include <algorithm>
#include <cstdint>

#include "storage/tree/prefix_tree.h"
#include "storage/tree/tree_path.h"

namespace eris::storage {
namespace {

// Keys left in a page of which a run takes less. Far below the number that makes a page
// (prefix_tree.cc), so that a key that comes and goes changes nothing.
constexpr uint64_t kPageKeysLeft = 48;
// A run with as many pairs or fewer is merged with a neighbour, if both together have no more than
// kMergedPairsMax.
constexpr unsigned kMergePairsMax = 20;
constexpr unsigned kMergedPairsMax = 40;
// Free pairs that a run has after it was shrunk. Without them, a pair that is erased and inserted
// in turn would copy the run each time.
constexpr unsigned kShrinkPairs = 4;

}  // namespace

bool PrefixTree::Erase(uint64_t key) {
  Path path;
  const TreeRef end = Descend(key, path);
  if (end.IsRun()) {
    TreeRun* run = end.run();
    Pair* pair = run->Find(key);
    if (pair == nullptr) return false;
    run->Remove(pair);
    path.AddKeys(-1);
    ShrinkRun(path, key, end);
    return true;
  }
  if (!end.IsPage() || !end.PrefixMatches(key)) return false;
  TreePage* page = end.page();
  if (!internal::TestBit(page->bitmap, end.Byte(key))) return false;
  internal::ClearBit(page->bitmap, end.Byte(key));
  page->header.keys = page->header.keys - 1;
  path.AddKeys(-1);
  if (PageKeys(page) <= kPageKeysLeft) ShrinkPage(path, key, end);
  return true;
}

void PrefixTree::ShrinkRun(Path& path, uint64_t key, TreeRef ref) {
  const unsigned count = ref.run()->count;
  if (count == 0) {
    Free(ref);
    RemoveLink(path, key);
    return;
  }
  const unsigned lines = SmallerRunLines(ref.lines());
  if (count == 1 || (lines > 0 && count + kShrinkPairs <= RunCapacity(lines))) {
    if (count <= kMergePairsMax && MergeRun(path, key, ref)) return;
    void* block = lines == 0 ? nullptr : AllocateRun(lines);
    if (block == nullptr) return;
    const TreeRef shrunk = CopyRun(ref.run(), lines, block);
    Free(ref);
    SetLink(path, path.depth, key, shrunk);
  } else if (cache_->Scattered(ref.Bytes())) [[unlikely]] {
    SetLink(path, path.depth, key, Gather(ref));
  }
}

bool PrefixTree::MergeRun(Path& path, uint64_t key, TreeRef ref) {
  const TreeRef node = path.Last();
  if (node.IsNone()) return false;
  const Child child = ChildAt(node, node.Byte(key));
  const auto fits = [&](const Child& other) {
    return other.start < 256 && other.ref().IsRun() &&
           ref.run()->count + other.ref().run()->count <= kMergedPairsMax;
  };
  Child other = NextChild(node, child.start + 1);
  if (!fits(other)) other = PreviousChild(node, child.start);
  if (!fits(other)) return false;
  const TreeRef from = other.ref();
  const unsigned lines = RunLinesFor(ref.run()->count + from.run()->count);
  void* block = AllocateRun(lines);
  if (block == nullptr) return false;
  const bool from_above = other.start > child.start;
  const TreeRef first = from_above ? ref : from;
  const TreeRef second = from_above ? from : ref;
  const TreeRef merged = CopyRun(first.run(), lines, block);
  for (unsigned i = 0; i < second.run()->count; ++i) {
    const Pair& pair = second.run()->pairs()[i];
    merged.run()->Append(pair.key, pair.value);
  }
  const unsigned gone = std::max(child.start, other.start);
  RemoveChild(node, gone);  // its interval goes to the one before
  ReplaceChild(node, gone, merged);
  Free(from);
  Free(ref);
  SetLink(path, path.depth - 1, key, Settle(node));
  return true;
}

void PrefixTree::ShrinkPage(Path& path, uint64_t key, TreeRef ref) {
  TreePage* page = ref.page();
  if (page->header.keys == 0) {
    Free(ref);
    RemoveLink(path, key);
    return;
  }
  Pair pairs[kPageKeysLeft];
  unsigned count = 0;
  for (unsigned byte = internal::NextBit(page->bitmap, 0); byte < 256;
       byte = internal::NextBit(page->bitmap, byte + 1)) {
    pairs[count++] = {page->header.prefix | byte, page->slots[byte]};
  }
  const TreeRef run = NewRun(pairs, count, count);
  if (run.IsNone()) return;  // later
  Free(ref);
  SetLink(path, path.depth, key, run);
}

// The child that the descent has come to is gone.
void PrefixTree::RemoveLink(Path& path, uint64_t key) {
  while (path.depth > 0 && path.Last().Children() == 1) Free(path.nodes[--path.depth]);
  if (path.depth == 0) {
    root_ = TreeRef();
    return;
  }
  const TreeRef node = path.Last();
  RemoveChild(node, ChildAt(node, node.Byte(key)).start);
  SetLink(path, path.depth - 1, key, Settle(node));
}

TreeRef PrefixTree::Settle(TreeRef ref) {
  const unsigned children = ref.Children();
  if (children == 1) {
    const TreeRef child = NextChild(ref, 0).ref();
    Free(ref);
    return child;
  }
  const TreeNodeKind kind = ShrunkKind(ref.kind(), children);
  if (kind == ref.kind()) {
    return cache_->Scattered(ref.Bytes()) ? Gather(ref) : ref;
  }
  void* block = Allocate(kind);
  if (block == nullptr) return ref;
  const TreeRef shrunk = CopyTreeNode(ref, kind, block);
  Free(ref);
  return shrunk;
}

}  // namespace eris::storage
