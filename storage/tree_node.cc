#include "storage/tree_node.h"

#include <algorithm>

namespace eris::storage {
namespace {

void SetBit(uint64_t* bitmap, unsigned byte) { bitmap[byte >> 6] |= uint64_t{1} << (byte & 63); }
void ClearBit(uint64_t* bitmap, unsigned byte) {
  bitmap[byte >> 6] &= ~(uint64_t{1} << (byte & 63));
}

unsigned BitsBelow(const uint64_t* bitmap, unsigned byte) {
  unsigned bits = 0;
  const unsigned words = byte >> 6;
  for (unsigned i = 0; i < words; ++i) bits += static_cast<unsigned>(std::popcount(bitmap[i]));
  if (byte & 63) {
    const uint64_t below = bitmap[words] & ((uint64_t{1} << (byte & 63)) - 1);
    bits += static_cast<unsigned>(std::popcount(below));
  }
  return bits;
}

// TreeNode4 and TreeNode16 differ in capacity alone.
template <class Node>
void InsertSorted(Node* node, unsigned byte, uint64_t word) {
  const unsigned count = static_cast<unsigned>(node->header.children);
  const unsigned at = internal::RankIn(node->bytes, count, byte);
  // A loop: few steps, and a call of memmove reads its address from memory that lies on one
  // NumaNode.
  for (unsigned to = count; to > at; --to) {
    node->bytes[to] = node->bytes[to - 1];
    node->slots[to] = node->slots[to - 1];
  }
  node->bytes[at] = static_cast<uint8_t>(byte);
  node->slots[at] = word;
}

template <class Node>
void RemoveSorted(Node* node, unsigned byte) {
  const unsigned count = static_cast<unsigned>(node->header.children);
  const unsigned at = internal::RankIn(node->bytes, count, byte);
  for (unsigned to = at; to + 1 < count; ++to) {
    node->bytes[to] = node->bytes[to + 1];
    node->slots[to] = node->slots[to + 1];
  }
}

void Remove48(TreeNode48* node, unsigned byte) {
  const uint8_t hole = node->index[byte];
  const uint8_t last = static_cast<uint8_t>(node->header.children - 1);
  if (hole != last) {  // the slots in use stay 0 .. children-1
    void* mover = std::memchr(node->index, last, sizeof(node->index));
    *static_cast<uint8_t*>(mover) = hole;
    node->slots[hole] = node->slots[last];
  }
  node->index[byte] = TreeNode48::kNoSlot;
  ClearBit(node->bitmap, byte);
}

}  // namespace

TreeNodeKind KindFor(unsigned children) {
  if (children <= 4) return TreeNodeKind::k4;
  if (children <= 16) return TreeNodeKind::k16;
  if (children <= 48) return TreeNodeKind::k48;
  return TreeNodeKind::k256;
}

TreeNodeKind ShrunkKind(TreeNodeKind kind, unsigned children) {
  // Slack in children before the next smaller kind is full again.
  constexpr unsigned kSlack4 = 1;
  constexpr unsigned kSlack16 = 4;
  constexpr unsigned kSlack48 = 10;
  const TreeNodeKind fit = children <= 4 - kSlack4     ? TreeNodeKind::k4
                           : children <= 16 - kSlack16 ? TreeNodeKind::k16
                           : children <= 48 - kSlack48 ? TreeNodeKind::k48
                                                       : TreeNodeKind::k256;
  return std::min(kind, fit);
}

TreeRef FormatTreeNode(void* block, TreeNodeKind kind, unsigned shift, uint64_t key) {
  const TreeRef ref = TreeRef::To(block, kind, shift);
  // Leaves no byte of a small TreeNode unset: the SIMD match reads all of them.
  switch (kind) {
    case TreeNodeKind::k48:
      std::memset(block, 0, offsetof(TreeNode48, index));
      std::memset(ref.node48()->index, TreeNode48::kNoSlot, sizeof(TreeNode48::index));
      break;
    default:
      std::memset(block, 0, BytesOf(kind));
  }
  ref.header()->prefix = key & PrefixMask(shift);
  return ref;
}

void InsertChild(TreeRef ref, unsigned byte, uint64_t word) {
  TreeNodeHeader* header = ref.header();
  ERIS_DCHECK(header->children < CapacityOf(ref.kind()));
  switch (ref.kind()) {
    case TreeNodeKind::k4:
      InsertSorted(ref.node4(), byte, word);
      break;
    case TreeNodeKind::k16:
      InsertSorted(ref.node16(), byte, word);
      break;
    case TreeNodeKind::k48: {
      TreeNode48* node = ref.node48();
      node->index[byte] = static_cast<uint8_t>(header->children);
      node->slots[header->children] = word;
      SetBit(node->bitmap, byte);
      break;
    }
    default: {
      TreeNode256* node = ref.node256();
      node->slots[byte] = word;
      SetBit(node->bitmap, byte);
    }
  }
  header->children = header->children + 1;
}

void RemoveChild(TreeRef ref, unsigned byte) {
  switch (ref.kind()) {
    case TreeNodeKind::k4:
      RemoveSorted(ref.node4(), byte);
      break;
    case TreeNodeKind::k16:
      RemoveSorted(ref.node16(), byte);
      break;
    case TreeNodeKind::k48:
      Remove48(ref.node48(), byte);
      break;
    default: {
      TreeNode256* node = ref.node256();
      node->slots[byte] = 0;
      ClearBit(node->bitmap, byte);
    }
  }
  TreeNodeHeader* header = ref.header();
  header->children = header->children - 1;
}

TreeRef CopyTreeNode(TreeRef from, TreeNodeKind kind, void* block) {
  const TreeRef to = FormatTreeNode(block, kind, from.shift(), from.header()->prefix);
  for (Child child = NextChild(from, 0); child.byte < 256;
       child = NextChild(from, child.byte + 1)) {
    InsertChild(to, child.byte, *child.slot);
  }
  to.header()->keys = from.header()->keys;
  return to;
}

unsigned ChildrenBelow(TreeRef ref, unsigned byte) {
  switch (ref.kind()) {
    case TreeNodeKind::k4:
      return internal::RankIn(ref.node4()->bytes, ref.Children(), byte);
    case TreeNodeKind::k16:
      return internal::RankIn(ref.node16()->bytes, ref.Children(), byte);
    case TreeNodeKind::k48:
      return BitsBelow(ref.node48()->bitmap, byte);
    default:
      return BitsBelow(ref.node256()->bitmap, byte);
  }
}

}  // namespace eris::storage
