// A CSB+-tree over range starts (Rao and Ross), built once, as the paper's partition tables are. A
// TreeNode keeps its keys and the index of its first child only; its children stand side by side.
// Bench-local: the candidate that RangeTable's binary search is measured against.
#ifndef ERIS_BENCH_ROUTING_CSB_TREE_H_
#define ERIS_BENCH_ROUTING_CSB_TREE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cache_line.h"

namespace eris::bench {

enum class Compare {
  kScalar,  // adds the results of comparisons up, without a branch
  kAvx512,  // one comparison a cache line
};

// kLines: cache lines of a TreeNode, 1 (7 keys, 8 children) or 2 (15 keys, 16 children). A leaf's
// slots are all keys.
template <size_t kLines>
class CsbTree {
 public:
  static constexpr size_t kSlots = kLines * 8;
  static constexpr size_t kGroup = 32;  // keys that go down together

  // starts: ascending strictly, not empty, starts[0] == 0.
  explicit CsbTree(std::span<const uint64_t> starts) : size_(starts.size()) {
    // The leaves first, then level upon level; firsts are the smallest keys of a level's TreeNodes.
    std::vector<std::vector<TreeNode>> levels;
    std::vector<uint64_t> firsts;
    levels.emplace_back();
    for (size_t i = 0; i < starts.size(); i += kSlots) {
      TreeNode& leaf = levels.back().emplace_back();
      for (size_t j = 0; j < kSlots; ++j) {
        leaf.slots[j] = i + j < starts.size() ? starts[i + j] : UINT64_MAX;
      }
      firsts.push_back(starts[i]);
    }
    while (firsts.size() > 1) {
      std::vector<uint64_t> parents;
      levels.emplace_back();
      for (size_t i = 0; i < firsts.size(); i += kSlots) {
        TreeNode& inner = levels.back().emplace_back();
        for (size_t j = 1; j < kSlots; ++j) {
          inner.slots[j - 1] = i + j < firsts.size() ? firsts[i + j] : UINT64_MAX;
        }
        inner.slots[kSlots - 1] = i;  // within its level; made absolute below
        parents.push_back(firsts[i]);
      }
      firsts.swap(parents);
    }
    // Root first; the children of a level follow it at once.
    for (size_t level = levels.size(); level-- > 0;) {
      level_begin_.push_back(nodes_.size());
      nodes_.insert(nodes_.end(), levels[level].begin(), levels[level].end());
      level_end_.push_back(nodes_.size());
    }
    for (size_t level = 0; level + 1 < level_begin_.size(); ++level) {
      for (size_t i = level_begin_[level]; i < level_end_[level]; ++i) {
        nodes_[i].slots[kSlots - 1] += level_begin_[level + 1];
      }
    }
  }

  // partitions_out[i] is the partition that owns keys[i]. Level by level for kGroup keys at a time,
  // the next level's TreeNodes on their way while the others are searched.
  void PartitionsOf(std::span<const uint64_t> keys, std::span<uint32_t> partitions_out,
                    Compare compare) const {
#if defined(__x86_64__)
    if (compare == Compare::kAvx512) return PartitionsOfAvx512(keys, partitions_out);
#endif
    SearchAll(keys, partitions_out, [](const TreeNode& node, uint64_t key, bool leaf) {
      return RankScalar(node, key, leaf);
    });
  }

  static bool Supports(Compare compare) {
#if defined(__x86_64__)
    return compare == Compare::kScalar || __builtin_cpu_supports("avx512f");
#else
    return compare == Compare::kScalar;
#endif
  }

 private:
  struct alignas(base::kCacheLineBytes) TreeNode {
    uint64_t slots[kSlots];  // inner: keys, the first child's index in the last one; leaf: keys
  };

  // How many of the keys are at most `key`. Padding behind the last key counts for UINT64_MAX only,
  // which the caller's bounds take care of.
  static size_t RankScalar(const TreeNode& node, uint64_t key, bool leaf) {
    size_t rank = 0;
    for (size_t i = 0; i + 1 < kSlots; ++i) rank += node.slots[i] <= key;
    if (leaf) rank += node.slots[kSlots - 1] <= key;
    return rank;
  }

#if defined(__x86_64__)
  [[gnu::target("avx512f,popcnt")]] void PartitionsOfAvx512(
      std::span<const uint64_t> keys, std::span<uint32_t> partitions_out) const {
    uint32_t at[kGroup];
    for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
      const size_t count = std::min(kGroup, keys.size() - begin);
      std::fill_n(at, count, 0);
      for (size_t level = 0; level < level_begin_.size(); ++level) {
        const bool leaf = level + 1 == level_begin_.size();
        for (size_t i = 0; i < count; ++i) {
          const TreeNode& node = nodes_[at[i]];
          const __m512i key = _mm512_set1_epi64(static_cast<int64_t>(keys[begin + i]));
          uint32_t mask = 0;
          for (size_t line = 0; line < kLines; ++line) {
            mask |= uint32_t{_mm512_cmple_epu64_mask(_mm512_load_si512(&node.slots[line * 8]), key)}
                    << (line * 8);
          }
          if (!leaf) mask &= (1u << (kSlots - 1)) - 1;
          Step(level, static_cast<uint32_t>(std::popcount(mask)), node, at[i]);
        }
      }
      for (size_t i = 0; i < count; ++i) partitions_out[begin + i] = at[i];
    }
  }
#endif

  template <class Rank>
  void SearchAll(std::span<const uint64_t> keys, std::span<uint32_t> partitions_out,
                 Rank rank_of) const {
    uint32_t at[kGroup];
    for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
      const size_t count = std::min(kGroup, keys.size() - begin);
      std::fill_n(at, count, 0);
      for (size_t level = 0; level < level_begin_.size(); ++level) {
        const bool leaf = level + 1 == level_begin_.size();
        for (size_t i = 0; i < count; ++i) {
          const TreeNode& node = nodes_[at[i]];
          Step(level, static_cast<uint32_t>(rank_of(node, keys[begin + i], leaf)), node, at[i]);
        }
      }
      for (size_t i = 0; i < count; ++i) partitions_out[begin + i] = at[i];
    }
  }

  // From a TreeNode to the child, or on the last level to the partition.
  [[gnu::always_inline]] void Step(size_t level, uint32_t rank, const TreeNode& node,
                                   uint32_t& at) const {
    if (level + 1 < level_begin_.size()) {
      const size_t child =
          std::min<size_t>(node.slots[kSlots - 1] + rank, level_end_[level + 1] - 1);
      for (size_t line = 0; line < kLines; ++line)
        __builtin_prefetch(&nodes_[child].slots[line * 8]);
      at = static_cast<uint32_t>(child);
    } else {
      const size_t slot = (at - level_begin_[level]) * kSlots + rank - 1;
      at = static_cast<uint32_t>(std::min(slot, size_ - 1));
    }
  }

  // Immutable after construction.
  const size_t size_;
  std::vector<TreeNode> nodes_;
  std::vector<size_t> level_begin_;  // by level, the root's first
  std::vector<size_t> level_end_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_CSB_TREE_H_
