#include "storage/tree/tree_node.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "storage/tree/tree_run.h"

namespace eris::storage {
namespace {

// Loops, because memmove and memset are calls whose code reads tables.
void FillSlots(TreeNode256* node, unsigned from, unsigned to, uint64_t word) {
  for (unsigned byte = from; byte < to; ++byte) node->slots[byte] = word;
}

unsigned EndOf(const TreeNode256* node, unsigned start) {
  return internal::NextBit(node->bitmap, start + 1);
}

unsigned RankOf(TreeRef ref, unsigned byte) {
  return internal::StartsUpTo(ref.starts(), ref.Children(), byte) - 1;
}

}  // namespace

uint64_t TreeRef::Keys() const {
  if (IsNone()) return 0;
  return IsRun() ? run()->count : header()->keys;
}

Child ChildAt(TreeRef ref, unsigned byte) {
  if (ref.kind() == TreeNodeKind::k256) {
    const unsigned start = internal::LastBit(ref.node256()->bitmap, byte);
    return {start, &ref.node256()->slots[start]};
  }
  const unsigned rank = RankOf(ref, byte);
  return {ref.starts()[rank], ref.slots() + rank};
}

Child NextChild(TreeRef ref, unsigned from) {
  if (ref.kind() == TreeNodeKind::k256) {
    const unsigned start = internal::NextBit(ref.node256()->bitmap, from);
    if (start == 256) return {};
    return {start, &ref.node256()->slots[start]};
  }
  const unsigned rank = from == 0 ? 0 : RankOf(ref, from - 1) + 1;
  if (from > 255 || rank == ref.Children()) return {};
  return {ref.starts()[rank], ref.slots() + rank};
}

Child PreviousChild(TreeRef ref, unsigned before) {
  return before == 0 ? Child{} : ChildAt(ref, before - 1);
}

void ChildList::AddFrom(TreeRef ref, unsigned from, unsigned to) {
  for (Child child = NextChild(ref, from); child.start < to;
       child = NextChild(ref, child.start + 1)) {
    Add(child.start, child.ref());
  }
}

TreeNodeKind KindFor(unsigned children) {
  TreeNodeKind kind = TreeNodeKind::k5;
  while (CapacityOf(kind) < children) {
    kind = static_cast<TreeNodeKind>(static_cast<unsigned>(kind) + 1);
  }
  return kind;
}

TreeNodeKind ShrunkKind(TreeNodeKind kind, unsigned children) {
  // An eighth fewer than the smaller kind holds.
  const TreeNodeKind smaller = KindFor(std::min(children + children / 7 + 1, 256u));
  return std::min(kind, smaller);
}

TreeRef FormatTreeNode(void* block, TreeNodeKind kind, unsigned shift, uint64_t key) {
  new (block) TreeNodeHeader{key & PrefixMask(shift), 0, 0};
  return TreeRef::To(block, kind, shift);
}

TreeRef FormatPage(void* block, uint64_t key) {
  new (block) TreeNodeHeader{key & PrefixMask(kShiftLast), 0, 0};
  const TreeRef ref = TreeRef::To(block, TreeNodeKind::kPage, kShiftLast);
  for (uint64_t& word : ref.page()->bitmap) word = 0;
  return ref;
}

void WriteChildren(TreeRef ref, const ChildList& list) {
  ERIS_DCHECK(list.count >= 1 && list.count <= CapacityOf(ref.kind()));
  ref.header()->children = list.count;
  if (ref.kind() == TreeNodeKind::k256) {
    TreeNode256* node = ref.node256();
    for (uint64_t& word : node->bitmap) word = 0;
    for (unsigned i = 0; i < list.count; ++i) {
      const unsigned start = i == 0 ? 0 : list.starts[i];
      internal::SetBit(node->bitmap, start);
      FillSlots(node, start, i + 1 == list.count ? 256 : list.starts[i + 1], list.words[i]);
    }
    return;
  }
  for (unsigned i = 0; i < list.count; ++i) {
    ref.starts()[i] = static_cast<uint8_t>(i == 0 ? 0 : list.starts[i]);
    ref.slots()[i] = list.words[i];
  }
}

void ReplaceChild(TreeRef ref, unsigned byte, TreeRef child) {
  if (ref.kind() != TreeNodeKind::k256) {
    *SlotOf(ref, byte) = child.word();
    return;
  }
  TreeNode256* node = ref.node256();
  const unsigned start = internal::LastBit(node->bitmap, byte);
  FillSlots(node, start, EndOf(node, start), child.word());
}

void InsertChild(TreeRef ref, unsigned start, TreeRef child) {
  const unsigned children = ref.Children();
  ERIS_DCHECK(children < CapacityOf(ref.kind()));
  ref.header()->children = children + 1;
  if (ref.kind() == TreeNodeKind::k256) {
    TreeNode256* node = ref.node256();
    ERIS_DCHECK(!internal::TestBit(node->bitmap, start));
    internal::SetBit(node->bitmap, start);
    FillSlots(node, start, EndOf(node, start), child.word());
    return;
  }
  uint8_t* starts = ref.starts();
  uint64_t* slots = ref.slots();
  unsigned i = children;
  for (; i > 0 && starts[i - 1] > start; --i) {
    starts[i] = starts[i - 1];
    slots[i] = slots[i - 1];
  }
  ERIS_DCHECK(i > 0 && starts[i - 1] < start);
  starts[i] = static_cast<uint8_t>(start);
  slots[i] = child.word();
}

void RemoveChild(TreeRef ref, unsigned start) {
  const unsigned children = ref.Children();
  ERIS_DCHECK(children > 1);
  if (ref.kind() == TreeNodeKind::k256) {
    TreeNode256* node = ref.node256();
    const unsigned end = EndOf(node, start);
    if (start == 0) {
      internal::ClearBit(node->bitmap, end);
      FillSlots(node, 0, end, node->slots[end]);
    } else {
      internal::ClearBit(node->bitmap, start);
      FillSlots(node, start, end, node->slots[start - 1]);
    }
  } else {
    uint8_t* starts = ref.starts();
    uint64_t* slots = ref.slots();
    for (unsigned i = RankOf(ref, start); i + 1 < children; ++i) {
      starts[i] = starts[i + 1];
      slots[i] = slots[i + 1];
    }
    starts[0] = 0;
  }
  ref.header()->children = children - 1;
}

void MoveStart(TreeRef ref, unsigned start, unsigned to) {
  ERIS_DCHECK(start != 0 && to != 0);
  if (ref.kind() != TreeNodeKind::k256) {
    ref.starts()[RankOf(ref, start)] = static_cast<uint8_t>(to);
    return;
  }
  TreeNode256* node = ref.node256();
  const uint64_t word = node->slots[start];
  const uint64_t before = node->slots[start - 1];
  internal::ClearBit(node->bitmap, start);
  internal::SetBit(node->bitmap, to);
  if (to < start) {
    FillSlots(node, to, start, word);
  } else {
    FillSlots(node, start, to, before);
  }
}

TreeRef CopyTreeNode(TreeRef from, TreeNodeKind kind, void* block) {
  const TreeRef copy = FormatTreeNode(block, kind, from.shift(), from.header()->prefix);
  copy.header()->keys = from.header()->keys;
  ChildList list;
  list.AddFrom(from, 0, 256);
  WriteChildren(copy, list);
  return copy;
}

}  // namespace eris::storage
