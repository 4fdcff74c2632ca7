// A CSB+-tree over range starts: finds the ranges of batches of keys. It is built once, with full
// TreeNodes, because a partition table's version is immutable. RangeTable has one when it is large.
// Any thread may search. Paper: ERIS 3.2, 4 (after Rao and Ross).
//
// A TreeNode is one cache line of keys; its children are adjacent. Every TreeNode is full, so the
// first child's place follows from the TreeNode's own place. The one pointer of a CSB+-tree is not
// needed, and its place holds another key: 8 keys, 9 children. Each start but the first is in
// exactly one TreeNode: 8 bytes per range.
#ifndef ERIS_ROUTING_CSB_TREE_H_
#define ERIS_ROUTING_CSB_TREE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cache_line.h"

namespace eris::routing {

class CsbTree {
 public:
  enum class Compare {
    kScalar,  // adds up the results of 8 comparisons, without a branch
    kAvx512,  // one comparison per TreeNode
  };
  static constexpr size_t kKeys = base::kCacheLineBytes / sizeof(uint64_t);
  static constexpr size_t kChildren = kKeys + 1;

  // REQUIRES: starts not empty, ascending strictly, starts[0] == 0, at most 2^32 of them.
  // `starts` is not used after the call.
  explicit CsbTree(std::span<const uint64_t> starts);

  // partitions_out[i] is the range that contains keys[i]: the last one whose start is not above it.
  // Equal lengths. O(log9 ranges) cache lines per key; fetches those of kGroup keys at a time.
  // REQUIRES: Supports(compare).
  void PartitionsOf(std::span<const uint64_t> keys, std::span<uint32_t> partitions_out,
                    Compare compare = Best()) const;

  // What this machine's processor supports, and the fastest supported one.
  static bool Supports(Compare compare);
  static Compare Best();

  size_t bytes() const { return tree_nodes_.size() * sizeof(TreeNode); }

 private:
  // Keys that descend together: enough to hide a load from the next cache.
  static constexpr size_t kGroup = 32;

  // keys[i] is the last key below child i + 1, so "key above keys[i]" counts the children to the
  // left. Padding is the highest possible key, which no key exceeds.
  struct alignas(base::kCacheLineBytes) TreeNode {
    uint64_t keys[kKeys];
  };

  void SearchScalar(std::span<const uint64_t> keys, uint32_t* partitions_out) const;
  void SearchAvx512(std::span<const uint64_t> keys, uint32_t* partitions_out) const;

  // Immutable after construction.
  std::vector<TreeNode> tree_nodes_;  // the root, then level by level
  std::vector<size_t> level_begin_;   // by level, the root's first
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_CSB_TREE_H_
