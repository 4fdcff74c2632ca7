// A group: the rows of a two-part index that share the first part of their keys. A partition keeps
// one word for each (two_part_partition.h). This file has the format of the word and the operations
// on one group. Blocks and trees are allocated from the partition's own cache. Single-threaded.
// Paper: ERIS 3.1.
//
// Up to 32 rows are a block. It has no header, because the word has the numbers:
//   word    63      59 58         54 53                     4 3 2   0
//           | rows - 1 | capacity - 1 | address, 16-aligned |1|  0  |
//   block   |seconds[capacity], the first `rows` ascend |values[capacity]|
// A block has exactly the rows it needs; each size is a size class of its own. An insert copies up
// to 512 bytes, which takes less time than the cache misses on the way to the block. It has columns
// instead of pairs: a search reads only the seconds, and a scan copies both columns as they are.
//
// More rows are a prefix tree by second part; the word is the TreeRef of its root, whose kind has
// no bit 3. It becomes a block again when the rows fill only half a block.
//
// 0 is the word of a group without rows: its last one has just been erased.
#ifndef ERIS_STORAGE_INDEX_TWO_PART_GROUP_H_
#define ERIS_STORAGE_INDEX_TWO_PART_GROUP_H_

#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "base/check.h"
#include "base/prefetch.h"
#include "memory/local_cache.h"
#include "storage/home_work.h"
#include "storage/tree/prefix_tree.h"
#include "storage/tree/tree_node.h"

namespace eris::storage {

inline constexpr unsigned kGroupBlockRowsMax = 32;
inline constexpr unsigned kGroupTreeRowsLeft = kGroupBlockRowsMax / 2;

class TwoPartGroup {
 public:
  constexpr explicit TwoPartGroup(uint64_t word) : word_(word) {}
  // REQUIRES: 1 <= rows <= capacity <= kGroupBlockRowsMax.
  static TwoPartGroup OfBlock(const void* block, unsigned rows, unsigned capacity) {
    const uint64_t address = reinterpret_cast<uintptr_t>(block);
    ERIS_DCHECK((address & ~kAddressMask) == 0);
    return TwoPartGroup(uint64_t{rows - 1} << kRowsShift |
                        uint64_t{capacity - 1} << kCapacityShift | address | kBlockMark);
  }

  uint64_t word() const { return word_; }
  bool IsNone() const { return word_ == 0; }
  bool IsBlock() const { return (word_ & kBlockMark) != 0; }
  bool IsTree() const { return !IsNone() && !IsBlock(); }
  uint64_t Rows() const { return IsBlock() ? rows() : root().Keys(); }

  TreeRef root() const { return TreeRef(word_); }  // REQUIRES: !IsBlock()

  // REQUIRES, for everything below: IsBlock().
  unsigned rows() const { return static_cast<unsigned>(word_ >> kRowsShift) + 1; }
  unsigned capacity() const {
    return static_cast<unsigned>(word_ >> kCapacityShift) % kGroupBlockRowsMax + 1;
  }
  uint64_t* seconds() const { return reinterpret_cast<uint64_t*>(word_ & kAddressMask); }
  uint64_t* values() const { return seconds() + capacity(); }
  size_t Bytes() const { return BytesFor(capacity()); }
  static constexpr size_t BytesFor(unsigned capacity) { return capacity * 2 * sizeof(uint64_t); }
  // The number of rows below `second`. Branch-free comparisons.
  unsigned LowerBound(uint64_t second) const {
    const uint64_t* const all = seconds();
    const unsigned count = rows();
    unsigned below = 0;
    for (unsigned i = 0; i < count; ++i) below += all[i] < second;
    return below;
  }
  // The location of the row's value, or nullptr.
  uint64_t* FindInBlock(uint64_t second) const {
    const unsigned at = LowerBound(second);
    return at < rows() && seconds()[at] == second ? values() + at : nullptr;
  }
  // Fetches what a lookup (with `to_copy`: a write's copy) will read, except the values of a larger
  // block.
  void PrefetchBlock(bool to_copy) const {
    const auto* const begin = reinterpret_cast<const char*>(seconds());
    const size_t bytes = to_copy || capacity() <= kSmallRows ? Bytes() : Bytes() / 2;
    // If a block is not a multiple of a line, its last byte may be one line further.
    for (size_t at = 0; at < bytes; at += base::kCacheLineBytes) base::Prefetch(begin + at);
    base::Prefetch(begin + bytes - 1);
  }
  bool IsSmallBlock() const { return capacity() <= kSmallRows; }

 private:
  static constexpr unsigned kRowsShift = 59;
  static constexpr unsigned kCapacityShift = 54;
  static constexpr uint64_t kBlockMark = 8;
  static constexpr uint64_t kAddressMask = (uint64_t{1} << kCapacityShift) - 16;
  static constexpr unsigned kSmallRows = 8;  // two lines
  static_assert(kGroupBlockRowsMax == 1u << (kRowsShift - kCapacityShift));
  static_assert(static_cast<uint64_t>(TreeNodeKind::k256) < kBlockMark);

  uint64_t word_;
};

// The weight of a group in the partition's tree: 1 row or more.
inline uint64_t GroupRows(uint64_t word) { return TwoPartGroup(word).Rows(); }

// The tree of a group, borrowed from its word for this object's lifetime. REQUIRES: the word is a
// tree's, or 0.
class GroupTree {
 public:
  GroupTree(memory::LocalCache& cache, uint64_t& word) : word_(word), tree_(cache, TreeRef(word)) {}
  ~GroupTree() { word_ = tree_.Release().word(); }
  GroupTree(const GroupTree&) = delete;
  GroupTree& operator=(const GroupTree&) = delete;
  PrefixTree* operator->() { return &tree_; }
  PrefixTree& operator*() { return tree_; }

 private:
  uint64_t& word_;
  PrefixTree tree_;
};

// A group of ascending seconds; 0 if there is no memory. REQUIRES: count >= 1.
[[nodiscard]] uint64_t NewGroup(memory::LocalCache& cache, const uint64_t* seconds,
                                const uint64_t* values, size_t count);
void FreeGroup(memory::LocalCache& cache, uint64_t word);
// Frees the groups of several words; returns how many rows they had.
uint64_t FreeGroups(memory::LocalCache& cache, const uint64_t* words, uint32_t count);
// Moves a group's memory as HomeWork::Move, from its row work.next_second on. False: the work is
// spent before its end. (PrefixTree::MoveValue)
bool BringGroup(memory::LocalCache& cache, uint64_t& word, HomeWork& work);
// The location of the row's value, for reading and replacing until the group changes, or nullptr.
uint64_t* FindRow(memory::LocalCache& cache, uint64_t word, uint64_t second);
// False: no memory, and nothing has changed. REQUIRES: the row is absent.
[[nodiscard]] bool AddRow(memory::LocalCache& cache, uint64_t& word, uint64_t second,
                          uint64_t value);
// Never needs memory: if a smaller block cannot be allocated, the larger one stays. True if the row
// was there; the word is 0 after the last one.
bool EraseRow(memory::LocalCache& cache, uint64_t& word, uint64_t second);
// Rows from `first` to `last`, both included. O(depth). REQUIRES: first <= last.
uint64_t CountRows(memory::LocalCache& cache, uint64_t word, uint64_t first, uint64_t last);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_INDEX_TWO_PART_GROUP_H_
