// The adaptive prefix tree: u64 keys in order, u64 values, 8-bit span, path compression. An index
// partition stands on it; TreeNodes and their layouts are in tree_node.h, ordered reading in
// tree_scanner.h. Single-threaded: no thread, no latch. Paper: ERIS 3.1.
//
// Every TreeNode carries the number of keys below it. It costs one increment per level and inserted
// key (never on a replaced value), on a line that the descent has read anyway, and it makes size()
// exact at once after a split in O(depth); counting at split time would walk the subtree, that is
// millions of cache misses within one AEU turn.
//
// No path is deeper than 8 TreeNodes, so recursion over the tree is bounded by that.
#ifndef ERIS_STORAGE_PREFIX_TREE_H_
#define ERIS_STORAGE_PREFIX_TREE_H_

#include <cstdint>
#include <optional>

#include "memory/local_cache.h"
#include "storage/tree_node.h"

namespace eris::storage {

// Keys that FindGroup advances together. Measured with bench/storage/prefix_tree_bench.cc at 16 M
// keys, groups of 8, 16, 32, 64, in M keys/s: dense 35, 54, 72, 97; sparse 13, 21, 27, 31.
inline constexpr uint32_t kFindGroupMax = 64;

enum class UpsertResult : uint8_t { kInserted, kReplaced, kNoMemory };

class PrefixTree {
 public:
  explicit PrefixTree(memory::LocalCache& cache) : cache_(&cache) {}  // outlives the tree
  ~PrefixTree() { Clear(); }
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  uint64_t size() const { return root_.Keys(); }  // O(1)
  bool empty() const { return root_.IsNone(); }
  memory::LocalCache& cache() const { return *cache_; }
  // For the walkers of this folder (tree_scanner.h, tree_check.h).
  TreeRef root() const { return root_; }

  // Stores key -> value. A value that is replaced needs no memory. kNoMemory: nothing has changed.
  [[nodiscard]] UpsertResult Upsert(uint64_t key, uint64_t value);
  // Never needs memory: where a smaller TreeNode cannot be had, the larger one stays.
  // True when the key was there.
  bool Erase(uint64_t key);
  std::optional<uint64_t> Lookup(uint64_t key) const;

  // Lookup of up to kFindGroupMax keys side by side: all advance one level at a time behind
  // prefetches, so that their cache misses overlap. values[i] is where the value of keys[i] stands,
  // for reading and replacing, nullptr where the key is not there; good until the next insert,
  // erase, split or absorb. Shapes: `count` keys and values; any order, duplicates allowed.
  void FindGroup(const uint64_t* keys, uint32_t count, uint64_t** values);

  // Moves every key >= `key` to `upper`, in O(depth): at most one new TreeNode per level, allocated
  // before anything changes. False for want of memory: nothing has changed.
  // REQUIRES: `upper` is empty and has the same cache.
  [[nodiscard]] bool SplitAt(uint64_t key, PrefixTree& upper);
  // Takes over every key of `other`, in O(depth): two trees of adjacent ranges share at most a
  // path. False for want of memory: nothing has changed. `other` is empty after success. REQUIRES:
  // the same cache; all keys of `other` lie below, or all above, the own ones.
  [[nodiscard]] bool Absorb(PrefixTree& other);

  // Frees every TreeNode and leaf, walking the tree.
  void Clear();
  // Forgets the content without walking or freeing: for an owner that drops the whole LocalCache
  // next, whose end takes the blocks along. The cache's used_bytes() is left as it was.
  void Abandon() { root_ = TreeRef(); }
  // Exchanges contents with a tree of the same cache.
  void Swap(PrefixTree& other);

 private:
  struct Path;
  struct Cut;
  struct CutPath;
  struct Joint;
  struct JointPath;

  // A TreeNode that is written anyway, moved if its kind lies scattered: a kind that the tree has
  // outgrown, or has few of after many erases, would keep its spans for good.
  TreeRef Gather(TreeRef ref);
  void* Allocate(TreeNodeKind kind) { return cache_->Allocate(BytesOf(kind)); }
  void Free(TreeRef ref) { cache_->Free(ref.block(), BytesOf(ref.kind())); }
  Leaf* NewLeaf(uint64_t key, uint64_t value);  // nullptr without memory
  void FreeSubtree(TreeRef ref);

  // The steps of Upsert: put a new key beside what `link` refers to, or into the TreeNode there.
  bool InsertBeside(uint64_t* link, uint64_t difference, uint64_t key, uint64_t value);
  bool InsertInto(uint64_t* link, uint64_t key, uint64_t value);
  // What shall stand in place of a TreeNode that has lost children: nothing, its last child, a
  // smaller TreeNode, or itself. Frees what it replaces.
  TreeRef Settle(TreeRef ref);

  bool ReserveCuts(uint64_t key, CutPath& path);
  void CutAt(const Cut& cut, TreeRef& lower, TreeRef& upper);
  bool ReserveJoints(TreeRef mine, TreeRef theirs, JointPath& path);
  TreeRef Join(const Joint& joint, uint64_t word);

  memory::LocalCache* cache_;
  // Through a word, as every slot is one: 0 for an empty tree.
  TreeRef root_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_PREFIX_TREE_H_
