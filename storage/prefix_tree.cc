#include "storage/prefix_tree.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace eris::storage {

// The TreeNodes from the root to where a key is or belongs. links[i] is the word that refers to the
// i-th: the root's or a slot of the one above.
struct PrefixTree::Path {
  uint64_t* links[kLevelsMax + 1];
  unsigned depth = 0;

  TreeRef At(unsigned i) const { return TreeRef(*links[i]); }
  void AddKeys(int64_t keys) const {
    for (unsigned i = 0; i < depth; ++i) {
      TreeNodeHeader* header = At(i).header();
      header->keys = header->keys + static_cast<uint64_t>(keys);
    }
  }
};

Leaf* PrefixTree::NewLeaf(uint64_t key, uint64_t value) {
  void* block = Allocate(TreeNodeKind::kLeaf);
  return block == nullptr ? nullptr : new (block) Leaf{key, value};
}

std::optional<uint64_t> PrefixTree::Lookup(uint64_t key) const {
  TreeRef ref = root_;
  while (ref.IsTreeNode()) {
    const uint64_t* slot = FindSlot(ref, ref.Byte(key));
    if (slot == nullptr) return std::nullopt;
    if (ref.IsLastLevel()) {
      if (!ref.PrefixMatches(key)) return std::nullopt;
      return *slot;
    }
    ref = TreeRef(*slot);
  }
  if (ref.IsNone() || ref.leaf()->key != key) return std::nullopt;
  return ref.leaf()->value;
}

UpsertResult PrefixTree::Upsert(uint64_t key, uint64_t value) {
  uint64_t root = root_.word();
  Path path;
  uint64_t* link = &root;
  bool inserted = false;
  for (;;) {
    const TreeRef ref(*link);
    if (ref.IsNone()) {
      Leaf* leaf = NewLeaf(key, value);
      if (leaf != nullptr) *link = TreeRef::ToLeaf(leaf).word();
      inserted = leaf != nullptr;
      break;
    }
    if (ref.IsLeaf()) {
      const uint64_t difference = ref.leaf()->key ^ key;
      if (difference == 0) {
        ref.leaf()->value = value;
        return UpsertResult::kReplaced;
      }
      inserted = InsertBeside(link, difference, key, value);
      break;
    }
    const uint64_t difference = (ref.header()->prefix ^ key) & PrefixMask(ref.shift());
    if (difference != 0) {
      inserted = InsertBeside(link, difference, key, value);
      break;
    }
    path.links[path.depth++] = link;
    uint64_t* slot = FindSlot(ref, ref.Byte(key));
    if (slot == nullptr) {
      inserted = InsertInto(link, key, value);
      break;
    }
    if (ref.IsLastLevel()) {
      *slot = value;
      return UpsertResult::kReplaced;
    }
    link = slot;
  }
  if (!inserted) return UpsertResult::kNoMemory;
  path.AddKeys(1);
  root_ = TreeRef(root);
  return UpsertResult::kInserted;
}

bool PrefixTree::InsertBeside(uint64_t* link, uint64_t difference, uint64_t key, uint64_t value) {
  const TreeRef old(*link);
  const unsigned shift = ShiftOf(difference);
  void* block = Allocate(TreeNodeKind::k4);
  if (block == nullptr) return false;
  if (shift == kShiftLast) {  // two keys that differ in the last byte alone: their values move in
    const TreeRef node = FormatTreeNode(block, TreeNodeKind::k4, shift, key);
    const Leaf* leaf = old.leaf();
    InsertChild(node, ByteAt(leaf->key, shift), leaf->value);
    InsertChild(node, ByteAt(key, shift), value);
    node.header()->keys = 2;
    *link = node.word();
    Free(old);
    return true;
  }
  Leaf* leaf = NewLeaf(key, value);
  if (leaf == nullptr) {
    cache_->Free(block, BytesOf(TreeNodeKind::k4));
    return false;
  }
  const TreeRef node = FormatTreeNode(block, TreeNodeKind::k4, shift, key);
  InsertChild(node, ByteAt(key ^ difference, shift), old.word());
  InsertChild(node, ByteAt(key, shift), TreeRef::ToLeaf(leaf).word());
  node.header()->keys = old.Keys() + 1;
  *link = node.word();
  return true;
}

bool PrefixTree::InsertInto(uint64_t* link, uint64_t key, uint64_t value) {
  TreeRef ref(*link);
  void* block = nullptr;
  TreeNodeKind kind = ref.kind();
  if (ref.Children() == CapacityOf(kind)) {
    kind = KindFor(ref.Children() + 1);
    block = Allocate(kind);
    if (block == nullptr) return false;
  }
  uint64_t word = value;
  if (!ref.IsLastLevel()) {
    Leaf* leaf = NewLeaf(key, value);
    if (leaf == nullptr) {
      if (block != nullptr) cache_->Free(block, BytesOf(kind));
      return false;
    }
    word = TreeRef::ToLeaf(leaf).word();
  }
  if (block != nullptr) {
    const TreeRef grown = CopyTreeNode(ref, kind, block);
    Free(ref);
    *link = grown.word();
    ref = grown;
  } else if (cache_->Scattered(BytesOf(kind))) [[unlikely]] {
    ref = Gather(ref);
    *link = ref.word();
  }
  InsertChild(ref, ref.Byte(key), word);
  return true;
}

TreeRef PrefixTree::Gather(TreeRef ref) {
  const size_t bytes = BytesOf(ref.kind());
  void* block = cache_->AllocateToMove(ref.block(), bytes);
  if (block == nullptr) return ref;
  std::memcpy(block, ref.block(), bytes);
  cache_->FreeMoved(ref.block(), bytes);
  return TreeRef::To(block, ref.kind(), ref.shift());
}

bool PrefixTree::Erase(uint64_t key) {
  uint64_t root = root_.word();
  Path path;
  uint64_t* link = &root;
  for (;;) {
    const TreeRef ref(*link);
    if (ref.IsNone()) return false;
    if (ref.IsLeaf()) {
      if (ref.leaf()->key != key) return false;
      Free(ref);
      break;
    }
    uint64_t* slot = FindSlot(ref, ref.Byte(key));
    if (slot == nullptr) return false;
    path.links[path.depth++] = link;
    if (ref.IsLastLevel()) {
      if (!ref.PrefixMatches(key)) return false;
      break;
    }
    link = slot;
  }
  path.AddKeys(-1);
  bool gone = true;  // the child on the path is to be taken out of the TreeNode above it
  for (unsigned i = path.depth; gone && i-- > 0;) {
    const TreeRef ref = path.At(i);
    RemoveChild(ref, ref.Byte(key));
    const TreeRef settled = Settle(ref);
    *path.links[i] = settled.word();
    gone = settled.IsNone();
  }
  root_ = gone ? TreeRef() : TreeRef(root);
  return true;
}

TreeRef PrefixTree::Settle(TreeRef ref) {
  const unsigned children = ref.Children();
  if (children == 0) {
    Free(ref);
    return TreeRef();
  }
  if (children == 1) {
    const Child child = NextChild(ref, 0);
    if (!ref.IsLastLevel()) {
      const TreeRef last(*child.slot);
      Free(ref);
      return last;
    }
    Leaf* leaf = NewLeaf(ref.header()->prefix | child.byte, *child.slot);
    if (leaf == nullptr) return ref;
    Free(ref);
    return TreeRef::ToLeaf(leaf);
  }
  const TreeNodeKind kind = ShrunkKind(ref.kind(), children);
  if (kind == ref.kind()) {
    return cache_->Scattered(BytesOf(kind)) ? Gather(ref) : ref;
  }
  void* block = Allocate(kind);
  if (block == nullptr) return ref;
  const TreeRef shrunk = CopyTreeNode(ref, kind, block);
  Free(ref);
  return shrunk;
}

void PrefixTree::Clear() {
  FreeSubtree(root_);
  root_ = TreeRef();
}

void PrefixTree::FreeSubtree(TreeRef ref) {
  if (ref.IsNone()) return;
  if (ref.IsTreeNode() && !ref.IsLastLevel()) {
    for (Child child = NextChild(ref, 0); child.byte < 256;
         child = NextChild(ref, child.byte + 1)) {
      FreeSubtree(TreeRef(*child.slot));
    }
  }
  Free(ref);
}

void PrefixTree::Swap(PrefixTree& other) {
  ERIS_CHECK(cache_ == other.cache_);
  std::swap(root_, other.root_);
}

}  // namespace eris::storage
