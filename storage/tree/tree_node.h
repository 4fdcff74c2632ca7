// The building blocks of the adaptive prefix tree above its runs: TreeNodes that branch on one key
// byte, pages of values for dense keys, and the tagged word that refers to any of them or to a run
// (tree_run.h). Plain memory and pure functions: PrefixTree allocates. Single-threaded.
// Paper: ERIS 3.1 (prefix trees as partition structure).
//
// A child of a TreeNode covers an interval of bytes: from its own start to the start of the next
// one. So a run covers as many bytes as are needed to fill it, with sparse or dense keys, and a
// TreeNode does not need a child for every byte. A child that is a TreeNode or a page has keys of
// one byte of its interval.
//
// Every TreeNode holds its whole prefix (the key bytes above its own), not only the skipped part.
// So a lookup compares nothing on its way down: the run or page at the end decides whether the key
// exists. And split, absorb and collapse never rewrite a prefix.
#ifndef ERIS_STORAGE_TREE_TREE_NODE_H_
#define ERIS_STORAGE_TREE_TREE_NODE_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/cache_line.h"
#include "base/check.h"
#include "base/prefetch.h"

namespace eris::storage {

enum class TreeNodeKind : uint8_t {
  kNone = 0,
  kRun = 1,
  kPage = 2,
  k5 = 3,
  k12 = 4,
  k26 = 5,
  k48 = 6,
  k256 = 7
};

// The byte on which a TreeNode branches, as a right shift of the key: 56 (first byte) .. 0 (last
// byte).
inline constexpr unsigned kShiftFirst = 56;
inline constexpr unsigned kShiftLast = 0;
inline constexpr unsigned kLevelsMax = 8;

// The bits of a key above the byte at `shift`.
constexpr uint64_t PrefixMask(unsigned shift) { return (~uint64_t{0} << shift) << 8; }
// The shift of the first byte in which the two differ. REQUIRES: difference = a ^ b is not 0.
constexpr unsigned ShiftOf(uint64_t difference) {
  return (63u - static_cast<unsigned>(std::countl_zero(difference))) & ~7u;
}
constexpr unsigned ByteAt(uint64_t key, unsigned shift) { return (key >> shift) & 0xff; }

struct TreeRun;  // tree_run.h

// The header of every TreeNode and page. 16 bytes:
//   0        8                14    16
//   |prefix  |keys below it   |children|
// `prefix` has zeros at and below the TreeNode's own byte. `keys` makes size, split and absorb
// exact without a walk; it costs one increment per level and inserted key.
struct TreeNodeHeader {
  uint64_t prefix;
  uint64_t keys : 48;
  uint64_t children : 16;  // for a page: unused
};
static_assert(sizeof(TreeNodeHeader) == 16);

// TreeNodes of up to 48 children differ only in size:
//   0        16                 then, 8-aligned
//   |header  |starts[capacity]  |slots[capacity]  |    64, 128, 256, 448 bytes
// starts ascend, the first is 0; slots[i] is the word of the child that covers starts[i] up to
// starts[i + 1]. All starts lie in the block's first cache line.
//
// A TreeNode with 256 children, and a page, which has one value per last byte:
//   0        16           48      64                              2112
//   |header  |bitmap[4]   |  -    |slots[256]                     |
// In a TreeNode256 every slot of an interval has its child's word, so a descent reads only the
// slot; the bitmap has the starts. In a page the bitmap has the bytes of existing keys.
struct alignas(base::kCacheLineBytes) TreeNode256 {
  TreeNodeHeader header;
  uint64_t bitmap[4];
  alignas(base::kCacheLineBytes) uint64_t slots[256];
};
static_assert(sizeof(TreeNode256) == 2112);
using TreePage = TreeNode256;

// The number of children of a kind, its bytes, and the offset of its slots. Packed in words because
// the compiler would make a table of a switch: that would be on one NumaNode, and every descent
// would read it.
constexpr unsigned CapacityOf(TreeNodeKind kind) {
  constexpr uint64_t kCapacities = uint64_t{5} << 24 | uint64_t{12} << 32 | uint64_t{26} << 40 |
                                   uint64_t{48} << 48 | uint64_t{0} << 56;
  return kind == TreeNodeKind::k256
             ? 256
             : static_cast<unsigned>(kCapacities >> (8 * static_cast<unsigned>(kind)) & 0xff);
}
constexpr size_t BytesOf(TreeNodeKind kind) {
  constexpr uint64_t kLines = uint64_t{33} << 16 | uint64_t{1} << 24 | uint64_t{2} << 32 |
                              uint64_t{4} << 40 | uint64_t{7} << 48 | uint64_t{33} << 56;
  return (kLines >> (8 * static_cast<unsigned>(kind)) & 0xff) * base::kCacheLineBytes;
}
constexpr size_t SlotsAt(TreeNodeKind kind) {
  constexpr uint64_t kEighths = uint64_t{8} << 16 | uint64_t{3} << 24 | uint64_t{4} << 32 |
                                uint64_t{6} << 40 | uint64_t{8} << 48 | uint64_t{8} << 56;
  return (kEighths >> (8 * static_cast<unsigned>(kind)) & 0xff) * 8;
}
constexpr bool Fits(TreeNodeKind kind) {
  return sizeof(TreeNodeHeader) + CapacityOf(kind) <= SlotsAt(kind) &&
         SlotsAt(kind) + 8 * CapacityOf(kind) <= BytesOf(kind);
}
static_assert(Fits(TreeNodeKind::k5) && Fits(TreeNodeKind::k12) && Fits(TreeNodeKind::k26) &&
              Fits(TreeNodeKind::k48));
static_assert(BytesOf(TreeNodeKind::k256) == sizeof(TreeNode256));
static_assert(BytesOf(TreeNodeKind::kPage) == sizeof(TreePage));
static_assert(SlotsAt(TreeNodeKind::k256) == offsetof(TreeNode256, slots));

// Refers to a TreeNode, a page or a run, or to nothing. It has the kind and the shift (for a run:
// its cache lines), so a descent can access what it needs without reading the header first.
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

  uint64_t word() const { return word_; }
  TreeNodeKind kind() const { return static_cast<TreeNodeKind>(word_ & 15); }
  unsigned shift() const { return static_cast<unsigned>(word_ >> 56); }
  void* block() const { return reinterpret_cast<void*>(word_ & kAddressMask); }

  bool IsNone() const { return word_ == 0; }
  bool IsRun() const { return kind() == TreeNodeKind::kRun; }
  bool IsPage() const { return kind() == TreeNodeKind::kPage; }
  bool IsTreeNode() const { return kind() >= TreeNodeKind::k5; }
  unsigned Byte(uint64_t key) const { return ByteAt(key, shift()); }

  unsigned lines() const { return shift(); }  // REQUIRES: IsRun()
  TreeRun* run() const { return static_cast<TreeRun*>(block()); }
  TreePage* page() const { return static_cast<TreePage*>(block()); }
  TreeNodeHeader* header() const { return static_cast<TreeNodeHeader*>(block()); }
  TreeNode256* node256() const { return static_cast<TreeNode256*>(block()); }
  uint8_t* starts() const { return static_cast<uint8_t*>(block()) + sizeof(TreeNodeHeader); }
  uint64_t* slots() const {
    return reinterpret_cast<uint64_t*>(static_cast<char*>(block()) + SlotsAt(kind()));
  }

  size_t Bytes() const {  // of the block
    return IsRun() ? lines() * base::kCacheLineBytes : BytesOf(kind());
  }
  // Whether the key can be below this TreeNode or page.
  bool PrefixMatches(uint64_t key) const {
    return ((key ^ header()->prefix) & PrefixMask(shift())) == 0;
  }
  // The keys at or below it.
  uint64_t Keys() const;
  unsigned Children() const { return static_cast<unsigned>(header()->children); }

  friend bool operator==(TreeRef, TreeRef) = default;

 private:
  static constexpr uint64_t kAddressMask = 0x00fffffffffffff0;
  uint64_t word_ = 0;
};

// For others than runs only the first lines: the processor's own prefetching gets the rest.
inline void PrefetchBlock(TreeRef ref) {
  const auto* block = static_cast<const char*>(ref.block());
  const unsigned lines = ref.IsRun() ? ref.lines() : 4;
  for (unsigned i = 0; i < lines; ++i) base::Prefetch(block + i * base::kCacheLineBytes);
}

namespace internal {

inline bool TestBit(const uint64_t* bitmap, unsigned byte) {
  return (bitmap[byte >> 6] >> (byte & 63)) & 1;
}
inline void SetBit(uint64_t* bitmap, unsigned byte) {
  bitmap[byte >> 6] |= uint64_t{1} << (byte & 63);
}
inline void ClearBit(uint64_t* bitmap, unsigned byte) {
  bitmap[byte >> 6] &= ~(uint64_t{1} << (byte & 63));
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
// The last byte <= `from` whose bit is set. REQUIRES: there is one.
inline unsigned LastBit(const uint64_t* bitmap, unsigned from) {
  for (unsigned word = from >> 6;; --word, from = 63) {
    const uint64_t bits = bitmap[word] << (63 - (from & 63));
    if (bits != 0) {
      return word * 64 + (from & 63) - static_cast<unsigned>(std::countl_zero(bits));
    }
  }
}

// How many of the first `count` (1 .. 48) ascending starts are at most `byte`. Reads 16 bytes at a
// time.
inline unsigned StartsUpTo(const uint8_t* starts, unsigned count, unsigned byte) {
#ifdef __SSE2__
  const __m128i all = _mm_set1_epi8(static_cast<char>(byte));
  uint64_t up_to = 0;
  for (unsigned i = 0; i < count; i += 16) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(starts + i));
    const __m128i is = _mm_cmpeq_epi8(_mm_min_epu8(some, all), some);
    up_to |= uint64_t{static_cast<unsigned>(_mm_movemask_epi8(is))} << i;
  }
  return static_cast<unsigned>(std::countr_one(up_to & ((uint64_t{1} << count) - 1)));
#else
  unsigned rank = 0;
  while (rank < count && starts[rank] <= byte) ++rank;
  return rank;
#endif
}

}  // namespace internal

// The word of the child whose interval contains the byte. REQUIRES: a TreeNode with a child.
inline uint64_t* SlotOf(TreeRef ref, unsigned byte) {
  if (ref.kind() == TreeNodeKind::k256) return &ref.node256()->slots[byte];
  return ref.slots() + internal::StartsUpTo(ref.starts(), ref.Children(), byte) - 1;
}

struct Child {
  unsigned start = 256;      // 256: there is none
  uint64_t* slot = nullptr;  // its word; in a TreeNode256 the slot at its start
  TreeRef ref() const { return TreeRef(*slot); }
};

// ChildAt: the child whose interval contains the byte. NextChild: the first one that starts at
// `from` (0 .. 256) or later. PreviousChild: the last one that starts before `before`.
Child ChildAt(TreeRef ref, unsigned byte);
Child NextChild(TreeRef ref, unsigned from);
Child PreviousChild(TreeRef ref, unsigned before);

// A TreeNode's children in order, for the rarer changes.
struct ChildList {
  unsigned count = 0;
  uint16_t starts[257];
  uint64_t words[257];
  void Add(unsigned start, TreeRef ref) {
    starts[count] = static_cast<uint16_t>(start);
    words[count++] = ref.word();
  }
  // Adds the children that start in [from, to).
  void AddFrom(TreeRef ref, unsigned from, unsigned to);
};

// The smallest kind of TreeNode that holds `children` (1 .. 256).
TreeNodeKind KindFor(unsigned children);
// The kind to shrink to, or `kind` itself. Shrinks only some children below the smaller kind's
// capacity, so that a run that comes and goes does not make a TreeNode grow and shrink each time.
TreeNodeKind ShrunkKind(TreeNodeKind kind, unsigned children);

// Formats `block` (BytesOf(kind) bytes) as a TreeNode with the prefix of `key`, or as a page (shift
// 0) without values. header.keys is 0.
TreeRef FormatTreeNode(void* block, TreeNodeKind kind, unsigned shift, uint64_t key);
TreeRef FormatPage(void* block, uint64_t key);
// Replaces a TreeNode's children; the first one then starts at 0. Does not touch header.keys.
// REQUIRES: 1 <= list.count <= capacity.
void WriteChildren(TreeRef ref, const ChildList& list);
// Replaces the child whose interval contains the byte.
void ReplaceChild(TreeRef ref, unsigned byte, TreeRef child);
// Cuts the interval that contains `start`: from there on it belongs to the new child. Does not
// touch header.keys. REQUIRES: room for it, no child starts there.
void InsertChild(TreeRef ref, unsigned start, TreeRef child);
// Removes a child. Its interval goes to the child before it; that of the first one to the next.
// REQUIRES: a child starts there, and it is not the only one.
void RemoveChild(TreeRef ref, unsigned start);
// Moves the border between two children. REQUIRES: one starts at `start`; its new start is still
// between those of its neighbours.
void MoveStart(TreeRef ref, unsigned start, unsigned to);
// Copies prefix, keys and children into the block, as a TreeNode of another kind.
TreeRef CopyTreeNode(TreeRef from, TreeNodeKind kind, void* block);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_NODE_H_
