#include "routing/ranges/csb_tree.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace eris::routing {

CsbTree::CsbTree(std::span<const uint64_t> starts) {
  ERIS_CHECK(!starts.empty());
  ERIS_CHECK(starts.size() <= uint64_t{1} << 32);
  // ranges_below[l]: how many ranges a child at level l covers; leaves first, then reversed.
  std::vector<size_t> ranges_below{1};
  while (ranges_below.back() * kChildren < starts.size()) {
    ranges_below.push_back(ranges_below.back() * kChildren);
  }
  std::reverse(ranges_below.begin(), ranges_below.end());
  for (const size_t below : ranges_below) {
    level_begin_.push_back(tree_nodes_.size());
    for (size_t first = 0; first < starts.size(); first += below * kChildren) {
      TreeNode& tree_node = tree_nodes_.emplace_back();
      for (size_t i = 0; i < kKeys; ++i) {
        const size_t right = first + (i + 1) * below;
        tree_node.keys[i] = right < starts.size() ? starts[right] - 1 : UINT64_MAX;
      }
    }
  }
}

bool CsbTree::Supports(Compare compare) {
#if defined(__x86_64__)
  return compare == Compare::kScalar || __builtin_cpu_supports("avx512f");
#else
  return compare == Compare::kScalar;
#endif
}

CsbTree::Compare CsbTree::Best() {
  static const Compare best = Supports(Compare::kAvx512) ? Compare::kAvx512 : Compare::kScalar;
  return best;
}

void CsbTree::PartitionsOf(std::span<const uint64_t> keys, std::span<uint32_t> partitions_out,
                           Compare compare) const {
  ERIS_DCHECK(keys.size() == partitions_out.size());
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const auto group = keys.subspan(begin, std::min(kGroup, keys.size() - begin));
    if (compare == Compare::kAvx512) {
      SearchAvx512(group, &partitions_out[begin]);
    } else {
      SearchScalar(group, &partitions_out[begin]);
    }
  }
}

// Both descend level by level. out[i] is key i's place within the level and, after the last one,
// its range. The TreeNodes of the next level are fetched while the other keys are searched.

void CsbTree::SearchScalar(std::span<const uint64_t> keys, uint32_t* out) const {
  std::fill_n(out, keys.size(), 0);
  for (size_t level = 0; level < level_begin_.size(); ++level) {
    const TreeNode* const here = &tree_nodes_[level_begin_[level]];
    const TreeNode* const below =
        level + 1 < level_begin_.size() ? &tree_nodes_[level_begin_[level + 1]] : nullptr;
    for (size_t i = 0; i < keys.size(); ++i) {
      uint32_t left = 0;
      for (const uint64_t key : here[out[i]].keys) left += key < keys[i];
      out[i] = out[i] * uint32_t{kChildren} + left;
      if (below != nullptr) __builtin_prefetch(&below[out[i]]);
    }
  }
}

#if defined(__x86_64__)
[[gnu::target("avx512f,popcnt")]] void CsbTree::SearchAvx512(std::span<const uint64_t> keys,
                                                             uint32_t* out) const {
  std::fill_n(out, keys.size(), 0);
  for (size_t level = 0; level < level_begin_.size(); ++level) {
    const TreeNode* const here = &tree_nodes_[level_begin_[level]];
    const TreeNode* const below =
        level + 1 < level_begin_.size() ? &tree_nodes_[level_begin_[level + 1]] : nullptr;
    for (size_t i = 0; i < keys.size(); ++i) {
      const __m512i key = _mm512_set1_epi64(static_cast<int64_t>(keys[i]));
      const uint32_t above = _mm512_cmplt_epu64_mask(_mm512_load_si512(here[out[i]].keys), key);
      out[i] = out[i] * uint32_t{kChildren} + static_cast<uint32_t>(std::popcount(above));
      if (below != nullptr) __builtin_prefetch(&below[out[i]]);
    }
  }
}
#else
void CsbTree::SearchAvx512(std::span<const uint64_t>, uint32_t*) const { ERIS_CHECK(false); }
#endif

}  // namespace eris::routing
