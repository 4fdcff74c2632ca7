#include "storage/tree_scanner.h"

namespace eris::storage {
namespace {

// Children prefetched before the one being read.
constexpr unsigned kAheadChildren = 8;

}  // namespace

TreeScanner::TreeScanner(const PrefixTree& tree, uint64_t from) {
  TreeRef ref = tree.root();
  while (ref.IsTreeNode()) {
    if (!ref.PrefixMatches(from)) {
      if (ref.header()->prefix > from) Push(ref, 0);
      return;
    }
    const unsigned byte = ref.Byte(from);
    if (ref.IsLastLevel()) {
      Push(ref, byte);
      return;
    }
    const uint64_t* slot = FindSlot(ref, byte);
    Push(ref, slot == nullptr ? byte : byte + 1);
    ref = slot == nullptr ? TreeRef() : TreeRef(*slot);
  }
  if (ref.IsLeaf() && ref.leaf()->key >= from) leaf_ = ref;
}

void TreeScanner::Push(TreeRef ref, unsigned next) {
  Frame& frame = frames_[depth_++];
  frame = {ref, next, next};
  if (!ref.IsLastLevel()) PrefetchAhead(frame, kAheadChildren);
}

void TreeScanner::PrefetchAhead(Frame& frame, unsigned children) {
  for (; children > 0 && frame.ahead < 256; --children) {
    const Child child = NextChild(frame.ref, frame.ahead);
    frame.ahead = child.byte + 1;
    if (child.byte < 256) __builtin_prefetch(TreeRef(*child.slot).block(), 0, 3);
  }
}

uint32_t TreeScanner::Read(uint64_t last, uint64_t* keys, uint64_t* values, uint32_t rows_max) {
  uint32_t rows = 0;
  if (!leaf_.IsNone() && rows < rows_max) {
    if (leaf_.leaf()->key > last) return rows;
    keys[rows] = leaf_.leaf()->key;
    values[rows++] = leaf_.leaf()->value;
    leaf_ = TreeRef();
  }
  while (depth_ > 0 && rows < rows_max) {
    Frame& frame = frames_[depth_ - 1];
    const TreeRef ref = frame.ref;
    const Child child = NextChild(ref, frame.next);
    if (child.byte == 256) {
      --depth_;
      continue;
    }
    if (ref.IsLastLevel()) {
      const uint64_t key = ref.header()->prefix | child.byte;
      if (key > last) return rows;
      keys[rows] = key;
      values[rows++] = *child.slot;
      frame.next = child.byte + 1;
      continue;
    }
    const TreeRef below(*child.slot);
    if (below.IsLeaf()) {
      const Leaf* leaf = below.leaf();
      if (leaf->key > last) return rows;
      keys[rows] = leaf->key;
      values[rows++] = leaf->value;
      frame.next = child.byte + 1;
      PrefetchAhead(frame, 1);
      continue;
    }
    frame.next = child.byte + 1;
    PrefetchAhead(frame, 1);
    Push(below, 0);
  }
  return rows;
}

}  // namespace eris::storage
