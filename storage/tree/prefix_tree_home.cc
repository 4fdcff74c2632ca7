// BringHome: moves a tree's blocks, in key order, to the NumaNode of its cache, or notes them.
#include <cstdint>

#include "storage/tree/prefix_tree.h"

namespace eris::storage {
namespace {

constexpr unsigned kBlocksAhead = 6;

// The child of a TreeNode from which keys from `from` on may be; start 256: none.
Child FirstChildFrom(TreeRef node, uint64_t from) {
  if (node.PrefixMatches(from)) return ChildAt(node, node.Byte(from));
  return from < node.header()->prefix ? NextChild(node, 0) : Child{};
}

// Whether an earlier piece has stopped at `from` inside the child, not in front of it.
bool HasStoppedIn(TreeRef node, const Child& child, uint64_t from, const HomeWork& work) {
  const uint64_t begin = node.header()->prefix | uint64_t{child.start} << node.shift();
  return from > begin || (from == begin && work.next_second > 0);
}

}  // namespace

bool PrefixTree::BringHome(HomeWork& work, MoveValue move_value) {
  work.stopped = false;
  if (!root_.IsNone()) root_ = BringPart(root_, work.next_key, work, move_value);
  return work.refused || !work.stopped;
}

TreeRef PrefixTree::BringPart(TreeRef ref, uint64_t from, HomeWork& work, MoveValue move_value) {
  void* const block = work.Move(*cache_, ref.block(), ref.Bytes());
  if (block != ref.block()) ref = TreeRef::To(block, ref.kind(), ref.shift());
  if (!ref.IsTreeNode()) {
    work.resumes = false;
    if (move_value != nullptr) {
      ref.IsRun() ? BringRun(ref.run(), from, work, move_value)
                  : BringPage(ref, from, work, move_value);
    }
    return ref;
  }
  Child child = FirstChildFrom(ref, from);
  work.resumes = work.resumes && child.start < 256 && HasStoppedIn(ref, child, from, work);
  // Blocks lie anywhere: several are fetched at a time. A visit needs only those it enters.
  const auto fetch = [&](TreeRef next) {
    if (!work.MovesNothing() || move_value != nullptr || next.IsTreeNode()) PrefetchBlock(next);
  };
  Child ahead = child;
  for (unsigned i = 0; i < kBlocksAhead && ahead.start < 256; ++i) {
    fetch(ahead.ref());
    ahead = NextChild(ref, ahead.start + 1);
  }
  while (child.start < 256 && !work.refused) {
    const Child next = NextChild(ref, child.start + 1);
    if (ahead.start < 256) {
      fetch(ahead.ref());
      ahead = NextChild(ref, ahead.start + 1);
    }
    const TreeRef moved = BringPart(child.ref(), from, work, move_value);
    work.resumes = false;
    if (moved != child.ref()) ReplaceChild(ref, child.start, moved);
    if (work.stopped) return ref;
    if (next.start < 256 && work.Spent()) {
      work.StopAt(ref.header()->prefix | uint64_t{next.start} << ref.shift());
      return ref;
    }
    child = next;
  }
  return ref;
}

void PrefixTree::BringRun(TreeRun* run, uint64_t from, HomeWork& work, MoveValue move_value) {
  run->Sort();
  const unsigned first = run->LowerBound(from);
  for (unsigned i = first; i < run->count; ++i) {
    Pair& pair = run->pairs()[i];
    if (i > first && work.Spent()) return work.StopAt(pair.key);
    if (pair.key != from) work.next_second = 0;
    if (!move_value(*cache_, pair.value, work)) return work.StopAt(pair.key, work.next_second);
  }
}

void PrefixTree::BringPage(TreeRef ref, uint64_t from, HomeWork& work, MoveValue move_value) {
  const bool resumes = ref.PrefixMatches(from);
  if (!resumes && from > ref.header()->prefix) return;  // the keys that it was after are gone
  const unsigned first = internal::NextBit(ref.page()->bitmap, resumes ? ref.Byte(from) : 0);
  for (unsigned byte = first; byte < 256; byte = internal::NextBit(ref.page()->bitmap, byte + 1)) {
    const uint64_t key = ref.header()->prefix | byte;
    if (byte > first && work.Spent()) return work.StopAt(key);
    if (key != from) work.next_second = 0;
    if (!move_value(*cache_, ref.page()->slots[byte], work)) {
      return work.StopAt(key, work.next_second);
    }
  }
}

}  // namespace eris::storage
