// The adaptive prefix tree: u64 keys in order, u64 values, 8-bit span, path compression, and a
// lowest level of small runs. An index partition stands on it; TreeNodes are in tree_node.h, runs
// in tree_run.h, ordered reading in tree_scanner.h. Single-threaded: no thread, no latch. Paper:
// ERIS 3.1.
//
//   TreeNode -> TreeNode -> run of up to 56 pairs      keys that lie apart
//                       `-> page of 256 values         keys that differ in the last byte only
//
// Every TreeNode carries the number of keys below it. It costs one increment per level and inserted
// key (never on a replaced value), on a line that the descent has read anyway, and it makes size()
// exact at once after a split in O(depth); counting at split time would walk the subtree, that is
// millions of cache misses within one AEU turn.
//
// A value may count as more than one (PrefixTree::Weight): of a tree whose values stand for groups
// of rows, that number is of rows.
//
// No path is deeper than 8 TreeNodes, so recursion over the tree is bounded by that.
#ifndef ERIS_STORAGE_TREE_PREFIX_TREE_H_
#define ERIS_STORAGE_TREE_PREFIX_TREE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "memory/local_cache.h"
#include "storage/tree/tree_node.h"
#include "storage/tree/tree_run.h"

namespace eris::storage {

// Keys that FindGroup advances together. At 16 M keys, groups of 16, 32, 64, 128, in M keys/s:
// dense 54, 80, 103, 111; sparse 23, 36, 53, 56 (bench/index).
inline constexpr uint32_t kFindGroupMax = 128;

enum class UpsertResult : uint8_t { kInserted, kReplaced, kNoMemory };

class PrefixTree {
 public:
  // What a key counts as, told by its value: 1 or more, and 1 of a value that is new or the last to
  // go. nullptr: each counts 1.
  using Weight = uint64_t (*)(uint64_t value);
  // Frees what `count` values refer to, and answers how many rows they were; of values that took
  // long to free, how many rows would have taken as long. nullptr: values refer to nothing, and are
  // one row each.
  using FreeValues = uint64_t (*)(memory::LocalCache& cache, const uint64_t* values,
                                  uint32_t count);

  // `cache` outlives the tree.
  explicit PrefixTree(memory::LocalCache& cache, Weight value_weight = nullptr)
      : cache_(&cache), weight_(value_weight) {}
  // Takes over what another tree of the cache, whose keys count 1, has released.
  PrefixTree(memory::LocalCache& cache, TreeRef root)
      : cache_(&cache), weight_(nullptr), root_(root) {}
  ~PrefixTree() { Clear(); }
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // O(1): what the keys count as together.
  uint64_t size() const { return KeysOf(root_); }
  bool empty() const { return root_.IsNone(); }
  memory::LocalCache& cache() const { return *cache_; }
  // From now on memory comes from `cache`; blocks that came from others of its manager go home when
  // they are freed.
  void Rehome(memory::LocalCache& cache) { cache_ = &cache; }
  // For the walkers of this folder (tree_scanner.h, tree_check.h).
  TreeRef root() const { return root_; }
  Weight weight() const { return weight_; }
  // What the keys at or below count as: a number in a header; of a run with weights, a sum.
  uint64_t KeysOf(TreeRef ref) const {
    return weight_ == nullptr || !ref.IsRun() ? ref.Keys() : RunWeight(ref);
  }
  uint64_t WeightOf(uint64_t value) const { return weight_ == nullptr ? 1 : weight_(value); }

  // Stores key -> value. A value that is replaced needs no memory. kNoMemory: nothing has changed.
  [[nodiscard]] UpsertResult Upsert(uint64_t key, uint64_t value);
  // Stores key -> value if the key is new. Else `there` is where its value stands, for reading and
  // replacing, until the next change of the tree; nullptr if it is new. False: no memory, nothing
  // has changed.
  [[nodiscard]] bool InsertIfAbsent(uint64_t key, uint64_t value, uint64_t*& there);
  // Says that the value of `key`, which is there, has come to count as `by` more.
  void Reweigh(uint64_t key, int64_t by);
  // Never needs memory: where a smaller TreeNode cannot be had, the larger one stays.
  // True when the key was there.
  bool Erase(uint64_t key);
  std::optional<uint64_t> Lookup(uint64_t key) const {
    const uint64_t* const value = Find(key);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  // One key, alone: where its value stands, as FindGroup says.
  uint64_t* Find(uint64_t key) const;

  // Lookup of up to kFindGroupMax keys side by side: all advance one level at a time behind
  // prefetches, so that their cache misses overlap. values[i] is where the value of keys[i] stands,
  // for reading and replacing, nullptr where the key is not there; good until the next insert,
  // erase, split, absorb or scan. Shapes: `count` keys and values; any order, duplicates allowed.
  // kInsert also fetches what an insert of the absent keys will touch.
  enum class Purpose : uint8_t { kRead, kInsert };
  void FindGroup(const uint64_t* keys, uint32_t count, uint64_t** values,
                 Purpose purpose = Purpose::kRead);
  // The same, of keys[i] in the tree that begins at roots[i] (which may be none).
  static void FindInTrees(const TreeRef* roots, const uint64_t* keys, uint32_t count,
                          uint64_t** values, Purpose purpose = Purpose::kRead);

  // Fills an empty tree with ascending keys, faster and denser than inserts in a row. False for
  // want of memory: it is still empty. REQUIRES: empty(); equal lengths; keys ascend strictly.
  [[nodiscard]] bool Build(const uint64_t* keys, const uint64_t* values, size_t count);

  // Moves every key >= `key` to `upper`, in O(depth): at most one new TreeNode per level, allocated
  // before anything changes. False for want of memory: nothing has changed.
  // REQUIRES: `upper` is empty and has the same cache.
  [[nodiscard]] bool SplitAt(uint64_t key, PrefixTree& upper);
  // Takes over every key of `other`, in O(depth): two trees of adjacent ranges share at most a
  // path. False for want of memory: nothing has changed. `other` is empty after success. REQUIRES:
  // the same cache; all keys of `other` lie below, or all above, the own ones.
  [[nodiscard]] bool Absorb(PrefixTree& other);

  // Frees every block, walking the tree.
  void Clear();
  // Frees about `rows_max` rows, lower runs before higher ones, with what their values refer to: of
  // rows without such values whole runs and pages. Never needs memory. How many of rows_max were
  // not needed; negative, if more were freed. The tree counts its keys no more: it is good for
  // Release, FreeRows and Clear only.
  int64_t FreeRows(int64_t rows_max, FreeValues free_values);
  // Forgets the content without walking or freeing: for an owner that drops the whole LocalCache
  // next, whose end takes the blocks along. The cache's used_bytes() is left as it was.
  void Abandon() { root_ = TreeRef(); }
  // Gives all blocks up to whoever keeps the reference: for trees too many for an object each.
  [[nodiscard]] TreeRef Release() { return std::exchange(root_, TreeRef()); }
  // Exchanges contents with a tree of the same cache and weight.
  void Swap(PrefixTree& other);

 private:
  struct Path;
  struct Cut;
  struct CutPath;
  struct Joint;
  struct JointPath;

  uint64_t RunWeight(TreeRef run) const;
  uint64_t WeightOf(const uint64_t* values, size_t count) const;
  // How many keys a page has, whatever they count as.
  uint64_t PageKeys(const TreePage* page) const;

  // A block that is written anyway, moved if its size lies scattered: a kind that the tree has
  // outgrown, or has few of after many erases, would keep its spans for good.
  TreeRef Gather(TreeRef ref);
  void* Allocate(TreeNodeKind kind) { return cache_->Allocate(BytesOf(kind)); }
  void* AllocateRun(unsigned lines) { return cache_->Allocate(lines * base::kCacheLineBytes); }
  void Free(TreeRef ref) { cache_->Free(ref.block(), ref.Bytes()); }
  void FreeSubtree(TreeRef ref);
  // Of FreeRows: what is left of `ref`, which is itself or none.
  TreeRef FreePart(TreeRef ref, int64_t& rows_left, FreeValues free_values);
  // Frees values of a run or a page, at most `rows_left`. True: more are left.
  bool FreeValuesOf(TreeRef ref, int64_t& rows_left, FreeValues free_values);
  // With room for `room` pairs, and the first `count` in it, ascending. None without memory.
  TreeRef NewRun(const Pair* pairs, unsigned room, unsigned count);

  // Goes down to what stands where the key belongs: a run, a page, a TreeNode of other keys, or
  // nothing.
  TreeRef Descend(uint64_t key, Path& path) const;
  // Puts `ref` where the descent came to after `depth` TreeNodes.
  void SetLink(Path& path, unsigned depth, uint64_t key, TreeRef ref);
  // The steps of Upsert. False for want of memory, with nothing changed.
  bool Insert(Path& path, TreeRef end, uint64_t key, uint64_t value);
  bool InsertIntoRun(Path& path, TreeRef run, uint64_t key, uint64_t value);
  bool SplitRun(Path& path, TreeRef run, uint64_t key, uint64_t value);
  bool InsertBeside(Path& path, TreeRef other, uint64_t key, uint64_t value);
  bool PutOver(Path& path, uint64_t key, TreeRef lower, TreeRef upper, unsigned shift,
               unsigned upper_start);
  bool MakePage(Path& path, uint64_t key, uint64_t value);
  bool AddChild(Path& path, uint64_t key, unsigned start, TreeRef child);
  // The steps of Erase.
  void RemoveLink(Path& path, uint64_t key);
  void ShrinkRun(Path& path, uint64_t key, TreeRef run);
  bool MergeRun(Path& path, uint64_t key, TreeRef run);
  void ShrinkPage(Path& path, uint64_t key, TreeRef page);
  // What shall stand in place of a TreeNode that has lost children: its last child, a smaller
  // TreeNode, or itself. Frees what it replaces.
  TreeRef Settle(TreeRef ref);

  TreeRef BuildPart(const uint64_t* keys, const uint64_t* values, size_t count);
  TreeRef BuildRun(const uint64_t* keys, const uint64_t* values, size_t count);
  TreeRef BuildPage(const uint64_t* keys, const uint64_t* values, size_t count);

  bool ReserveCuts(uint64_t key, CutPath& path);
  void CutAt(const Cut& cut, TreeRef& lower, TreeRef& upper);
  bool ReserveJoints(TreeRef lower, TreeRef upper, JointPath& path);
  // What the two sides of a joint have of the byte that they share. False: no memory.
  bool TakeShared(Joint& joint, JointPath& path, TreeRef& lower, TreeRef& upper);
  void Unreserve(JointPath& path);
  TreeRef Join(Joint& joint, TreeRef shared);

  memory::LocalCache* cache_;
  Weight weight_;
  // Through a word, as every slot is one: 0 for an empty tree.
  TreeRef root_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_PREFIX_TREE_H_
