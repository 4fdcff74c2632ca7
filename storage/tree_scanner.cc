#include "storage/tree_scanner.h"

namespace eris::storage {
namespace {

// How many children before the one being read its block is prefetched.
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
  if (ref.IsLastLevel()) return;
  for (unsigned i = 0; i < kAheadChildren; ++i) PrefetchNext(frame);
}

void TreeScanner::PrefetchNext(Frame& frame) {
  if (frame.ahead >= 256) return;
  const Child child = NextChild(frame.ref, frame.ahead);
  frame.ahead = child.byte + 1;
  if (child.byte < 256) __builtin_prefetch(TreeRef(*child.slot).block(), 0, 3);
}

// Reads the leaves of a TreeNode4 without a frame of its own; most keys of sparse partitions stand
// so. Returns the byte it could not read on at: room or `last` reached, or a child that is no leaf.
unsigned TreeScanner::ReadLeaves(const TreeNode4& node, uint64_t last, Output& out) {
  const unsigned children = static_cast<unsigned>(node.header.children);
  for (unsigned i = 0; i < children; ++i) __builtin_prefetch(TreeRef(node.slots[i]).block(), 0, 3);
  for (unsigned i = 0; i < children; ++i) {
    const TreeRef child(node.slots[i]);
    if (!child.IsLeaf() || !out.Add(*child.leaf(), last)) return node.bytes[i];
  }
  return 256;
}

uint32_t TreeScanner::Read(uint64_t last, uint64_t* keys, uint64_t* values, uint32_t rows_max) {
  Output out{keys, values, rows_max};
  if (!leaf_.IsNone() && rows_max > 0) {
    if (!out.Add(*leaf_.leaf(), last)) return out.rows;
    leaf_ = TreeRef();
  }
  while (depth_ > 0 && out.rows < rows_max) {
    Frame& frame = frames_[depth_ - 1];
    const TreeRef ref = frame.ref;
    const Child child = NextChild(ref, frame.next);
    if (child.byte == 256) {
      --depth_;
      continue;
    }
    if (ref.IsLastLevel()) {
      if (!out.Add({ref.header()->prefix | child.byte, *child.slot}, last)) return out.rows;
      frame.next = child.byte + 1;
      continue;
    }
    const TreeRef below(*child.slot);
    if (below.IsLeaf() && !out.Add(*below.leaf(), last)) return out.rows;
    frame.next = child.byte + 1;
    PrefetchNext(frame);
    if (below.IsLeaf()) continue;
    unsigned next = 0;
    if (below.kind() == TreeNodeKind::k4 && !below.IsLastLevel()) {
      next = ReadLeaves(*below.node4(), last, out);
    }
    if (next < 256) Push(below, next);
  }
  return out.rows;
}

}  // namespace eris::storage
