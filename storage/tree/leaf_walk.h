// The runs and pages of a prefix tree in key order, upwards or downwards, one after the other.
// Iterative: a frame per level, at most 8. Valid while the tree's TreeNodes do not change.
// Single-threaded. Paper: ERIS 3.1 (scans).
#ifndef ERIS_STORAGE_TREE_LEAF_WALK_H_
#define ERIS_STORAGE_TREE_LEAF_WALK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "base/prefetch.h"
#include "eris/types.h"
#include "storage/tree/tree_node.h"

namespace eris::storage {

template <ScanDirection kDirection>
class LeafWalk {
 public:
  // Goes down from `ref` to where `key` belongs: a run, a page, a TreeNode of other keys, or
  // nothing.
  TreeRef Descend(TreeRef ref, uint64_t key) {
    while (ref.IsTreeNode() && ref.PrefixMatches(key)) {
      const Child child = ChildAt(ref, ref.Byte(key));
      const unsigned at = ref.kind() == TreeNodeKind::k256
                              ? child.start
                              : static_cast<unsigned>(child.slot - ref.slots());
      frames_[depth_++] = {ref, kBackward ? at : at + 1};
      FetchSibling();
      ref = child.ref();
    }
    return ref;
  }
  // The first run or page of a subtree.
  TreeRef First(TreeRef ref) {
    while (ref.IsTreeNode()) {
      frames_[depth_++] = {ref, !kBackward                         ? 0
                                : ref.kind() == TreeNodeKind::k256 ? 256
                                                                   : ref.Children()};
      ref = Step(frames_[depth_ - 1]);
      FetchSibling();
    }
    return ref;
  }
  // The one after those returned so far, or none.
  TreeRef Next() {
    while (depth_ > 0) {
      const TreeRef child = Step(frames_[depth_ - 1]);
      if (child.IsNone()) {
        --depth_;
        continue;
      }
      FetchSibling();
      return First(child);
    }
    return TreeRef();
  }

 private:
  static constexpr bool kBackward = kDirection == ScanDirection::kBackward;
  // Lines of slots that are fetched of a TreeNode that comes later. The processor's own prefetching
  // gets the rest of a large one.
  static constexpr size_t kLinesAhead = 3;

  struct Frame {
    TreeRef ref;
    // In a TreeNode256 the byte from which on children are still to come, else their index.
    // Backward: the end of those that are still to come.
    unsigned next = 0;
  };

  // The next child of the frame's TreeNode, or none.
  static TreeRef Step(Frame& frame) {
    if (frame.ref.kind() == TreeNodeKind::k256) {
      const TreeNode256* const node = frame.ref.node256();
      if constexpr (kBackward) {
        if (frame.next == 0) return TreeRef();
        frame.next = internal::LastBit(node->bitmap, frame.next - 1);
        return TreeRef(node->slots[frame.next]);
      }
      const unsigned byte = internal::NextBit(node->bitmap, frame.next);
      if (byte == 256) return TreeRef();
      frame.next = byte + 1;
      return TreeRef(node->slots[byte]);
    }
    if constexpr (kBackward) {
      return frame.next == 0 ? TreeRef() : TreeRef(frame.ref.slots()[--frame.next]);
    }
    return frame.next == frame.ref.Children() ? TreeRef()
                                              : TreeRef(frame.ref.slots()[frame.next++]);
  }

  // A child of the last frame has been returned or is being entered: fetches the TreeNode that
  // follows it, if one does, because the walk reads it before what it contains can be fetched.
  void FetchSibling() const {
    Frame copy = frames_[depth_ - 1];
    const TreeRef sibling = Step(copy);
    if (!sibling.IsTreeNode()) return;
    const auto* const block = static_cast<const char*>(sibling.block());
    const size_t lines = sibling.Bytes() / base::kCacheLineBytes;
    base::Prefetch(block);  // the header and the starts
    // Then the slots that are read first.
    const size_t ahead = std::min(lines - 1, kLinesAhead);
    const size_t from = kBackward ? lines - ahead : 1;
    for (size_t i = 0; i < ahead; ++i) base::Prefetch(block + (from + i) * base::kCacheLineBytes);
  }

  Frame frames_[kLevelsMax];
  unsigned depth_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_LEAF_WALK_H_
