// The building blocks of the adaptive prefix tree: TreeNodes of 4, 16, 48 and 256 children over one
// key byte each, leaves, and the tagged word that refers to either. Plain memory and pure
// functions: who allocates is PrefixTree. Single-threaded. Paper: ERIS 3.1 (prefix trees as
// partition structure); the adaptive sizes follow the Adaptive Radix Tree.
//
// Every TreeNode holds its whole prefix (the key bytes above its own), not only the skipped part.
// So a lookup need not compare on its way down - the last stop, a leaf or a last-level TreeNode,
// tells whether the key is there - and split, absorb and collapse never rewrite a prefix.
//
// The TreeNodes of the last byte ("last level") hold values in their slots in place of references:
// dense keys cost a little over 8 bytes each, and need no leaf. Keys alone under their last common
// byte stand in leaves of 16 bytes. Memory per key at 16 M keys, by size class: 8.3 bytes dense, 42
// bytes spread over 64 bits (bench/storage/prefix_tree_bench.cc prints it).
#ifndef ERIS_STORAGE_TREE_NODE_H_
#define ERIS_STORAGE_TREE_NODE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/cache_line.h"
#include "base/check.h"

namespace eris::storage {

enum class TreeNodeKind : uint8_t { kNone = 0, kLeaf = 1, k4 = 2, k16 = 3, k48 = 4, k256 = 5 };

// Which byte a TreeNode branches on, as a right shift of the key: 56 (first byte) .. 0 (last byte).
inline constexpr unsigned kShiftFirst = 56;
inline constexpr unsigned kShiftLast = 0;
inline constexpr unsigned kLevelsMax = 8;

// The bits of a key that lie above the byte at `shift`.
constexpr uint64_t PrefixMask(unsigned shift) { return (~uint64_t{0} << shift) << 8; }
// The shift of the first byte in which the two differ. REQUIRES: difference = a ^ b is not 0.
constexpr unsigned ShiftOf(uint64_t difference) {
  return (63u - static_cast<unsigned>(std::countl_zero(difference))) & ~7u;
}
constexpr unsigned ByteAt(uint64_t key, unsigned shift) { return (key >> shift) & 0xff; }

// One key and its value. 16 bytes:
//   0        8        16
//   |key     |value   |
struct Leaf {
  uint64_t key;
  uint64_t value;
};
static_assert(sizeof(Leaf) == 16);

// What every TreeNode begins with. 16 bytes:
//   0        8                14    16
//   |prefix  |keys below it   |children|
// `prefix` has zeros at and below the TreeNode's own byte. `keys` makes size, split and absorb
// exact without a walk, at one increment per level and inserted key.
struct TreeNodeHeader {
  uint64_t prefix;
  uint64_t keys : 48;
  uint64_t children : 16;
};
static_assert(sizeof(TreeNodeHeader) == 16);

// A slot is a TreeRef's word, or at the last level a value.
//
//   0        16       20       24                       56       64
//   |header  |bytes[4]|  -     |slots[4]                |  -     |     one cache line
// bytes ascend; bytes[i] leads to slots[i].
struct alignas(base::kCacheLineBytes) TreeNode4 {
  TreeNodeHeader header;
  uint8_t bytes[4];
  uint64_t slots[4];
};
static_assert(sizeof(TreeNode4) == 64);

//   0        16                32                        160      192
//   |header  |bytes[16]        |slots[16]                |  -     |
// bytes ascend, as above.
struct alignas(base::kCacheLineBytes) TreeNode16 {
  TreeNodeHeader header;
  uint8_t bytes[16];
  uint64_t slots[16];
};
static_assert(sizeof(TreeNode16) == 192);

//   0        16           48               304                   688    704
//   |header  |bitmap[4]   |index[256]      |slots[48]            |  -   |
// index[byte] is the byte's slot, kNoSlot without one; the slots in use are 0 .. children-1,
// unordered. The bitmap has a bit per byte that is there, for ordered walks.
struct alignas(base::kCacheLineBytes) TreeNode48 {
  static constexpr uint8_t kNoSlot = 0xff;
  TreeNodeHeader header;
  uint64_t bitmap[4];
  uint8_t index[256];
  uint64_t slots[48];
};
static_assert(sizeof(TreeNode48) == 704);

//   0        16           48      64                              2112
//   |header  |bitmap[4]   |  -    |slots[256]                     |
// An empty slot is 0 above the last level, so that a descent reads the slot alone; at the last
// level the bitmap tells, since 0 is a value there.
struct alignas(base::kCacheLineBytes) TreeNode256 {
  TreeNodeHeader header;
  uint64_t bitmap[4];
  alignas(base::kCacheLineBytes) uint64_t slots[256];
};
static_assert(sizeof(TreeNode256) == 2112);

// Refers to a TreeNode or a leaf, or to nothing. It carries kind and shift, so that a descent can
// touch the slot it needs without touching the header first.
//   63      56 55                                4 3    0
//   | shift   | address, 16-aligned               | kind |
class TreeRef {
 public:
  constexpr TreeRef() = default;
  constexpr explicit TreeRef(uint64_t word) : word_(word) {}
  static TreeRef To(const void* block, TreeNodeKind kind, unsigned shift) {
    const uint64_t address = reinterpret_cast<uintptr_t>(block);
    ERIS_DCHECK((address & ~kAddressMask) == 0);
    return TreeRef(uint64_t{shift} << 56 | address | static_cast<uint64_t>(kind));
  }
  static TreeRef ToLeaf(const Leaf* leaf) { return To(leaf, TreeNodeKind::kLeaf, 0); }

  uint64_t word() const { return word_; }
  TreeNodeKind kind() const { return static_cast<TreeNodeKind>(word_ & 15); }
  unsigned shift() const { return static_cast<unsigned>(word_ >> 56); }
  void* block() const { return reinterpret_cast<void*>(word_ & kAddressMask); }

  bool IsNone() const { return word_ == 0; }
  bool IsLeaf() const { return kind() == TreeNodeKind::kLeaf; }
  bool IsTreeNode() const { return kind() >= TreeNodeKind::k4; }
  bool IsLastLevel() const { return shift() == kShiftLast; }  // REQUIRES: IsTreeNode()
  unsigned Byte(uint64_t key) const { return ByteAt(key, shift()); }

  Leaf* leaf() const { return static_cast<Leaf*>(block()); }
  TreeNodeHeader* header() const { return static_cast<TreeNodeHeader*>(block()); }
  TreeNode4* node4() const { return static_cast<TreeNode4*>(block()); }
  TreeNode16* node16() const { return static_cast<TreeNode16*>(block()); }
  TreeNode48* node48() const { return static_cast<TreeNode48*>(block()); }
  TreeNode256* node256() const { return static_cast<TreeNode256*>(block()); }

  // Whether the key can be below this TreeNode.
  bool PrefixMatches(uint64_t key) const {
    return ((key ^ header()->prefix) & PrefixMask(shift())) == 0;
  }
  // Keys at or below.
  uint64_t Keys() const { return IsTreeNode() ? header()->keys : (IsLeaf() ? 1 : 0); }
  unsigned Children() const { return static_cast<unsigned>(header()->children); }

  friend bool operator==(TreeRef, TreeRef) = default;

 private:
  static constexpr uint64_t kAddressMask = 0x00fffffffffffff0;
  uint64_t word_ = 0;
};

// Children a kind holds, and the bytes of one. Packed in a word, since the compiler makes a table
// of a switch: that would lie on one NumaNode, and be read with every change of a tree.
constexpr unsigned CapacityOf(TreeNodeKind kind) {
  constexpr uint64_t kQuarters =
      uint64_t{1} << 16 | uint64_t{4} << 24 | uint64_t{12} << 32 | uint64_t{64} << 40;
  return static_cast<unsigned>(kQuarters >> (8 * static_cast<unsigned>(kind)) & 0xff) * 4;
}
constexpr size_t BytesOf(TreeNodeKind kind) {
  constexpr uint64_t kSixteenths =
      uint64_t{sizeof(Leaf) / 16} << 8 | uint64_t{sizeof(TreeNode4) / 16} << 16 |
      uint64_t{sizeof(TreeNode16) / 16} << 24 | uint64_t{sizeof(TreeNode48) / 16} << 32 |
      uint64_t{sizeof(TreeNode256) / 16} << 40;
  return (kSixteenths >> (8 * static_cast<unsigned>(kind)) & 0xff) * 16;
}
static_assert(BytesOf(TreeNodeKind::kNone) == 0 && BytesOf(TreeNodeKind::kLeaf) == sizeof(Leaf));
static_assert(BytesOf(TreeNodeKind::k4) == sizeof(TreeNode4) && CapacityOf(TreeNodeKind::k4) == 4);
static_assert(BytesOf(TreeNodeKind::k16) == sizeof(TreeNode16) &&
              CapacityOf(TreeNodeKind::k16) == 16);
static_assert(BytesOf(TreeNodeKind::k48) == sizeof(TreeNode48) &&
              CapacityOf(TreeNodeKind::k48) == 48);
static_assert(BytesOf(TreeNodeKind::k256) == sizeof(TreeNode256) &&
              CapacityOf(TreeNodeKind::k256) == 256);
// The smallest kind that holds `children` (1 .. 256).
TreeNodeKind KindFor(unsigned children);
// The kind to shrink to, or `kind` itself. Some children below the smaller kind's capacity, so that
// a key that comes and goes does not make a TreeNode grow and shrink each time.
TreeNodeKind ShrunkKind(TreeNodeKind kind, unsigned children);

// Makes an empty TreeNode out of `block` (BytesOf(kind) bytes).
TreeRef FormatTreeNode(void* block, TreeNodeKind kind, unsigned shift, uint64_t key);
// Adds a child; does not touch header.keys. REQUIRES: room for it; `byte` not there.
void InsertChild(TreeRef ref, unsigned byte, uint64_t word);
// REQUIRES: `byte` is there.
void RemoveChild(TreeRef ref, unsigned byte);
// Copies prefix, keys and children into the block, as a TreeNode of another kind.
TreeRef CopyTreeNode(TreeRef from, TreeNodeKind kind, void* block);
// How many children have a byte below `byte` (0 .. 256).
unsigned ChildrenBelow(TreeRef ref, unsigned byte);

namespace internal {

// A bit for each of the first `count` bytes that equals `byte`. Reads 16 (4) bytes.
inline unsigned Match16(const uint8_t* bytes, unsigned count, unsigned byte) {
#ifdef __SSE2__
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  const __m128i equal = _mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(byte)));
  return static_cast<unsigned>(_mm_movemask_epi8(equal)) & ((1u << count) - 1);
#else
  unsigned bits = 0;
  for (unsigned i = 0; i < count; ++i) bits |= static_cast<unsigned>(bytes[i] == byte) << i;
  return bits;
#endif
}

inline unsigned Match4(const uint8_t* bytes, unsigned count, unsigned byte) {
#ifdef __SSE2__
  int word;
  std::memcpy(&word, bytes, sizeof(word));
  const __m128i equal =
      _mm_cmpeq_epi8(_mm_cvtsi32_si128(word), _mm_set1_epi8(static_cast<char>(byte)));
  return static_cast<unsigned>(_mm_movemask_epi8(equal)) & ((1u << count) - 1);
#else
  unsigned bits = 0;
  for (unsigned i = 0; i < count; ++i) bits |= static_cast<unsigned>(bytes[i] == byte) << i;
  return bits;
#endif
}

// How many of the first `count` ascending bytes are below `byte` (0 .. 256).
inline unsigned RankIn(const uint8_t* bytes, unsigned count, unsigned byte) {
  unsigned rank = 0;
  while (rank < count && bytes[rank] < byte) ++rank;
  return rank;
}

inline bool TestBit(const uint64_t* bitmap, unsigned byte) {
  return (bitmap[byte >> 6] >> (byte & 63)) & 1;
}

// The first byte >= `from` whose bit is set, or 256.
inline unsigned NextBit(const uint64_t* bitmap, unsigned from) {
  while (from < 256) {
    const uint64_t rest = bitmap[from >> 6] >> (from & 63);
    if (rest != 0) return from + static_cast<unsigned>(std::countr_zero(rest));
    from = (from & ~63u) + 64;
  }
  return 256;
}

}  // namespace internal

// The slot of `byte`, or nullptr without a child there.
inline uint64_t* FindSlot(TreeRef ref, unsigned byte) {
  switch (ref.kind()) {
    case TreeNodeKind::k4: {
      TreeNode4* node = ref.node4();
      const unsigned match = internal::Match4(node->bytes, ref.Children(), byte);
      return match == 0 ? nullptr : &node->slots[std::countr_zero(match)];
    }
    case TreeNodeKind::k16: {
      TreeNode16* node = ref.node16();
      const unsigned match = internal::Match16(node->bytes, ref.Children(), byte);
      return match == 0 ? nullptr : &node->slots[std::countr_zero(match)];
    }
    case TreeNodeKind::k48: {
      TreeNode48* node = ref.node48();
      const uint8_t slot = node->index[byte];
      return slot == TreeNode48::kNoSlot ? nullptr : &node->slots[slot];
    }
    default: {
      TreeNode256* node = ref.node256();
      uint64_t* slot = &node->slots[byte];
      const bool there = ref.IsLastLevel() ? internal::TestBit(node->bitmap, byte) : *slot != 0;
      return there ? slot : nullptr;
    }
  }
}

struct Child {
  unsigned byte = 256;       // 256: there is none
  uint64_t* slot = nullptr;  // its word
};

// The first child with a byte >= `from` (0 .. 256).
inline Child NextChild(TreeRef ref, unsigned from) {
  switch (ref.kind()) {
    case TreeNodeKind::k4: {
      TreeNode4* node = ref.node4();
      const unsigned i = internal::RankIn(node->bytes, ref.Children(), from);
      if (i == ref.Children()) return {};
      return {node->bytes[i], &node->slots[i]};
    }
    case TreeNodeKind::k16: {
      TreeNode16* node = ref.node16();
      const unsigned i = internal::RankIn(node->bytes, ref.Children(), from);
      if (i == ref.Children()) return {};
      return {node->bytes[i], &node->slots[i]};
    }
    case TreeNodeKind::k48: {
      TreeNode48* node = ref.node48();
      const unsigned byte = internal::NextBit(node->bitmap, from);
      if (byte == 256) return {};
      return {byte, &node->slots[node->index[byte]]};
    }
    default: {
      TreeNode256* node = ref.node256();
      const unsigned byte = internal::NextBit(node->bitmap, from);
      if (byte == 256) return {};
      return {byte, &node->slots[byte]};
    }
  }
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_NODE_H_
