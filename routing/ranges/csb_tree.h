// A CSB+-tree over range starts: which range holds a key, for batches of keys. Built once and full,
// as a partition table's version is immutable. RangeTable has one when it is large. Any thread may
// search. Paper: ERIS 3.2, 4 (after Rao and Ross).
//
// A TreeNode is one cache line of keys; its children stand side by side. As every TreeNode is full,
// the first child's place follows from the TreeNode's own, so even the one pointer that a CSB+-tree
// keeps is a key here: 8 keys, 9 children. Each start but the first stands in exactly one TreeNode:
// 8 bytes a range.
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
    kScalar,  // adds the results of 8 comparisons up, without a branch
    kAvx512,  // one comparison a TreeNode
  };
  static constexpr size_t kKeys = base::kCacheLineBytes / sizeof(uint64_t);
  static constexpr size_t kChildren = kKeys + 1;

  // REQUIRES: starts not empty, ascending strictly, starts[0] == 0, at most 2^32 of them.
  // `starts` is not used after the call.
  explicit CsbTree(std::span<const uint64_t> starts);

  // partitions_out[i] is the range that holds keys[i], the last one whose start is not above it.
  // Equal lengths. O(log9 ranges) cache lines a key, those of kGroup keys on their way at a time.
  // REQUIRES: Supports(compare).
  void PartitionsOf(std::span<const uint64_t> keys, std::span<uint32_t> partitions_out,
                    Compare compare = Best()) const;

  // What this machine's processor can do, and the fastest of it.
  static bool Supports(Compare compare);
  static Compare Best();

  size_t bytes() const { return tree_nodes_.size() * sizeof(TreeNode); }

 private:
  // Keys that go down together: enough to hide a load from the next cache.
  static constexpr size_t kGroup = 32;

  // keys[i] is the last key below child i + 1, so that "key above keys[i]" counts the children to
  // the left; padding, the highest key there is, is above none.
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
